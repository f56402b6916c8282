"""Precision: the share of the first k places that are hits."""

from __future__ import annotations

import numpy as np

from ppac.scoring.lists import Lists

KIND = "accuracy"
BETTER = 1  # higher
LABEL = "Precision"


def score(lists: Lists, k: int) -> np.ndarray:
    return lists.hits[:, :k].sum(axis=1) / k
