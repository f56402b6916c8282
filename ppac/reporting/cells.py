"""Which cells a report is about.

A cell that is no longer configured may have left files behind. They are not looked for:
the axes of params.yaml alone say what is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ppac.core.config import FILE
from ppac.core.errors import Problem
from ppac.layout import RANKERS, Cell, Dataset


def configured(
    datasets: Iterable[str],
    bases: Iterable[str],
    methods: Iterable[str],
    variants: Iterable[str],
    rankers: Iterable[str],
) -> list[Cell]:
    """Every configured cell, rankers last within their dataset.

    >>> [str(cell) for cell in configured(["ml-1m"], ["ncf"], ["base", "ppac"], [], ["mostpop"])]
    ['ml-1m/ncf/base', 'ml-1m/ncf/ppac', 'ml-1m/rankers/mostpop']
    """
    methods, rankers = [*methods, *variants], list(rankers)
    pairs = [(base, method) for base in bases for method in methods]
    pairs += [(RANKERS, ranker) for ranker in rankers]
    found = [Cell(dataset, base, method) for dataset in datasets for base, method in pairs]
    if not found:
        raise Problem(f"{FILE}: there is nothing to report on: the axes name no cell.")
    return found


def files_of(cell: Cell) -> list[Path]:
    """What the report reads of every cell."""
    paths = [cell.metrics, cell.tuned, cell.surface, cell.per_user, cell.top]
    return [*paths, cell.curve] if cell.learner == cell else paths


def require(wanted: Sequence[Cell], sweeps: Sequence[Cell] = ()) -> None:
    """Every file the report reads, before any is read: a report is whole or not at all."""
    paths = []
    for cell in wanted:
        paths += files_of(cell)
        paths += [cell.swept, cell.front] if cell in sweeps else []
    for place in map(Dataset, dict.fromkeys(cell.dataset for cell in wanted)):
        paths += [place.popularity / "gp.parquet", place.titles]
        paths += [place.description / name for name in ("differences.csv", "ratings.csv")]
        needed = ("users.parquet", "items.parquet", "test.parquet", "manifest.json")
        paths += [place.split / name for name in needed]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise Problem(f"{missing[0]} is missing{more}: run `dvc repro`, which writes it.")


def measured(wanted: Iterable[Cell]) -> list[Cell]:
    """Those of them that were run to their end, here or where their metrics were committed."""
    return [cell for cell in wanted if cell.metrics.is_file()]


def present(wanted: Sequence[Cell]) -> list[Cell]:
    """Those of them whose every file is here: Git brings metrics along, and only those."""
    there = [cell for cell in wanted if all(path.is_file() for path in files_of(cell))]
    if not there:
        first = next(path for path in files_of(wanted[0]) if not path.is_file())
        raise Problem(f"{first} is missing, and no other cell is whole: run `dvc repro`.")
    return there
