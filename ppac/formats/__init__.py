"""Formats of raw data. One file each, named by `download.<dataset>.format`.

A format whose rows stand in files has ``class Entry(FileEntry)`` and ``read(path, entry)``;
it is given verified files only. A format that fetches nothing has ``class Entry(Section)`` and
``make(entry)``: `synthetic`, which is made up, and `table`, one's own files. Either gives a table
with the columns user and item, and rating and timestamp where there are any. Ids are Int64, or
String where they are not whole numbers.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ppac.core.config import Section
from ppac.sources.fetching import File, FileName


class Released(Section):
    """The authors' own test files: as they were drawn, and balanced over items."""

    test: dict[FileName, File]
    balanced: dict[FileName, File]


class Kept(Section):
    """What `split` keeps of a dataset, where that is not what its own section says."""

    threshold: float | None = None
    min_user: Annotated[int, Field(ge=1)] | None = None
    min_item: Annotated[int, Field(ge=1)] | None = None


class FileEntry(Kept):
    """What every entry of `download` that names files has in common."""

    format: str
    files: dict[FileName, File]
    released: Released | None = None
