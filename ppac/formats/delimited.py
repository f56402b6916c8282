"""One interaction a line, fields apart by a separator of any length: MovieLens and its kin."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Literal, Self

import polars as pl
from pydantic import StringConstraints, model_validator

from ppac.core.errors import Problem
from ppac.formats import FileEntry

UNIT_SEPARATOR = b"\x1f"  # ASCII's own: stands in for a separator longer than one byte
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
INTEGER = re.compile(r"[ \t]*[+-]?[0-9]{1,99}")  # as lenient as the fast parser
NUMBER = re.compile(r"[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
INT64 = range(-(2**63), 2**63)

Column = Literal["user", "item", "rating", "timestamp"]


class Entry(FileEntry):
    separator: Annotated[str, StringConstraints(min_length=1, pattern=r"^[^\r\n]+$")]
    columns: tuple[Column, ...]
    ids: Literal["integer", "text"]

    @model_validator(mode="after")
    def _has_pairs(self) -> Self:
        if len(set(self.columns)) != len(self.columns) or not {"user", "item"} <= set(self.columns):
            raise ValueError("'columns' must name user and item, and nothing twice")
        return self

    @property
    def types(self) -> dict[str, type[pl.DataType]]:
        ids = pl.Int64 if self.ids == "integer" else pl.String
        kinds = {"user": ids, "item": ids, "rating": pl.Float64, "timestamp": pl.Int64}
        return {column: kinds[column] for column in self.columns}


def read(path: Path, entry: Entry) -> pl.DataFrame:
    """All rows of a file, in its order."""
    data = path.read_bytes().removeprefix(BYTE_ORDER_MARK).rstrip(b"\r\n")
    if not data:
        raise Problem(f"{path.name} is empty.")
    table = parse(data, entry)
    if isinstance(table, str):
        # The fast parser tells what is wrong but not on which line: look again, slowly.
        raise Problem(first_fault(data, entry, path.name) or f"{path.name}: {table}")
    return table


def parse(data: bytes, entry: Entry) -> pl.DataFrame | str:
    """The table, or what is wrong with the data.

    >>> entry = Entry(format="delimited", files={}, separator="::", columns=("user", "item"),
    ...               ids="integer")
    >>> parse(b"1::20", entry).rows()
    [(1, 20)]
    """
    separator = entry.separator.encode()
    if len(separator) > 1:
        data, separator = data.replace(separator, UNIT_SEPARATOR), UNIT_SEPARATOR
    try:
        table = pl.read_csv(
            data + b"\n",  # without it, a separator at the very end would pass
            has_header=False,
            separator=separator.decode(),
            schema=entry.types,
            quote_char=None,
        )
    except pl.exceptions.PolarsError as error:
        return str(error).partition("\n")[0]
    if sum(table.null_count().row(0)):
        return "a field is missing"
    if "rating" in table.columns and not table["rating"].is_finite().all():
        return "a rating is not a finite number"
    return table


def first_fault(data: bytes, entry: Entry, name: str) -> str | None:
    """The first malformed line in a sentence, or None.

    >>> entry = Entry(format="delimited", files={}, separator="::", columns=("user", "item"),
    ...               ids="integer")
    >>> first_fault(b"1::2\\n3::x", entry, "ratings.dat")
    "ratings.dat, line 2: item is 'x', not a whole number: '3::x'"
    """
    types = entry.types
    for number, line in enumerate(data.split(b"\n"), start=1):
        fault = line_fault(line, entry.separator, types)
        if fault:
            shown = line[:80].decode(errors="backslashreplace").rstrip("\r")
            return f"{name}, line {number}: {fault}: '{shown}'"
    return None


def line_fault(line: bytes, separator: str, types: dict[str, type[pl.DataType]]) -> str | None:
    """What is wrong with one line, if anything."""
    try:
        fields = [field.removesuffix("\r") for field in line.decode().split(separator)]
    except UnicodeDecodeError:
        return "not UTF-8"
    if len(fields) != len(types):
        return f"{len(fields)} field(s) instead of {len(types)}"
    for (column, kind), text in zip(types.items(), fields, strict=True):
        if kind is pl.String and not text:
            return f"{column} is empty"
        if kind is pl.Int64 and not (INTEGER.fullmatch(text) and int(text) in INT64):
            return f"{column} is '{text[:80]}', not a whole number"
        if kind is pl.Float64 and not (NUMBER.fullmatch(text) and math.isfinite(float(text))):
            return f"{column} is '{text[:80]}', not a number"
    return None
