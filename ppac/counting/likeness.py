"""Who is like whom, by more than how many items they share: rare ones in common can count more.

``ppac/neighbours/`` finds the paper's neighbours, and only those, faster; this search takes any
weight of the items.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl

from ppac.core.compiled import kernel
from ppac.core.interactions import Interactions
from ppac.core.parallel import cores, share_out
from ppac.neighbours.best import offer

SHARES = 64  # of the users, for threads to take
Similarity = Literal["jaccard", "cosine"]


def alike(
    train: Interactions, k: int, similarity: Similarity = "jaccard", rarity: float = 0.0
) -> pl.DataFrame:
    """The ``k`` most similar users of each user: user, rank (from 1), neighbour, similarity.

    An item that n users have weighs n^-rarity. With w(A) the weight of a set of items,
    similarity is w(A ∩ B) / w(A ∪ B), or w(A ∩ B) / √(w(A) w(B)) if it is the cosine. Jaccard
    at rarity 0 is the paper's: the same table as ``ppac.neighbours.nearest_users``.

    Users 1 and 2 each share one of 0's two items; 1's is the rarer one:

    >>> users, items = np.array([0, 0, 1, 2, 3]), np.array([0, 1, 0, 1, 1])
    >>> train = Interactions.of(users, items, 4, 2)
    >>> alike(train, 1)["neighbour"].to_list()
    [3, 0, 3, 2]
    >>> alike(train, 1, "cosine", rarity=1.0)["neighbour"].to_list()
    [1, 0, 3, 2]
    """
    n, k = train.n_users, min(k, max(train.n_users - 1, 1))
    weight = np.maximum(train.item_counts, 1.0) ** -rarity
    size = np.bincount(train.users, weight[train.items], minlength=n)
    having = train.matrix().T.tocsr()  # items x users
    lists = (train.indptr, train.items, having.indptr, having.indices)
    near, user, held = np.zeros((n, k)), np.zeros((n, k), np.int32), np.zeros(n, np.int64)
    bounds = np.linspace(0, n, SHARES + 1).astype(np.int64)

    def work(share: int) -> None:
        common, met = np.zeros(n), np.empty(n, np.int32)
        some = (bounds[share], bounds[share + 1])
        meet(*lists, weight, size, similarity == "cosine", common, met, near, user, held, *some)

    share_out(work, SHARES, cores())
    ranks = np.arange(1, k + 1, dtype=np.int16)
    there = ranks <= held[:, None]
    columns = {
        "user": np.repeat(np.arange(n, dtype=np.int32), held),
        "rank": np.broadcast_to(ranks, there.shape)[there],
        "neighbour": user[there],
        "similarity": near[there],
    }
    return pl.DataFrame(columns)


@kernel
def meet(
    indptr: np.ndarray,
    items: np.ndarray,
    starts: np.ndarray,  # where in ``users`` those of an item are
    users: np.ndarray,
    weight: np.ndarray,  # of items
    size: np.ndarray,  # of users: what their items weigh
    cosine: bool,
    common: np.ndarray,  # (U,), all 0
    met: np.ndarray,  # (U,)
    near: np.ndarray,  # (U, k), as what follows: filled in here
    user: np.ndarray,
    held: np.ndarray,
    first: int,
    last: int,
) -> None:
    """The best k of users ``first`` to ``last``, best first, ties to the larger id."""
    for u in range(first, last):
        n = 0
        for p in range(indptr[u], indptr[u + 1]):
            item = items[p]
            for q in range(starts[item], starts[item + 1]):
                v = users[q]
                if common[v] == 0:
                    met[n] = v
                    n += 1
                common[v] += weight[item]
        for v in met[:n]:
            shared, common[v] = common[v], 0.0
            if v != u:
                whole = np.sqrt(size[u] * size[v]) if cosine else size[u] + size[v] - shared
                held[u] = offer(near[u], user[u], held[u], shared / whole, v)
