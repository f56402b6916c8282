"""Ranked lists and what is known of their items: the input of every metric.

A metric is a file ``ppac/metrics/<name>.py`` with

- ``KIND``: "accuracy" (needs relevant items; reported at several cutoffs) or "popularity";
- ``BETTER``: 1 if higher is better, -1 if lower, 0 if neither; ``LABEL``: its name in tables;
- ``score(lists, k)``: one value per user, (n,), or one number for all lists together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity


@dataclass(frozen=True)
class Lists:
    users: np.ndarray  # (n,)
    items: np.ndarray  # (n, K), best first; -1 where a list is shorter
    relevant: np.ndarray  # (n,) how many items of the user count as hits
    hits: np.ndarray  # (n, K) bool
    popularity: Popularity
    head_items: float
    tail_interactions: float

    def rows(self, where: np.ndarray) -> Lists:
        """Some of the users only."""
        chosen = {name: getattr(self, name)[where] for name in PER_USER}
        return replace(self, **chosen)

    @property
    def gp(self) -> np.ndarray:
        """Global popularity of every item, (I,)."""
        return self.popularity.gp

    @property
    def item_counts(self) -> np.ndarray:
        """Train interactions of every item, (I,)."""
        return self.popularity.item_counts

    @cached_property
    def pp(self) -> np.ndarray:
        """Personal popularity of the listed items, (n, K); 0 where there is none."""
        users = np.repeat(self.users, self.items.shape[1])
        pp = self.popularity.lookup(users, np.maximum(self.items.ravel(), 0))
        return np.where(self.items >= 0, pp.reshape(self.items.shape), 0)

    @cached_property
    def head(self) -> np.ndarray:
        """Which items are head items, (I,) bool."""
        return head_of(self.item_counts, self.head_items)

    @cached_property
    def tail(self) -> np.ndarray:
        """Which items are tail items, (I,) bool."""
        return tail_of(self.item_counts, self.tail_interactions)


PER_USER = ("users", "items", "relevant", "hits")


def hits_of(users: np.ndarray, items: np.ndarray, relevant: Interactions) -> np.ndarray:
    """Which of the listed items are relevant, (n, K) bool."""
    repeated = np.repeat(users, items.shape[1])
    return relevant.contains(repeated, items.ravel()).reshape(items.shape)


def head_of(counts: np.ndarray, share: float) -> np.ndarray:
    """The most popular ``share`` of the items (the paper's figure 1: 10%).

    >>> head_of(np.array([5, 1, 9, 2]), 0.5)
    array([ True, False,  True, False])
    """
    mask = np.zeros(len(counts), dtype=bool)
    mask[np.argsort(-counts, kind="stable")[: round(share * len(counts))]] = True
    return mask


def tail_of(counts: np.ndarray, share: float) -> np.ndarray:
    """The rarest items that together hold at most ``share`` of the interactions.

    >>> tail_of(np.array([5, 1, 9, 2]), 0.2)
    array([False,  True, False,  True])
    """
    order = np.argsort(counts, kind="stable")
    mask = np.zeros(len(counts), dtype=bool)
    mask[order[np.cumsum(counts[order]) <= share * counts.sum()]] = True
    return mask


def listed(lists: Lists, k: int) -> np.ndarray:
    """Which places of the first ``k`` hold an item, (n, k) bool."""
    return lists.items[:, :k] >= 0


def mean_over_list(lists: Lists, k: int, value: np.ndarray) -> np.ndarray:
    """Each user's mean of a per-item ``value`` over the first ``k`` places."""
    there = listed(lists, k)
    total = np.where(there, value[lists.items[:, :k]], 0).sum(axis=1, dtype=np.float64)
    return total / np.maximum(there.sum(axis=1), 1)
