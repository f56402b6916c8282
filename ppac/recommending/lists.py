"""Lists with their reasons: how popular an item is, with whom, and which similar users have it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from pydantic import Field

from ppac.core.config import Section
from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity
from ppac.evaluation import top_table
from ppac.scoring.lists import Lists

PIECE = 1 << 18  # rows whose similar users are looked at together


class RecommendConfig(Section):
    top: int = Field(gt=0)
    reasons: int = Field(ge=0)


@dataclass(frozen=True)
class Near:
    """Similar users of some users, nearest first: those of u are at starts[u] to starts[u + 1]."""

    starts: np.ndarray
    others: np.ndarray  # users of train

    @classmethod
    def of(cls, table: pl.DataFrame, k: int, n_users: int) -> Near:
        """From rows of user, rank and neighbour, sorted by user and rank."""
        near = table.filter(pl.col("rank") <= k)
        starts = np.searchsorted(near["user"].to_numpy(), np.arange(n_users + 1))
        return cls(starts, near["neighbour"].to_numpy())


def with_reasons(
    users: np.ndarray,
    items: np.ndarray,
    scores: np.ndarray,
    popularity: Popularity,
    near: Near,
    train: Interactions,
    reasons: int,
) -> pl.DataFrame:
    """Rows of user, rank, item, score, pp, gp and the nearest users who have it; dense ids."""
    nothing = np.zeros(items.shape, dtype=bool)  # there are no hits to count here
    lists = Lists(users, items, nothing.sum(axis=1), nothing, popularity, 0, 0)
    table = top_table(lists, scores, items.shape[1])
    pieces = [
        behind(part["user"].to_numpy(), part["item"].to_numpy(), near, train, reasons)
        for part in table.iter_slices(PIECE)
    ]
    empty = pl.Series("neighbours", [], dtype=pl.List(pl.Int32))
    return table.with_columns(pl.concat(pieces) if pieces else empty)


def behind(
    users: np.ndarray, items: np.ndarray, near: Near, train: Interactions, most: int
) -> pl.Series:
    """For each pair, the nearest users who have the item in train, ``most`` at most.

    >>> train = Interactions.of(np.array([1, 2, 2]), np.array([0, 0, 1]), 3, 2)
    >>> near = Near(np.array([0, 2]), np.array([2, 1]))  # user 0 is most like 2, then 1
    >>> behind(np.array([0, 0]), np.array([0, 1]), near, train, 5).to_list()
    [[2, 1], [2]]
    """
    first, counts = near.starts[users], near.starts[users + 1] - near.starts[users]
    rows = np.repeat(np.arange(len(users)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    others = near.others[first[rows] + within]
    has = train.contains(others, items[rows])
    rows, others = rows[has], others[has]
    chosen = np.arange(len(rows)) - np.searchsorted(rows, rows) < most
    return by_row(rows[chosen], pl.Series(others[chosen].astype(np.int32)), len(users))


def by_row(rows: np.ndarray, values: pl.Series, n: int) -> pl.Series:
    """For each of ``n`` rows the list of its values; an empty one where there are none.

    >>> by_row(np.array([0, 2, 2]), pl.Series(["a", "b", "c"]), 3).to_list()
    [['a'], [], ['b', 'c']]
    """
    flat = pl.DataFrame({"row": rows, "neighbours": values}).cast({"row": pl.Int64})
    lists = flat.group_by("row", maintain_order=True).agg("neighbours")
    every = pl.DataFrame({"row": np.arange(n)})
    found = every.join(lists, on="row", how="left", maintain_order="left")["neighbours"]
    return found.fill_null(pl.Series([[]], dtype=pl.List(values.dtype)))
