"""A table of one's own: CSV, TSV or Parquet, gzipped or not, or a folder of such parts.

Columns are found by their names, or by their places, from 1, in files without a header. What
separates the fields of a CSV is whatever makes these columns appear. Ids are whole numbers if
all of a column are, as written; otherwise they are text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

import polars as pl
from pydantic import model_validator

from ppac.core.config import Section, project_root
from ppac.core.errors import Problem, nearest
from ppac.core.files import file_digest
from ppac.formats import Kept
from ppac.formats.values import CONVERT, Fault

SEPARATORS = {".csv": ",\t;| ", ".tsv": "\t", ".tab": "\t", ".txt": "\t,;| "}
PARQUET = (".parquet", ".pq")
PACKED = (".gz", ".zst")
Wanted = Mapping[str, str | int]  # our name of a column, and the table's or its place

WATCHED = Path("tables")  # under the project's root: what DVC looks at


class Columns(Section):
    """Which column is what: names, or places from 1 where the files have no header."""

    user: str | int
    item: str | int
    rating: str | int | None = None
    timestamp: str | int | None = None

    @model_validator(mode="after")
    def _alike(self) -> Self:
        given = self.given.values()
        if len(set(map(type, given))) > 1:
            raise ValueError("give all columns by name, or all by place")
        if len(set(given)) < len(given):
            raise ValueError("a column cannot be two things")
        if any(isinstance(column, int) and column < 1 for column in given):
            raise ValueError("places are counted from 1")
        return self

    @property
    def given(self) -> dict[str, str | int]:
        return {name: column for name, column in self if column is not None}


class Entry(Kept):
    format: Literal["table"] | None = None  # said by having a path
    path: str
    columns: Columns


def make(entry: Entry) -> pl.DataFrame:
    """All rows, whichever parts they stand in."""
    return load(place(entry), entry.columns.given)


def place(entry: Entry) -> Path:
    """As seen from the project's root: every pipeline means the same table by it."""
    path = project_root(Path.cwd()) / Path(entry.path).expanduser()
    if not path.exists():
        raise Problem(
            f"{entry.path} does not exist; it is looked for from the project's folder. A queued "
            "experiment runs in a copy with what Git and DVC track: `dvc add` it, commit what "
            "that writes, and queue again."
        )
    return path


def load(path: Path, wanted: Wanted) -> pl.DataFrame:
    """The wanted columns of a table, under our names."""
    found = parts(path)
    tables = [read(part, wanted) for part in found]
    result = {}
    for name, column in wanted.items():
        try:
            result[name] = CONVERT[name]([table[name] for table in tables])
        except Fault as fault:
            where = located(fault.row, found, [len(table) for table in tables], has_header(wanted))
            more = f" ({fault.count:,} such rows)" if fault.count > 1 else ""
            raise Problem(f"{where}: {column} ({name}) {fault}{more}.") from None
    if not any(map(len, tables)):
        raise Problem(f"{path.name} has no rows.")
    return pl.DataFrame(result)


def parts(path: Path) -> list[Path]:
    """The files of a table, in the order of their names."""
    if path.is_dir():
        files = [file for file in sorted(path.rglob("*")) if kind(file) and file.is_file()]
        files = [file for file in files if not file.name.startswith((".", "_"))]
        if not files:
            raise Problem(f"{path} is a folder without CSV, TSV or Parquet files.")
        return files
    if not path.is_file():
        raise Problem(f"{path} does not exist.")
    if not kind(path):
        known = ", ".join([*SEPARATORS, *PARQUET])
        raise Problem(f"{path}: of no known kind: it must end in one of {known}, maybe with .gz.")
    return [path]


def kind(path: Path) -> str:
    """The ending that says how to read it, if any.

    >>> kind(Path("ratings.2024.csv.gz"))
    '.csv'
    """
    endings = [end.lower() for end in path.suffixes if end.lower() not in PACKED]
    return endings[-1] if endings and endings[-1] in (*SEPARATORS, *PARQUET) else ""


def has_header(wanted: Wanted) -> bool:
    """Columns given by name need one; by place, there is none."""
    return all(isinstance(column, str) for column in wanted.values())


def read(path: Path, wanted: Wanted) -> pl.DataFrame:
    """The wanted columns of one file: as typed in Parquet, as text otherwise."""
    try:
        if kind(path) in PARQUET:
            names = named(wanted, list(pl.read_parquet_schema(path)), path)
            table = pl.read_parquet(path, columns=list(names.values()))
        else:
            separator, names = layout(path, wanted)
            table = pl.read_csv(
                path,
                separator=separator,
                has_header=has_header(wanted),
                columns=list(names.values()),
                infer_schema=False,
            )
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise Problem(f"{path.name} cannot be read: {reason}") from None
    return table.select(pl.col(column).alias(name) for name, column in names.items())


def layout(path: Path, wanted: Wanted) -> tuple[str, dict[str, str]]:
    """What separates the fields, and the file's names of the wanted columns."""
    problems = []
    for separator in SEPARATORS[kind(path)]:
        head = pl.read_csv(
            path,
            separator=separator,
            has_header=has_header(wanted),
            n_rows=1,
            infer_schema=False,
            truncate_ragged_lines=True,
        )
        try:
            return separator, named(wanted, head.columns, path)
        except Problem as problem:
            problems.append((-len(head.columns), problem))
    raise min(problems, key=lambda pair: pair[0])[1]  # what splits most is likely meant


def named(wanted: Wanted, known: list[str], path: Path) -> dict[str, str]:
    """The file's own name of each wanted column."""
    names = {}
    for name, column in wanted.items():
        if isinstance(column, int) and column > len(known):
            raise Problem(f"{path.name} has {len(known)} column(s), and no {column} ({name}).")
        if isinstance(column, str) and column not in known:
            hint = nearest(column, known)
            raise Problem(f"{path.name} has no column '{column}' ({name}): {hint}.")
        names[name] = known[column - 1] if isinstance(column, int) else column
    return names


def located(row: int, paths: list[Path], sizes: list[int], header: bool) -> str:
    """The file and, as an editor counts them, the line of a row of all parts."""
    part = 0
    while row >= sizes[part]:
        row, part = row - sizes[part], part + 1
    text = kind(paths[part]) in SEPARATORS
    return f"{paths[part].name}, {f'line {row + 1 + header}' if text else f'row {row + 1}'}"


def fingerprint(entry: Entry) -> dict[str, str]:
    """Each file's digest: what changes when the table does."""
    root = place(entry)
    return {str(path.relative_to(root.parent)): file_digest(path) for path in parts(root)}


def watched(entry: Entry) -> bool:
    """Whether DVC notices by itself that the table has changed."""
    return place(entry).is_relative_to(project_root(Path.cwd()) / WATCHED)
