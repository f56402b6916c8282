"""A small web server on this machine that misbehaves on request."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Page:
    """What one path gives. ``cuts``: how many bytes each of the first requests gets."""

    body: bytes = b""
    status: int = 200
    ranges: bool = True
    etag: str | None = None
    kind: str = "application/octet-stream"
    cuts: list[int] = field(default_factory=list)
    hang: bool = False  # stop where the cut is, without closing


@dataclass
class Site:
    url: str
    pages: dict[str, Page] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)  # path, Range

    def ranges(self, path: str) -> list[str | None]:
        return [asked for requested, asked in self.requests if requested == path]


def _handler(site: Site, over: threading.Event) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            site.requests.append((self.path, asked))
            page = site.pages.get(self.path, Page(status=404))
            fits = self.headers.get("If-Range") in (None, page.etag)
            found = re.fullmatch(r"bytes=(\d+)-", asked or "") if page.ranges and fits else None
            start = int(found.group(1)) if found and page.status == 200 else 0
            if start and start >= len(page.body):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(page.body)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self._answer(page, start)

        def _answer(self, page: Page, start: int) -> None:
            body = page.body[start:]
            self.send_response(206 if start else page.status)
            if start:
                span = f"bytes {start}-{len(page.body) - 1}/{len(page.body)}"
                self.send_header("Content-Range", span)
            if page.etag:
                self.send_header("ETag", page.etag)
            self.send_header("Content-Type", page.kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: page.cuts.pop(0)] if page.cuts else body)
            self.wfile.flush()
            if page.hang:
                over.wait()
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@contextlib.contextmanager
def serving() -> Iterator[Site]:
    site, over = Site(url=""), threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site, over))
    server.daemon_threads = True
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join()
