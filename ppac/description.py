"""What the data says before any model: how personal popularity is, and whether it means liking.

The paper's figure 2. Where users' most popular items among similar users are mostly those that
are popular anyway, there is little that personal popularity could add.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from pydantic import Field

from ppac.core.config import Section
from ppac.core.popularity import Popularity

RATINGS = pl.Schema(
    {
        "group": pl.Int64,
        "items": pl.Int64,
        "pp": pl.Float64,
        "rating": pl.Float64,
        "ratings": pl.Int64,
    }
)


class DescribeConfig(Section):
    top: int = Field(gt=0)
    groups: int = Field(gt=1)


def own_favourites(popular: Popularity, top: int, ties: np.ndarray) -> np.ndarray:
    """d_u: how many of u's ``top`` items by personal popularity are not among the global ``top``.

    ``ties`` is the order of items of equal popularity, the same for both kinds.
    """
    globally = np.lexsort((ties, -popular.item_counts))[:top]
    is_global = np.zeros(len(popular.item_counts), dtype=bool)
    is_global[globally] = True
    counts = popular.counts
    users = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    order = np.lexsort((ties[counts.indices], -counts.data, users))  # by user, most popular first
    place = np.arange(counts.nnz) - counts.indptr[users]
    chosen = counts.indices[order][place < top]
    whose = users[place < top]
    return np.bincount(whose[~is_global[chosen]], minlength=counts.shape[0])


def histogram(differences: np.ndarray, top: int) -> pl.DataFrame:
    """How many users have each difference, from none to all.

    >>> histogram(np.array([1, 1, 2]), 2)["share"].to_list()
    [0.0, 0.666667, 0.333333]
    """
    users = np.bincount(differences, minlength=top + 1)
    table = pl.DataFrame({"differing": np.arange(top + 1), "users": users})
    return table.with_columns(share=(pl.col("users") / pl.col("users").sum()).round(6))


def rating_by_popularity(popular: Popularity, ratings: pl.DataFrame, groups: int) -> pl.DataFrame:
    """Mean rating of items in equal groups by their mean personal popularity, lowest first.

    ``ratings`` has item (dense) and rating; where nobody rates there is nothing to say.
    """
    if "rating" not in ratings.columns:
        return pl.DataFrame(schema=RATINGS)
    counts = popular.counts.astype(np.float64)
    counts.data /= np.repeat(popular.unit, np.diff(counts.indptr))
    pp = np.asarray(counts.sum(axis=0)).ravel() / counts.shape[0]
    group = np.empty(len(pp), dtype=np.int64)
    for number, members in enumerate(np.array_split(np.argsort(pp, kind="stable"), groups), 1):
        group[members] = number
    items = pl.DataFrame({"item": np.arange(len(pp), dtype=np.int32), "group": group, "pp": pp})
    rated = (
        ratings.join(items, on="item")
        .group_by("group")
        .agg(rating=pl.col("rating").mean().round(6), ratings=pl.len().cast(pl.Int64))
    )
    described = items.group_by("group").agg(
        items=pl.len().cast(pl.Int64), pp=pl.col("pp").mean().round(6)
    )
    return described.join(rated, on="group").sort("group").select(RATINGS.names())
