"""One user a line, then that user's items, all whole numbers: Gowalla, Yelp2018 and their kin."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from ppac.core.errors import Problem
from ppac.formats import FileEntry

ALLOWED = b"0123456789 \t\r\n"
LARGEST = np.iinfo(np.int64).max
LONGEST = 99  # digits, leading zeros among them


class Entry(FileEntry):
    pass


def read(path: Path, entry: Entry) -> pl.DataFrame:
    """All (user, item) pairs of a file, in its order."""
    data = path.read_bytes().rstrip()
    if not data:
        raise Problem(f"{path.name} is empty.")
    table = None if data.translate(None, ALLOWED) else parse(data)
    if table is None:
        raise Problem(first_fault(data, path.name))
    return table


def parse(data: bytes) -> pl.DataFrame | None:
    """The pairs of ``data``, which holds digits and blanks only; None where it is malformed.

    A user without items is a line with the user alone, and gives no pair.

    >>> parse(b"0 5 6 \\n1\\n2 5").rows()
    [(0, 5), (0, 6), (2, 5)]
    """
    lines = [line.split() for line in data.split(b"\n")]
    lengths = np.array([len(line) for line in lines])
    if not lengths.all():
        return None
    try:
        flat = np.fromiter(map(int, chain.from_iterable(lines)), np.int64, lengths.sum())
    except (OverflowError, ValueError):  # the latter beyond thousands of digits
        return None
    heads = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    users = np.repeat(flat[heads], lengths - 1)
    return pl.DataFrame({"user": users, "item": np.delete(flat, heads)})


def first_fault(data: bytes, name: str) -> str:
    """The first malformed line in a sentence.

    >>> first_fault(b"0 5 6\\n1 x7", "train.txt")
    "train.txt, line 2: 'x7' is not a whole number of 0 or more: '1 x7'"
    """
    for number, line in enumerate(data.split(b"\n"), start=1):
        shown = line[:80].decode(errors="backslashreplace").rstrip()
        if not line.split():
            return f"{name}, line {number} is empty: each line is a user and that user's items."
        for field in line.split():
            if not field.isdigit() or len(field) > LONGEST or int(field) > LARGEST:
                text = field[:80].decode(errors="backslashreplace")
                return (
                    f"{name}, line {number}: '{text}' is not a whole number of 0 or more: '{shown}'"
                )
    return f"{name} cannot be read."
