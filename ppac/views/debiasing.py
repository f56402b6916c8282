"""Who gets recommended: head and tail (the paper's figure 1), and by popularity (figure 6)."""

from __future__ import annotations

import polars as pl

from ppac.reporting import figures
from ppac.reporting.gallery import by_popularity, drawn
from ppac.reporting.results import aligned
from ppac.reporting.view import Source, View

METHODS = ["base", "macr", "ppac"]
TRAIN = "train"
ENDS = "Lists an item is on, and recall, of items with the fewest and with the most interactions"


def view(source: Source) -> View:
    shares, groups = source.table("head_tail"), source.table("groups")
    method = pl.col("cell").str.split("/").list.last()
    shares = shares.filter(method.is_in([*METHODS, TRAIN]))
    groups = groups.filter(pl.col("method").is_in(METHODS))
    bars = [
        (
            f"head-{dataset}",
            "Head and tail",
            str(dataset),
            "tables/head_tail.csv",
            figures.bars(rows),
        )
        for (dataset,), rows in shares.group_by("dataset", maintain_order=True)
    ]
    shown = drawn([*bars, *by_popularity(groups)])
    text = f"Share of the head in train and in the top-50 lists:\n\n{heads(shares)}"
    text += f"\n\n{ENDS}:\n\n{ends(groups)}"
    return View(text, {"head_tail": shares, "groups": groups}, shown)


def heads(shares: pl.DataFrame) -> str:
    columns = {name: shares[name].to_list() for name in ("dataset", "cell")}
    return aligned({**columns, "head": [f"{value:.1%}" for value in shares["head"]]}, left=2)


def ends(groups: pl.DataFrame) -> str:
    """Each cell's first and last group, which is where the paper sees the largest changes."""
    cells = groups.group_by("cell", maintain_order=True)
    columns = {"cell": cells.first()["cell"].to_list()}
    for name, shown, digits in (("frequency", "lists", 2), ("recall", "recall", 4)):
        for which, group in (("fewest", cells.first()), ("most", cells.last())):
            texts = ["" if value is None else f"{value:.{digits}f}" for value in group[name]]
            columns[f"{shown}, {which}"] = texts
    return aligned(columns, left=1)
