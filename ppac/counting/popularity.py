"""From neighbours to popularity."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl

from ppac.core.config import FILE, Section
from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity
from ppac.counting.tally import tally


class PopularityConfig(Section):
    scale: Literal["fraction", "l2"]


def popularity(
    train: Interactions, neighbours: pl.DataFrame, k: int, scale: str, power: float = 0.0
) -> Popularity:
    """Count each item among everyone, and among each user's ``k`` nearest.

    A neighbour counts as much as the given power of their similarity; 0, the paper, is alike.

    Three users; 0's nearest are 1 and 2, so both of them having item 1 makes p_01 = 1:

    >>> train = Interactions.of(np.array([0, 1, 1, 2, 2]), np.array([0, 0, 1, 0, 1]), 3, 2)
    >>> near = pl.DataFrame({"user": [0, 0], "rank": [1, 2], "neighbour": [2, 1]})
    >>> result = popularity(train, near, k=2, scale="fraction")
    >>> result.block(np.array([0]))
    array([[1., 1.]], dtype=float32)
    >>> result.gp
    array([1.       , 0.6666667], dtype=float32)
    """
    near = neighbours.filter(pl.col("rank") <= k)
    users, others = near["user"].to_numpy(), near["neighbour"].to_numpy()
    starts = np.searchsorted(users, np.arange(train.n_users + 1))
    weights = None
    if power:
        weights = (near["similarity"].to_numpy() ** power).astype(np.float32)
    counts = tally(train, starts, others, weights)
    if scale == "fraction":
        unit = np.bincount(users, weights, minlength=train.n_users).astype(np.float64)
        whole = float(train.n_users)
    else:
        unit = np.sqrt(counts.multiply(counts).sum(axis=1)).A1
        whole = float(np.linalg.norm(train.item_counts))
    return Popularity(
        item_counts=train.item_counts,
        gp=(train.item_counts / whole).astype(np.float32),
        counts=counts,
        unit=np.where(unit > 0, unit, 1).astype(np.float32),
        k=k,
        scale=scale,
    )


def check_k(k: object, k_max: int, n_users: int) -> int:
    """``k`` as a number that the neighbour lists can serve."""
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise Problem(f"{FILE}: 'k' is {k!r}: it must be a whole number of users, at least 1.")
    if k >= n_users:
        raise Problem(
            f"{FILE}: 'k' is {k}, but the dataset has {n_users} users: at most {n_users - 1} "
            "can be similar to one of them. Choose a smaller k."
        )
    if k > k_max:
        raise Problem(f"{FILE}: 'k' is {k}, above 'neighbours.k_max' {k_max}: raise k_max too.")
    return k
