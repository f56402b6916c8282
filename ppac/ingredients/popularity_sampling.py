"""Negatives that are clearly more, or clearly less, popular than the positive (DICE).

The items a user lacks and that have n_j > n_i + margin are one pool, those with n_j < n_i / 2
the other. A fair coin decides between them; a pool with fewer items than asked for leaves it to
the other; if that is empty, any item will do that the user lacks.
"""

from __future__ import annotations

import numpy as np

from ppac.core.compiled import kernel
from ppac.core.interactions import Interactions


class PopularitySampler:
    """Items numbered by popularity, so that a pool is a range less what the user has of it."""

    def __init__(self, train: Interactions) -> None:
        self.by_popularity = np.argsort(train.item_counts, kind="stable").astype(np.int32)
        place = np.empty(train.n_items, np.int32)
        place[self.by_popularity] = np.arange(train.n_items)
        self.counts = train.item_counts
        self.train = Interactions.of(train.users, place[train.items], train.n_users, train.n_items)

    def sample(
        self,
        users: np.ndarray,
        positives: np.ndarray,
        margin: float,
        pool: int,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """An item for each pair, uniform over its pool. Each user must lack something."""
        ascending = self.counts[self.by_popularity]
        above = np.searchsorted(ascending, self.counts + margin, side="right")
        below = np.searchsorted(ascending, self.counts / 2, side="left")
        coins = rng.integers(2, size=len(users), dtype=np.int8)
        chances = rng.random(len(users))
        places = draw(
            self.train.indptr,
            self.train.items,
            users,
            above[positives],
            below[positives],
            pool,
            coins,
            chances,
            self.train.n_items,
        )
        return self.by_popularity[places]


@kernel
def draw(
    indptr: np.ndarray,
    items: np.ndarray,
    users: np.ndarray,
    above: np.ndarray,
    below: np.ndarray,
    pool: int,
    coins: np.ndarray,
    chances: np.ndarray,
    n_items: int,
) -> np.ndarray:
    """For each user an item they lack, of those from ``above`` on or of those before ``below``."""
    drawn = np.empty(len(users), np.int32)
    for p in range(len(users)):
        have = items[indptr[users[p]] : indptr[users[p] + 1]]
        had_above = len(have) - np.searchsorted(have, above[p])
        popular = n_items - above[p] - had_above
        rare = below[p] - np.searchsorted(have, below[p])
        up = popular >= pool and (rare < pool or coins[p] == 1)
        first, lacking = (above[p], popular) if up else (0, rare)
        if lacking == 0:
            first, lacking = 0, n_items - len(have)
        nth = min(int(chances[p] * lacking), lacking - 1)
        drawn[p] = nth_lacking(have, first, nth)
    return drawn


@kernel
def nth_lacking(have: np.ndarray, first: int, nth: int) -> int:
    """Of the numbers from ``first`` on that are not in ascending ``have``, one with nth before."""
    start = int(np.searchsorted(have, first))
    low, high = start, len(have)
    while low < high:
        middle = (low + high) >> 1
        if have[middle] - first - (middle - start) > nth:
            high = middle
        else:
            low = middle + 1
    return first + nth + low - start
