"""Downloads that resume: what arrived before a dropped connection or a killed process is kept."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pooch
import requests
import urllib3

from ppac.progress import bar
from ppac.sources.partial import Part, resume_headers, sizes, starting_point, url_key, validator_of

CONNECT_SECONDS = 4.0  # an unreachable host must not hold up the next source
READ_SECONDS = 30.0
TIMEOUT = (CONNECT_SECONDS, READ_SECONDS)
PAUSES = (0.5, 1.5)  # seconds before the second and the third try
CHUNK = 1 << 16

T = TypeVar("T")

pooch.get_logger().setLevel(logging.ERROR)  # a stage says one line of its own


class Unavailable(Exception):
    """One source could not give a file: a reason to try the next one."""


class Wrong(Unavailable):
    """A source gave something, but not the file that was expected."""


class Dropped(Exception):
    """A transfer broke off. What arrived is kept, so trying again costs only the rest."""


BROKEN_OFF = (
    Dropped,
    requests.ConnectionError,
    requests.exceptions.ChunkedEncodingError,
    urllib3.exceptions.HTTPError,
)


class Client:
    """One run's connections. A host found unreachable is not asked twice.

    ``parts`` outlives the run and keeps what is incomplete; ``folder`` takes what is complete.
    """

    def __init__(self, parts: Path, folder: Path) -> None:
        self.parts = parts
        self.folder = folder
        self.session = requests.Session()
        self.unreachable: dict[str, str] = {}
        self.resumed: set[str] = set()  # URLs continued from an earlier run's bytes

    def download(self, url: str, digest: str | None) -> Path:
        """The file at ``url``; ``digest`` is ``algorithm:hex`` where one is known.

        pooch writes to a temporary name, checks the digest and renames. It downloads nothing
        that is in ``folder`` already, so two members of one archive cost one download.
        """
        name = url_key(url)
        try:
            return Path(pooch.retrieve(url, digest, name, self.folder, downloader=self._receive))
        except ValueError as error:  # pooch's word for a wrong digest
            raise Wrong(str(error).split(". Deleted")[0]) from None

    def discard_resumed(self) -> bool:
        """Drop the downloads that began with an earlier run's bytes; whether there were any."""
        urls = list(self.resumed)
        for url in urls:
            (self.folder / url_key(url)).unlink(missing_ok=True)
        self.resumed.clear()
        return bool(urls)

    def patiently(self, url: str, action: Callable[[], T]) -> T:
        """Do ``action``, again after a dropped connection or a server's error."""
        host = urlsplit(url).hostname or url
        if host in self.unreachable:
            raise Unavailable(self.unreachable[host])
        for pause in (*PAUSES, None):
            try:
                return action()
            except (requests.RequestException, urllib3.exceptions.HTTPError, Dropped) as error:
                if never_connected(error):
                    self.unreachable[host] = f"{host} cannot be reached: {why(error)}"
                    raise Unavailable(self.unreachable[host]) from None
                if pause is None or final(error):
                    raise Unavailable(why(error)) from None
                time.sleep(pause)
        raise AssertionError("unreachable")

    def _receive(self, url: str, output: Any, _pooch: Any) -> None:
        """pooch's extension point: put ``url`` into the file called ``output``."""
        part = Part.of(url, self.parts)
        if part.size:
            self.resumed.add(url)
        self.patiently(url, lambda: self._continue(url, part))
        part.become(Path(output))

    def _continue(self, url: str, part: Part) -> None:
        """Ask for what is missing of ``part`` and append it."""
        headers = resume_headers(part.size, part.validator)
        with self.session.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            total = sizes(response.headers.get("Content-Range"))[1]
            if response.status_code == 416 and total == part.size:
                return  # the earlier run had it all and was killed before the rename
            start = starting_point(response, part.size)
            if start is None:
                part.forget()
                raise Dropped("the server answered with another part than was asked for")
            response.raise_for_status()
            if start == 0:
                part.begin(validator_of(response))
            length = response.headers.get("Content-Length")
            expected = total or (start + int(length) if length else None)
            append(response, part.path, start, expected)
        if expected is not None and part.size != expected:
            raise Dropped(f"only {part.size:,} of {expected:,} bytes arrived")


def append(response: requests.Response, path: Path, start: int, expected: int | None) -> None:
    """Write the body at the end of ``path``, as sent: a .tar.gz must stay a .tar.gz."""
    name = urlsplit(response.url).path.rsplit("/", 1)[-1]
    with (
        path.open("ab") as file,
        bar(total=expected, initial=start, desc=name, unit="B", unit_scale=True) as shown,
    ):
        for chunk in response.raw.stream(CHUNK, decode_content=False):
            file.write(chunk)
            shown.update(len(chunk))


def never_connected(error: Exception) -> bool:
    """No connection was made at all: trying again within seconds would not help."""
    if isinstance(error, requests.ConnectTimeout | requests.exceptions.ProxyError):
        return True
    inner = error.args[0] if error.args else None
    return isinstance(inner, urllib3.exceptions.MaxRetryError)


def final(error: Exception) -> bool:
    """Whether asking the same again must give the same answer."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return error.response.status_code < 500
    # Among the final ones is requests.ReadTimeout: the host took the request and said nothing.
    return not isinstance(error, BROKEN_OFF)


def why(error: Exception) -> str:
    """The cause in a few words, without the layers of wrapping."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.ConnectTimeout):
        return f"no connection within {CONNECT_SECONDS:.0f} s"
    if isinstance(error, requests.ReadTimeout):
        return f"no answer within {READ_SECONDS:.0f} s"
    inner = error.args[0] if error.args else error
    cause = getattr(inner, "reason", inner)
    return str(cause).rsplit("): ", 1)[-1] or type(error).__name__
