"""Our numbers beside the paper's: the tables of docs/numbers.md, from tracked metrics alone.

The document holds blocks between markers; what is in them is written, the rest is prose:

    <!-- numbers: printed T2 released -->       a printed table beside a pipeline's cells
    <!-- numbers: missing released -->          cells that were not run, and how to run them
    <!-- numbers: reached released -->          in how many numbers the paper was reached
    <!-- numbers: switched -->                  what each difference of the release does
    <!-- /numbers -->
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from ppac.core.config import read_params
from ppac.core.errors import Problem
from ppac.core.files import read_json
from ppac.layout import RANKERS, Cell
from ppac.reporting.cells import configured
from ppac.reporting.results import aligned

PRINTED = Path("reference/printed.csv")
METRICS = {"recall@50": "recall_at_50", "ndcg@50": "ndcg_at_50"}
TITLES = {"recall@50": "Recall@50", "ndcg@50": "NDCG@50"}
AXES = ("datasets", "bases", "methods", "variants", "rankers")
BLOCK = re.compile(r"(<!-- numbers: ([\w -]+?) -->\n).*?(<!-- /numbers -->)", re.S)


def fill(text: str, root: Path) -> str:
    """The document with every block written anew."""

    def written(found: re.Match[str]) -> str:
        kind, *words = found[2].split()
        if kind not in BLOCKS:
            raise Problem(
                f"docs/numbers.md: unknown block '{found[2]}': one of {', '.join(BLOCKS)}."
            )
        return f"{found[1]}{BLOCKS[kind](root, *words)}\n{found[3]}"

    return BLOCK.sub(written, text)


def read_printed(root: Path, table: str) -> pl.DataFrame:
    """One of the paper's tables, with our names."""
    rows = pl.read_csv(root / PRINTED).filter(pl.col("table") == table)
    method = pl.col("method").str.replace("^without-", "ppac-without-")
    return rows.with_columns(method)


def cells_of(root: Path, pipeline: str) -> list[Cell]:
    params = read_params(root / "pipelines" / pipeline)
    return configured(**{axis: params[axis] for axis in AXES})


def measured(root: Path, pipeline: str, cell: Cell) -> dict[str, float] | None:
    path = root / "pipelines" / pipeline / cell.metrics
    return read_json(path) if path.is_file() else None


def rows_of(root: Path, table: str, pipeline: str) -> Iterator[tuple[Cell, dict, dict]]:
    """Each of the pipeline's cells, its printed row and its own; empty where there is none."""
    printed = read_printed(root, table)
    for cell in cells_of(root, pipeline):
        # Rankers have no base; the paper repeats their numbers under each.
        base = printed["base"][0] if cell.base == RANKERS else cell.base
        same = printed.filter(dataset=cell.dataset, base=base, method=cell.method)
        theirs = same.row(0, named=True) if len(same) else {}
        yield cell, theirs, measured(root, pipeline, cell) or {}


def printed_table(root: Path, table: str, pipeline: str) -> str:
    """A table a dataset: printed and ours, ours bold where it reaches what is printed."""
    sections = []
    rows = list(rows_of(root, table, pipeline))
    for dataset in dict.fromkeys(cell.dataset for cell, _, _ in rows):
        own = [row for row in rows if row[0].dataset == dataset]
        columns = {
            "base": [cell.base for cell, _, _ in own],
            "method": [cell.method for cell, _, _ in own],
        }
        for name, metric in METRICS.items():
            columns[f"{TITLES[name]}, printed"] = [number(theirs.get(name)) for _, theirs, _ in own]
            columns[f"{TITLES[name]}, ours"] = [
                beside(ours.get(metric), theirs.get(name)) for _, theirs, ours in own
            ]
        sections.append(f"**{dataset}**\n\n{aligned(columns, left=2)}")
    return "\n\n".join(sections)


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def beside(ours: float | None, theirs: float | None) -> str:
    """
    >>> beside(0.16612, 0.1661), beside(0.15, 0.1661), beside(None, 0.1), beside(0.5, None)
    ('**0.1661**', '0.1500', '', '0.5000')
    """
    reached = ours is not None and theirs is not None and round(ours, 4) >= theirs
    return f"**{number(ours)}**" if reached else number(ours)


def reached(root: Path, pipeline: str) -> str:
    """For base and ppac, in how many of the printed numbers ours are at least as high."""
    lines = []
    rows = list(rows_of(root, "T2", pipeline))
    for method in ("base", "ppac"):
        pairs = [
            (ours.get(metric), theirs[name])
            for cell, theirs, ours in rows
            if cell.method == method and theirs
            for name, metric in METRICS.items()
        ]
        run = [(mine, printed) for mine, printed in pairs if mine is not None]
        high = sum(round(mine, 4) >= printed for mine, printed in run)
        share = [mine / printed - 1 for mine, printed in run]
        mean = f", {sum(share) / len(share):+.1%} on average" if share else ""
        lines.append(
            f"- `{method}`: {len(run)} of {len(pairs)} printed numbers were run, "
            f"{high} are reached{mean}."
        )
    return "\n".join(lines)


def missing(root: Path, pipeline: str) -> str:
    """The cells that were not run, a line for each dataset and base, and the command for one."""
    absent = [cell for cell in cells_of(root, pipeline) if measured(root, pipeline, cell) is None]
    if not absent:
        return "Every cell was run."
    lines = []
    for place in dict.fromkeys((cell.dataset, cell.base) for cell in absent):
        names = [cell.method for cell in absent if (cell.dataset, cell.base) == place]
        lines.append(f"- {place[0]}, {place[1]}: {', '.join(f'`{name}`' for name in names)}")
    first = absent[0]
    target = f"pipelines/{pipeline}/evaluate/dvc.yaml:evaluate"
    command = f"dvc repro {target}@{first.dataset}-{first.base}-{first.method}"
    return "\n".join([*lines, "", "```sh", command, "```"])


def switched(root: Path) -> str:
    """Each ``release-*`` pipeline's cells beside the same cells of `released`."""
    columns: dict[str, list[str]] = {"switched on": [], "cell": []}
    columns |= {f"{title}{side}": [] for title in TITLES.values() for side in ("", ", switched")}
    for params in sorted(root.glob("pipelines/release-*/params.yaml")):
        pipeline = params.parent.name
        for cell in cells_of(root, pipeline):
            plain, there = (measured(root, name, cell) or {} for name in ("released", pipeline))
            columns["switched on"].append(pipeline.removeprefix("release-"))
            columns["cell"].append(f"{cell.base}/{cell.method}")
            for name, metric in METRICS.items():
                columns[TITLES[name]].append(number(plain.get(metric)))
                columns[f"{TITLES[name]}, switched"].append(number(there.get(metric)))
    return aligned(columns, left=2)


BLOCKS: dict[str, Callable[..., str]] = {
    "printed": printed_table,
    "reached": reached,
    "missing": missing,
    "switched": switched,
}
