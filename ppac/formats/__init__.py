"""Formats of raw data. One file each, named by `download.<dataset>.format`.

A format whose rows stand in files has ``class Entry(FileEntry)`` and ``read(path, entry)``;
it is given verified files only. A format that needs no such files has ``class Entry(Section)``
and ``make(entry)``. Either gives a table with the columns user and item, and rating and
timestamp where there are any. Ids are Int64, or String where they are not whole numbers.
"""

from __future__ import annotations

from ppac.core.config import Section
from ppac.sources.fetching import File, FileName


class Released(Section):
    """The authors' own test files: as they were drawn, and balanced over items."""

    test: dict[FileName, File]
    balanced: dict[FileName, File]


class FileEntry(Section):
    """What every entry of `download` that names files has in common."""

    format: str
    files: dict[FileName, File]
    released: Released | None = None
