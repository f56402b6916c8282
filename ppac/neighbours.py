"""Exact Jaccard neighbours: for each user, the most similar users on train."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
import scipy.sparse as sp
from pydantic import Field

from ppac.core.config import Section
from ppac.core.interactions import Interactions
from ppac.progress import bar

BYTES_PER_OVERLAP = 64  # of one non-zero of a chunk's overlap matrix and of sorting it


class NeighboursConfig(Section):
    k_max: int = Field(gt=0)
    memory_mb: int = Field(gt=0)


def nearest_users(train: Interactions, k: int, memory_mb: int) -> pl.DataFrame:
    """The ``k`` most similar users of each user: user, rank (from 1), neighbour, similarity.

    Similarity is |A ∩ B| / |A ∪ B| of the users' item sets. Ties go to the larger user id,
    which reproduces the authors' lists. Users with no common item are never neighbours, so
    a user may have fewer than ``k``. Sparse throughout; any chunking gives the same table.
    """
    matrix = train.matrix()
    transposed = matrix.T.tocsr()
    found = []
    with bar(total=train.n_users, desc="neighbours", unit="user") as progress:
        for start, stop in chunks(train, memory_mb):
            overlap = (matrix[start:stop] @ transposed).tocsr()
            found.append(best_of_chunk(overlap, start, train.user_counts, k))
            progress.update(stop - start)
    return pl.concat(found)


def chunks(train: Interactions, memory_mb: int) -> Iterator[tuple[int, int]]:
    """Ranges of users whose overlaps fit the budget; a single user is always let through."""
    reach = train.item_counts[train.items]  # users met through each (user, item)
    per_user = np.bincount(train.users, weights=reach, minlength=train.n_users)
    cost = np.minimum(per_user, train.n_users) * BYTES_PER_OVERLAP
    total = np.concatenate([[0.0], np.cumsum(cost)])
    budget = memory_mb * 2**20
    start = 0
    while start < train.n_users:
        stop = int(np.searchsorted(total, total[start] + budget, side="right")) - 1
        stop = max(stop, start + 1)
        yield start, stop
        start = stop


def best_of_chunk(overlap: sp.csr_matrix, start: int, sizes: np.ndarray, k: int) -> pl.DataFrame:
    """The best ``k`` of each row of a chunk's overlap counts."""
    rows = np.repeat(np.arange(overlap.shape[0]), np.diff(overlap.indptr))
    users, others, common = rows + start, overlap.indices, overlap.data
    keep = users != others
    users, others, common = users[keep], others[keep], common[keep]
    # Equal fractions are equal doubles and unequal ones differ, so ties are exact.
    similarity = common / (sizes[users] + sizes[others] - common)
    order = np.lexsort((-others, -similarity, users))
    users, others, similarity = users[order], others[order], similarity[order]
    first = np.searchsorted(users, users, side="left")
    rank = np.arange(len(users)) - first
    best = rank < k
    return pl.DataFrame(
        {
            "user": users[best].astype(np.int32),
            "rank": (rank[best] + 1).astype(np.int16),
            "neighbour": others[best].astype(np.int32),
            "similarity": similarity[best],
        }
    )
