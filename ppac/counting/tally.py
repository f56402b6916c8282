"""Counting what each user's neighbours have, sparsely: rows of counts with items ascending."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ppac.core.compiled import bits_set, kernel, lowest_bit
from ppac.core.interactions import Interactions
from ppac.core.parallel import cores, share_out

SHARES = 32  # of the users, for threads to take


def tally(
    train: Interactions,
    starts: np.ndarray,
    neighbours: np.ndarray,
    weights: np.ndarray | None = None,
) -> sp.csr_matrix:
    """(U, I) counts: how many of ``neighbours[starts[u]:starts[u + 1]]`` have each item.

    With weights, the sum of those of the ones who have it. Once to learn the sizes and once to
    fill them in: the result is all the memory it takes.
    """
    n_users, n_items = len(starts) - 1, train.n_items
    bounds = np.linspace(0, n_users, SHARES + 1).astype(np.int64)
    have = (train.indptr, train.items, starts, neighbours)
    sizes = np.zeros(n_users, np.int64)
    weights = np.ones(len(neighbours), np.int32) if weights is None else weights

    def measure(share: int) -> None:
        met = np.zeros((n_items + 63) // 64, np.uint64)
        count_distinct(*have, met, sizes, bounds[share], bounds[share + 1])

    share_out(measure, SHARES, cores())
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    items, counts = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], weights.dtype)

    def fill(share: int) -> None:
        met, times = np.zeros((n_items + 63) // 64, np.uint64), np.zeros(n_items, weights.dtype)
        count(*have, weights, met, times, indptr, items, counts, bounds[share], bounds[share + 1])

    share_out(fill, SHARES, cores())
    return sp.csr_matrix((counts, items, indptr), (n_users, n_items))


@kernel
def mark(
    indptr: np.ndarray,
    have: np.ndarray,
    neighbours: np.ndarray,
    met: np.ndarray,
) -> None:
    """Set the bit of every item that one of the neighbours has."""
    for v in neighbours:
        for q in range(indptr[v], indptr[v + 1]):
            met[have[q] >> 6] |= np.uint64(1) << np.uint64(have[q] & 63)


@kernel
def count_distinct(
    indptr: np.ndarray,
    have: np.ndarray,
    starts: np.ndarray,
    neighbours: np.ndarray,
    met: np.ndarray,  # a bit for each item, all 0
    sizes: np.ndarray,
    first: int,
    last: int,
) -> None:
    """How many items the neighbours of some users have."""
    for u in range(first, last):
        mark(indptr, have, neighbours[starts[u] : starts[u + 1]], met)
        n = 0
        for w in range(len(met)):
            n += bits_set(met[w])
            met[w] = 0
        sizes[u] = n


@kernel
def count(
    indptr: np.ndarray,
    have: np.ndarray,
    starts: np.ndarray,
    neighbours: np.ndarray,
    weights: np.ndarray,
    met: np.ndarray,
    times: np.ndarray,  # (I,), all 0
    ends: np.ndarray,
    items: np.ndarray,
    counts: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Some users' rows. The bits of the items met give them in order without sorting."""
    for u in range(first, last):
        mine = neighbours[starts[u] : starts[u + 1]]
        mark(indptr, have, mine, met)
        for p in range(starts[u], starts[u + 1]):
            v, weight = neighbours[p], weights[p]
            for q in range(indptr[v], indptr[v + 1]):
                times[have[q]] += weight
        n = ends[u]
        for w in range(len(met)):
            word = met[w]
            met[w] = 0
            while word != 0:
                item = 64 * w + lowest_bit(word)
                word &= word - np.uint64(1)
                items[n], counts[n] = item, times[item]
                times[item] = 0
                n += 1
