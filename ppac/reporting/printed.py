"""The paper's printed numbers, and ours beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from ppac.core import registry
from ppac.layout import RANKERS
from ppac.reporting.results import KEY, aligned, label

PRINTED = Path("reference/printed.csv")
METRICS = {"recall@50": "recall_at_50", "ndcg@50": "ndcg_at_50"}


def printed(root: Path, table: str) -> pl.DataFrame:
    """One of the paper's tables with our names: the key of a cell and ``printed_<metric>``.

    The paper repeats what learns nothing under each base model; here it has none.
    """
    rows = pl.read_csv(root / PRINTED).filter(pl.col("table") == table)
    learns = ~pl.col("method").is_in(registry.names("rankers"))
    return rows.select(
        "dataset",
        pl.when(learns).then("base").otherwise(pl.lit(RANKERS)).alias("base"),
        pl.col("method").str.replace("^without-", "ppac-without-"),
        *(pl.col(theirs).alias(f"printed_{ours}") for theirs, ours in METRICS.items()),
    ).unique(maintain_order=True)


def beside(results: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    """Every cell of ``results`` with what is printed for it, empty where there is nothing."""
    both = results.join(theirs, on=KEY, how="left", maintain_order="left")
    columns = [name for metric in METRICS.values() for name in (f"printed_{metric}", metric)]
    return both.select(*KEY, pl.col(columns).cast(pl.Float64))


def tables(rows: pl.DataFrame) -> str:
    """A table a dataset: printed and ours, ours bold where it reaches what is printed."""
    sections = []
    for (dataset,), part in rows.group_by("dataset", maintain_order=True):
        columns = {name: part[name].to_list() for name in KEY[1:]}
        for metric in METRICS.values():
            theirs, ours = part[f"printed_{metric}"], part[metric]
            pairs = zip(ours, theirs, strict=True)
            columns[f"{label(metric)}, printed"] = [number(value) for value in theirs]
            columns[f"{label(metric)}, ours"] = [marked(*pair) for pair in pairs]
        sections.append(f"**{dataset}**\n\n{aligned(columns, left=2)}")
    return "\n\n".join(sections)


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def marked(ours: float | None, theirs: float | None) -> str:
    """
    >>> marked(0.16612, 0.1661), marked(0.15, 0.1661), marked(None, 0.1), marked(0.5, None)
    ('**0.1661**', '0.1500', '', '0.5000')
    """
    reached = ours is not None and theirs is not None and round(ours, 4) >= theirs
    return f"**{number(ours)}**" if reached else number(ours)


def wins(rows: pl.DataFrame, method: str) -> str:
    """In how many numbers a method is above each other one, in ours and in the printed ones.

    >>> rows = {"dataset": ["d", "d"], "base": ["b", "b"], "method": ["ppac", "base"]}
    >>> rows |= {"recall_at_50": [0.2, 0.1], "printed_recall_at_50": [0.3, 0.3]}
    >>> rows |= {"ndcg_at_50": [0.2, None], "printed_ndcg_at_50": [None, None]}
    >>> wins(pl.DataFrame(rows), "ppac")
    '- `ppac` is above `base` in 1 of 1 numbers; printed: in 0 of 1.'
    """
    lines = []
    others = rows.filter(pl.col("method") != method)
    for other in others["method"].unique(maintain_order=True):
        pair = others.filter(method=other).join(rows.filter(method=method), on=KEY[:2])
        counted = []
        for prefix in ("", "printed_"):
            names = [prefix + metric for metric in METRICS.values()]
            above = [pair[f"{name}_right"] > pair[name] for name in names]
            counted.append((sum(s.sum() for s in above), sum(s.count() for s in above)))
        (ours, of), (theirs, theirs_of) = counted
        said = f"; printed: in {theirs} of {theirs_of}." if theirs_of else "."
        lines.append(f"- `{method}` is above `{other}` in {ours} of {of} numbers{said}")
    return "\n".join(lines)


def blanks(rows: pl.DataFrame) -> str:
    """The cells that have no number of ours, a line for each dataset and base.

    >>> row = {"dataset": ["d"], "base": ["b"], "method": ["m"], "recall_at_50": [None]}
    >>> blanks(pl.DataFrame(row))
    'Not run:\\n\\n- d, b: `m`'
    """
    absent = rows.filter(pl.col("recall_at_50").is_null())
    places = absent.group_by("dataset", "base", maintain_order=True).agg("method")
    lines = [f"- {d}, {b}: {names(methods)}" for d, b, methods in places.iter_rows()]
    return "\n".join(["Not run:", "", *lines]) if lines else "Every cell was run."


def names(methods: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in methods)
