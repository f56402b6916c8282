"""Global and personal popularity (the paper, definitions 1 and 4)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import scipy.sparse as sp

from ppac.core.config import FILE, Section
from ppac.core.errors import Problem
from ppac.core.files import read_json, read_table, write_json, write_table
from ppac.core.interactions import Interactions, places_in
from ppac.core.tally import tally


class PopularityConfig(Section):
    scale: Literal["fraction", "l2"]


@dataclass(frozen=True)
class Popularity:
    """``gp`` per item, and ``pp`` as sparse neighbour counts with a unit per user.

    p_ui = counts[u, i] / unit[u]. Under ``fraction`` (the paper) the unit is the number of
    u's neighbours and gp the share of users; under ``l2`` (the release) both vectors are
    divided by their Euclidean length.
    """

    item_counts: np.ndarray  # (I,) train interactions
    gp: np.ndarray  # (I,) float32
    counts: sp.csr_matrix  # (U, I) int32, or weighted float32; column indices sorted
    unit: np.ndarray  # (U,) float32, never zero
    k: int  # neighbours counted
    scale: str

    def block(self, users: np.ndarray) -> np.ndarray:
        """Dense p of a few users, (len(users), I) float32."""
        rows = self.counts[users].astype(np.float32)
        rows.data /= np.repeat(self.unit[users], np.diff(rows.indptr))
        return rows.toarray()

    def lookup(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """p of each pair, float32."""
        places = places_in(self.counts.indptr, self.counts.indices, users, items)
        found = np.zeros(len(users), self.counts.dtype)
        found[places >= 0] = self.counts.data[places[places >= 0]]
        return (found / self.unit[users]).astype(np.float32)


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


def write_popularity(folder: Path, popular: Popularity) -> None:
    """Three tables: items (count, gp), users (unit), and pp's non-zero counts; what they mean."""
    counts = popular.counts
    users = np.repeat(np.arange(counts.shape[0], dtype=np.int32), np.diff(counts.indptr))
    items = pl.DataFrame({"count": popular.item_counts.astype(np.int32), "gp": popular.gp})
    write_table(folder / "gp.parquet", items.with_row_index("item").cast({"item": pl.Int32}))
    units = pl.DataFrame({"unit": popular.unit}).with_row_index("user")
    write_table(folder / "users.parquet", units.cast({"user": pl.Int32}))
    pp = {"user": users, "item": counts.indices.astype(np.int32), "count": counts.data}
    write_table(folder / "pp.parquet", pl.DataFrame(pp).cast({"count": pl.Int16}))
    write_json(folder / "manifest.json", {"k": popular.k, "scale": popular.scale})


def read_popularity(folder: Path) -> Popularity:
    items = read_table(folder / "gp.parquet")
    unit = read_table(folder / "users.parquet")["unit"].to_numpy()
    pp = read_table(folder / "pp.parquet")
    indptr = np.zeros(len(unit) + 1, dtype=np.int64)
    np.cumsum(np.bincount(pp["user"].to_numpy(), minlength=len(unit)), out=indptr[1:])
    shape = (len(unit), len(items))
    counts = sp.csr_matrix(
        (pp["count"].cast(pl.Int32).to_numpy(), pp["item"].to_numpy(), indptr), shape
    )
    gp = items["gp"].to_numpy(writable=True)  # torch wants memory it may write to
    return Popularity(
        items["count"].to_numpy(), gp, counts, unit, **read_json(folder / "manifest.json")
    )
