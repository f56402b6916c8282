"""What debiasing does to somebody's list: a few users, drawn by chance, before and after."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ppac.core.files import read_table
from ppac.core.seeds import rng
from ppac.layout import RANKERS, Cell, Dataset
from ppac.reporting.results import BASE

USERS, PLACES = 3, 10
SCHEMA = pl.Schema(
    {
        **dict.fromkeys(("dataset", "base", "method", "user"), pl.String),
        "rank": pl.Int64,
        **dict.fromkeys(("item", "title"), pl.String),
        "users": pl.Int64,  # who have the item in train
        **dict.fromkeys(("found", "stays"), pl.Boolean),  # in the user's test; in the other list
    }
)


def examples(cells: Sequence[Cell], method: str, seed: int) -> pl.DataFrame:
    """The first places of the same users' lists under `base` and under ``method``.

    Users are drawn among those with test items, not chosen for what their lists look like.
    """
    found = [pl.DataFrame(schema=SCHEMA)]
    for after in cells:
        before = Cell(after.dataset, after.base, BASE)
        if after.method == method and after.base != RANKERS and before in cells:
            found.append(side_by_side(before, after, seed))
    return pl.concat(found)


def side_by_side(before: Cell, after: Cell, seed: int) -> pl.DataFrame:
    place = Dataset(after.dataset)
    users, items = (read_table(place.split / f"{name}.parquet") for name in ("users", "items"))
    test = read_table(place.split / "test.parquet")
    whose = test["user"].unique().sort()
    some = rng(seed, "report", "examples", after.dataset).permutation(len(whose))[:USERS]
    drawn = users.join(whose.gather(some.tolist()).to_frame("user"), on="user")
    counts = read_table(place.popularity / "gp.parquet").select("item", users="count")
    known = items.join(counts, on="item").with_columns(name=pl.col("id").cast(pl.String))
    titles = read_table(place.titles).rename({"item": "name"})
    known = known.join(titles, on="name", how="left", maintain_order="left")
    hits = test.join(users, on="user").join(items, on="item", suffix="_item")
    hits = hits.select(user="id", item="id_item", found=pl.lit(True))
    lists = []
    for cell, other in ((before, after), (after, before)):
        top, others = (
            read_table(one.top).filter(pl.col("rank") <= PLACES).select("user", "rank", "item")
            for one in (cell, other)
        )
        stays = others.select("user", "item", stays=pl.lit(True)).unique()
        rows = top.join(drawn.select(user="id"), on="user", how="semi")
        rows = rows.join(known.drop("item"), left_on="item", right_on="id", how="left")
        rows = rows.join(hits, on=["user", "item"], how="left")
        rows = rows.join(stays, on=["user", "item"], how="left")
        named = {"dataset": cell.dataset, "base": cell.base, "method": cell.method}
        lists.append(rows.with_columns(pl.lit(value).alias(name) for name, value in named.items()))
    table = pl.concat(lists).with_columns(pl.col("found", "stays").fill_null(False))
    table = table.with_columns(title=pl.coalesce("title", "name"))
    order = {BASE: 0}
    first = pl.col("method").replace_strict(order, default=1)
    return table.sort("user", first, "rank").select(
        pl.col(name).cast(kind) for name, kind in SCHEMA.items()
    )
