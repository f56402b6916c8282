"""Exact Jaccard neighbours: for each user, the most similar users on train."""

from __future__ import annotations

import numpy as np
import polars as pl
from pydantic import Field

from ppac.core.config import Section
from ppac.core.interactions import Interactions
from ppac.neighbours.search import search


class NeighboursConfig(Section):
    k_max: int = Field(gt=0)


def nearest_users(train: Interactions, k: int) -> pl.DataFrame:
    """The ``k`` most similar users of each user: user, rank (from 1), neighbour, similarity.

    Similarity is |A ∩ B| / |A ∪ B| of the users' item sets. Ties go to the larger user id,
    which reproduces the authors' lists. Users with no common item are never neighbours, so
    a user may have fewer than ``k``.
    """
    best = search(train.indptr, train.items, train.n_items, min(k, max(train.n_users - 1, 1)))
    n, most = best.user.shape
    ranks = np.arange(1, most + 1, dtype=np.int16)
    there = (ranks <= best.held[:, None]).ravel()
    columns = {
        "user": np.repeat(np.arange(n, dtype=np.int32), most),
        "rank": np.tile(ranks, n),
        "neighbour": best.user.ravel(),
        "similarity": best.similarity.ravel(),
    }
    if not there.all():
        columns = {name: column[there] for name, column in columns.items()}
    return pl.DataFrame(columns)
