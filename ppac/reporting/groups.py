"""The paper's figure 6: how often items are recommended and found again, by their popularity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ppac.core.files import read_table
from ppac.layout import Cell, Dataset

SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("cell", "dataset", "base", "method", "group"), pl.String),
        **dict.fromkeys(("items", "frequency", "recall"), pl.Float64),
    }
)


def by_popularity(cells: Sequence[Cell], edges: Sequence[int]) -> pl.DataFrame:
    """Each cell's lists by how many train interactions their items have.

    ``items`` is the group's share of the catalogue, ``frequency`` in how many users' lists one of
    its items is on average, ``recall`` which share of the group's test interactions was listed.
    """
    found = [pl.DataFrame(schema=SCHEMA)]
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        place = Dataset(dataset)
        items = read_table(place.popularity / "gp.parquet")
        group = np.array(labels(edges))[np.searchsorted(edges, items["count"].to_numpy())]
        items = items.with_columns(group=pl.Series(group))
        items = items.join(read_table(place.split / "items.parquet"), on="item")
        users = read_table(place.split / "users.parquet")
        test = read_table(place.split / "test.parquet").join(users, on="user")
        test = test.join(items, on="item").select(user="id", item="id_right", group="group")
        groups = items.sort("count").group_by("group", maintain_order=True).agg(n=pl.len())
        for cell in cells:
            if cell.dataset == dataset:
                found.append(of_lists(cell, read_table(cell.top), groups, items, test))
    return pl.concat(found)


def labels(edges: Sequence[int]) -> list[str]:
    """
    >>> labels([10, 20])
    ['0-10', '11-20', 'over 20']
    """
    lows = [0, *(edge + 1 for edge in edges[:-1])]
    return [f"{low}-{edge}" for low, edge in zip(lows, edges, strict=True)] + [f"over {edges[-1]}"]


def of_lists(
    cell: Cell, top: pl.DataFrame, groups: pl.DataFrame, items: pl.DataFrame, test: pl.DataFrame
) -> pl.DataFrame:
    """The rows of one cell."""
    listed = top.select("user", "item").join(
        items.select("group", item="id"), on="item", maintain_order="left"
    )
    counted = groups.join(listed.group_by("group").agg(listed=pl.len()), on="group", how="left")
    wanted = test.group_by("group").agg(wanted=pl.len())
    hits = test.join(listed.select("user", "item"), on=["user", "item"], how="semi")
    counted = counted.join(wanted, on="group", how="left")
    counted = counted.join(hits.group_by("group").agg(hits=pl.len()), on="group", how="left")
    counted = counted.with_columns(pl.col("listed", "hits").fill_null(0))
    return counted.sort(counted["group"].cast(pl.Enum(groups["group"].to_list()))).select(
        cell=pl.lit(str(cell)),
        dataset=pl.lit(cell.dataset),
        base=pl.lit(cell.base),
        method=pl.lit(cell.method),
        group="group",
        items=(pl.col("n") / pl.col("n").sum()).round(6),
        frequency=(pl.col("listed") / pl.col("n")).round(4),
        recall=(pl.col("hits") / pl.col("wanted")).round(6),
    )
