"""A dataset as it came: verified, in one table, in an order that does not depend on its source."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from ppac.core import registry
from ppac.core.config import FILE, Section
from ppac.core.errors import Problem, nearest
from ppac.core.files import file_digest, rows_digest, write_json, write_table
from ppac.formats import FileEntry, Released
from ppac.formats.table import Entry as OwnTable
from ppac.sources.fetching import Fetched, File, fetch
from ppac.sources.web import Client, Wrong

SECTION = "download"
OWN = "table"  # the format of an entry that says a path and no format
DOWNLOADS = Path(".downloads")  # beside the outs, because DVC deletes outs before a run
PARTS = ("test", "balanced")


@dataclass(frozen=True)
class Raw:
    """One dataset: its interactions, and the authors' test files where they were asked for."""

    interactions: pl.DataFrame
    released: pl.DataFrame | None
    files: list[dict[str, Any]]  # name, digest and rows of each
    kinds: dict[str, str]  # the kind of source each file came from


def gather(params: Mapping[str, Any], dataset: str, protocol: str) -> Raw:
    """Fetch or make a dataset. The authors' test files come along under ``released`` only."""
    module, entry = entry_of(params, dataset)
    released = released_of(params, dataset, entry) if protocol == "released" else None
    if not isinstance(entry, FileEntry):
        kinds = {entry.path: "your own files"} if isinstance(entry, OwnTable) else {}
        return Raw(canonical(made(module, entry, dataset)), None, [], kinds)
    wanted = wanted_files(dataset, entry, released)
    with workshop(dataset) as client:
        found = {
            name: fetch(dataset, name, file, client, reader(dataset, file, module, entry))
            for name, file in wanted.items()
        }
    return Raw(
        interactions=canonical(pl.concat([found[name].content for name in entry.files])),
        released=None if released is None else released_table(released, found),
        files=[file_record(name, wanted[name], found[name].content) for name in sorted(wanted)],
        kinds={name: found[name].kind for name in sorted(wanted)},
    )


def made(module: ModuleType, entry: Section, dataset: str) -> pl.DataFrame:
    """The table of a format that needs no fetching."""
    try:
        rows: pl.DataFrame = module.make(entry)
    except Problem as problem:
        raise Problem(f"{dataset}: {problem}") from None
    return rows


def own_table(params: Mapping[str, Any], dataset: str) -> OwnTable | None:
    """The entry of a dataset that is a table of one's own."""
    _, entry = entry_of(params, dataset)
    return entry if isinstance(entry, OwnTable) else None


def entry_of(params: Mapping[str, Any], dataset: str) -> tuple[ModuleType, Section]:
    """The format's module and the checked entry of a dataset."""
    entries = params.get(SECTION) or {}
    if dataset not in entries:
        hint = nearest(dataset, map(str, entries))
        raise Problem(f"{FILE}: '{SECTION}' has no dataset '{dataset}': {hint}.")
    where, values = f"{SECTION}.{dataset}", entries[dataset]
    values = values if isinstance(values, Mapping) else {}
    kind = values.get("format") or (OWN if "path" in values else None)
    if not isinstance(kind, str):
        raise Problem(f"{FILE}: '{where}.format' is missing; a table of your own has a 'path'.")
    try:
        module = registry.find("formats", kind)
    except Problem as problem:
        raise Problem(f"{FILE}: '{where}': {problem}") from None
    entry: Section = module.Entry.check(values, where)
    return module, entry


def released_of(params: Mapping[str, Any], dataset: str, entry: Section) -> Released:
    """The authors' test files of a dataset that has them."""
    released = getattr(entry, "released", None)
    if isinstance(released, Released):
        return released
    having = sorted(
        name for name, values in params[SECTION].items() if "released" in (values or ())
    )
    raise Problem(
        f"{dataset} has no released test files, so the protocol 'released' does not apply: "
        f"use one of {', '.join(having)}, or the protocol 'balanced'."
    )


def wanted_files(dataset: str, entry: FileEntry, released: Released | None) -> dict[str, File]:
    """Every file once, even where it is both among the interactions and the released test."""
    if not entry.files:
        raise Problem(f"{FILE}: '{SECTION}.{dataset}.files' names no file.")
    wanted: dict[str, File] = {}
    parts = [] if released is None else [getattr(released, part) for part in PARTS]
    for files in (entry.files, *parts):
        for name, file in files.items():
            if wanted.setdefault(name, file) != file:
                raise Problem(f"{FILE}: '{SECTION}.{dataset}' describes {name} in two ways.")
    return wanted


@contextlib.contextmanager
def workshop(dataset: str) -> Iterator[Client]:
    """A client with an empty folder to download to; what a killed run left there goes first."""
    folder = DOWNLOADS / dataset
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    client = Client(DOWNLOADS, folder)
    try:
        yield client
    finally:
        client.session.close()
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            DOWNLOADS.rmdir()  # unless it keeps what a later run will resume


def reader(
    dataset: str, file: File, module: ModuleType, entry: FileEntry
) -> Callable[[Path], pl.DataFrame]:
    """A function that gives a file's rows if it has every digest that is asked for."""

    def accept(path: Path) -> pl.DataFrame:
        if file.sha256:
            expect("sha256", file.sha256, file_digest(path))
        try:
            table: pl.DataFrame = module.read(path, entry)
        except Problem as problem:
            if file.sha256:  # the right bytes: no other source can have better ones
                raise Problem(f"{dataset}: {problem}") from None
            raise Wrong(str(problem)) from None
        if file.rows:
            expect("digest of rows", file.rows, rows_digest(table))
        return table

    return accept


def expect(what: str, expected: str, found: str) -> None:
    if found != expected:
        raise Wrong(f"another file than expected: {what} {expected} expected, {found} found")


def canonical(table: pl.DataFrame) -> pl.DataFrame:
    """Rows sorted by user, item and whatever else there is, so that equal data is equal bytes.

    >>> canonical(pl.DataFrame({"user": [2, 1, 1], "item": [1, 9, 3]})).rows()
    [(1, 3), (1, 9), (2, 1)]
    """
    names = ("user", "item", "rating", "timestamp")
    ordered = table.select(name for name in names if name in table.columns)
    return ordered.sort(ordered.columns)


def released_table(released: Released, found: Mapping[str, Fetched[pl.DataFrame]]) -> pl.DataFrame:
    """The authors' test pairs, and which of their two tests each stands in."""
    tables = [
        found[name].content.select("user", "item", part=pl.lit(part))
        for part in PARTS
        for name in getattr(released, part)
    ]
    return pl.concat(tables).sort("part", "user", "item")


def file_record(name: str, file: File, table: pl.DataFrame) -> dict[str, Any]:
    """A file's line of the manifest: only what is the same whichever source gave it."""
    known = {"sha256": file.sha256, "rows_digest": file.rows}
    return {"name": name, **{k: v for k, v in known.items() if v}, "rows": table.height}


def write(folder: Path, dataset: str, raw: Raw) -> None:
    """The tables and the manifest. It must not tell the source: equal data, equal outs."""
    table = raw.interactions
    manifest = {
        "dataset": dataset,
        "rows": table.height,
        "users": table["user"].n_unique(),
        "items": table["item"].n_unique(),
        "rows_digest": rows_digest(table),
        "files": raw.files,
    }
    write_table(folder / "interactions.parquet", table)
    if raw.released is not None:
        write_table(folder / "released.parquet", raw.released)
        counts = {part: raw.released.filter(part=part).height for part in PARTS}
        manifest["released"] = {**counts, "rows_digest": rows_digest(raw.released)}
    write_json(folder / "manifest.json", manifest)


def summary(dataset: str, raw: Raw) -> str:
    """The stage's closing line: how much, and from where."""
    users, items = raw.interactions["user"].n_unique(), raw.interactions["item"].n_unique()
    size = f"{raw.interactions.height:,} interactions of {users:,} users with {items:,} items"
    places = [
        f"{', '.join(name for name, of in raw.kinds.items() if of == kind)} from {kind}"
        for kind in sorted(set(raw.kinds.values()))
    ]
    return f"{dataset}: {size} ({'; '.join(places) or 'made from the seed'})"
