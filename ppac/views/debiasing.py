"""Who gets recommended: head and tail (the paper's figure 1), and by popularity (figure 6)."""

from __future__ import annotations

import polars as pl

from ppac.reporting import figures
from ppac.reporting.gallery import by_popularity, drawn
from ppac.reporting.results import aligned
from ppac.reporting.view import Source, View

METHODS = ["base", "macr", "ppac"]
TRAIN = "train"


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
    text += f"\n\nItems of fewest train interactions:\n\n{rarest(groups)}"
    return View(text, {"head_tail": shares, "groups": groups}, shown)


def heads(shares: pl.DataFrame) -> str:
    columns = {name: shares[name].to_list() for name in ("dataset", "cell")}
    return aligned({**columns, "head": [f"{value:.1%}" for value in shares["head"]]}, left=2)


def rarest(groups: pl.DataFrame) -> str:
    """Each cell's first group, which is where the paper sees the largest change."""
    first = groups.group_by("cell", maintain_order=True).first()
    columns = {name: first[name].to_list() for name in ("cell", "group")}
    columns["lists an item is on"] = [f"{value:.2f}" for value in first["frequency"]]
    columns["recall"] = ["" if value is None else f"{value:.4f}" for value in first["recall"]]
    return aligned(columns, left=2)
