"""Taking interactions so that items have as equal a say as their counts allow."""

from __future__ import annotations

import numpy as np

from ppac.splitting.pairs import Pairs


def water_fill(capacity: np.ndarray, wanted: int) -> int:
    """The quota q at which items giving min(q, capacity) come nearest to ``wanted`` in all.

    >>> water_fill(np.array([1, 3, 10]), 6)  # 1 + 2 + 2 = 5, 1 + 3 + 3 = 7: the lower one
    2
    """
    low, high = 0, int(capacity.max(initial=0))
    while low < high:  # the largest quota that gives at most what is wanted
        middle = (low + high + 1) // 2
        if np.minimum(capacity, middle).sum() <= wanted:
            low = middle
        else:
            high = middle - 1
    below = int(np.minimum(capacity, low).sum())
    above = int(np.minimum(capacity, low + 1).sum())
    return low + 1 if above - wanted < wanted - below else low


def take_balanced(
    pairs: Pairs,
    free: np.ndarray,
    capacity: np.ndarray,
    wanted: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, int]:
    """Up to a quota of each item's free interactions, drawn at random.

    ``free`` marks what may be drawn, ``capacity`` how much each item may give.
    """
    candidates, place = in_rounds(pairs, free, rng)
    items = pairs.item[candidates]
    counts = np.bincount(items, minlength=len(capacity))
    quota = water_fill(np.minimum(capacity, counts), wanted)
    return candidates[place < np.minimum(quota, capacity)[items]], quota


def in_rounds(
    pairs: Pairs, free: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The free pairs at random, item after item, and each one's place 0, 1, 2, ... in its item."""
    candidates = rng.permutation(np.flatnonzero(free))
    candidates = candidates[np.argsort(pairs.item[candidates], kind="stable")]
    items = pairs.item[candidates]
    counts = np.bincount(items, minlength=len(pairs.items))
    starts = np.cumsum(counts) - counts
    return candidates, np.arange(len(candidates)) - starts[items]


def quota_facts(items: np.ndarray, quota: int, wanted: int) -> dict[str, int]:
    counts = np.bincount(items)
    reached = int((counts == quota).sum()) if quota else 0
    contributing = int((counts > 0).sum())
    return {"quota": quota, "wanted": wanted, "items": contributing, "reached_quota": reached}


def distinct(numbers: np.ndarray) -> int:
    """How many different ones there are."""
    return int(np.count_nonzero(np.bincount(numbers)))
