"""Hit rate: whether there is at least one hit among the first k."""

from __future__ import annotations

import numpy as np

from ppac.scoring.lists import Lists

KIND = "accuracy"
BETTER = 1  # higher
LABEL = "Hit rate"


def score(lists: Lists, k: int) -> np.ndarray:
    return (lists.hits[:, :k].sum(axis=1) > 0).astype(np.float64)
