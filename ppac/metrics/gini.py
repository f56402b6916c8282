"""Gini: how unequally recommendations fall on items; 0 is equal, 1 is all on one."""

from __future__ import annotations

import numpy as np

from ppac.scoring.lists import Lists, listed

KIND = "popularity"
BETTER = -1  # lower
LABEL = "Gini"


def score(lists: Lists, k: int) -> float:
    """Over all items, those never recommended included."""
    shown = lists.items[:, :k][listed(lists, k)]
    counts = np.sort(np.bincount(shown, minlength=len(lists.gp)))
    n = len(counts)
    return float((2 * np.arange(1, n + 1) - n - 1) @ counts / (n * max(counts.sum(), 1)))
