"""What has arrived of a download, and how to ask for the rest."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import requests


@dataclass(frozen=True)
class Part:
    """What has arrived of one URL, and the validator that tells whether the rest fits it."""

    path: Path
    note: Path

    @classmethod
    def of(cls, url: str, folder: Path) -> Part:
        key = url_key(url)
        return cls(folder / f"{key}.part", folder / f"{key}.validator")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def validator(self) -> str | None:
        return self.note.read_text(encoding="utf-8") if self.note.exists() else None

    def begin(self, validator: str | None) -> None:
        """Start over, remembering which version of the file this is going to be."""
        self.forget()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        if validator:
            self.note.write_text(validator, encoding="utf-8")

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)

    def become(self, target: Path) -> None:
        self.path.replace(target)
        self.forget()


def resume_headers(size: int, validator: str | None) -> dict[str, str]:
    """What to ask for when ``size`` bytes are here already.

    Byte offsets mean nothing in a compressed reply, hence ``identity``.

    >>> resume_headers(0, None)
    {'Accept-Encoding': 'identity'}
    >>> resume_headers(5, '"v1"')
    {'Accept-Encoding': 'identity', 'Range': 'bytes=5-', 'If-Range': '"v1"'}
    """
    headers = {"Accept-Encoding": "identity"}
    if size:
        headers["Range"] = f"bytes={size}-"
        if validator:
            headers["If-Range"] = validator
    return headers


def starting_point(response: requests.Response, size: int) -> int | None:
    """Where the body of ``response`` belongs; None when it fits nothing that is here."""
    if response.status_code == 416:
        return None
    if response.status_code != 206:
        return 0  # the server ignored the range, or the file has changed: all of it again
    return size if sizes(response.headers.get("Content-Range"))[0] == size else None


def sizes(content_range: str | None) -> tuple[int | None, int | None]:
    """First byte and total size of a Content-Range.

    >>> sizes("bytes 5-9/10"), sizes("bytes */10"), sizes("bytes 5-9/*"), sizes(None)
    ((5, 10), (None, 10), (5, None), (None, None))
    """
    found = re.fullmatch(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", (content_range or "").strip())
    if not found:
        return None, None
    first, total = found.groups()
    return int(first) if first else None, int(total) if total != "*" else None


def validator_of(response: requests.Response) -> str | None:
    """The strong ETag, or else the date; a weak ETag does not promise equal bytes."""
    tag = response.headers.get("ETag")
    strong = tag if tag and not tag.startswith("W/") else None
    return strong or response.headers.get("Last-Modified")


def url_key(url: str) -> str:
    """A short file name for what a URL gives."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]
