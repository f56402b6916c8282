"""NDCG: hits discounted by log2 of their place, relative to the best possible list."""

from __future__ import annotations

import numpy as np

from ppac.scoring.lists import Lists

KIND = "accuracy"
BETTER = 1  # higher
LABEL = "NDCG"


def score(lists: Lists, k: int) -> np.ndarray:
    """The best possible list has min(k, relevant) hits at its top."""
    hits = lists.hits[:, :k]
    discount = 1 / np.log2(np.arange(hits.shape[1]) + 2)
    ideal = np.cumsum(1 / np.log2(np.arange(k) + 2))
    return (hits @ discount) / ideal[np.minimum(k, lists.relevant) - 1]
