"""What items are called, for people who read lists. No result depends on it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import Field

from ppac.core.config import Section, section
from ppac.core.errors import Problem
from ppac.core.files import file_digest
from ppac.sources.fetching import File, FileName, fetch
from ppac.sources.raw import expect, workshop

SECTION = "titles"
SCHEMA = pl.Schema({"item": pl.String, "title": pl.String})


class Titles(Section):
    """A file with an item a line: its id, its title, and whatever else."""

    separator: str = Field(min_length=1)
    encoding: str
    files: dict[FileName, File]


def entry_of(params: Mapping[str, Any], dataset: str) -> Titles | None:
    entries = section(params, SECTION, {})
    known = entries.get(dataset)
    return None if known is None else Titles.check(known, f"{SECTION}.{dataset}")


def fetched(dataset: str, entry: Titles) -> pl.DataFrame:
    """Ids, as text, and titles."""
    found = pl.DataFrame(schema=SCHEMA)
    with workshop(f"{dataset}-titles") as client:
        for name, file in entry.files.items():

            def accept(path: Path, file: File = file) -> pl.DataFrame:
                if file.sha256:
                    expect("sha256", file.sha256, file_digest(path))
                return parse(path.read_bytes().decode(entry.encoding), entry.separator, path.name)

            found = pl.concat([found, fetch(dataset, name, file, client, accept).content])
    return found.unique("item", keep="first", maintain_order=True)


def parse(text: str, separator: str, name: str) -> pl.DataFrame:
    """
    >>> parse("1::Toy Story (1995)::Animation\\n", "::", "movies.dat").rows()
    [('1', 'Toy Story (1995)')]
    """
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        fields = line.split(separator)
        if line and len(fields) < 2:
            raise Problem(f"{name}, line {number}: no '{separator}' between an id and a title.")
        rows += [fields[:2]] if line else []
    return pl.DataFrame(rows, SCHEMA, orient="row")
