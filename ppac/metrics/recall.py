"""Recall: the share of a user's relevant items that are among the first k."""

from __future__ import annotations

import numpy as np

from ppac.scoring.lists import Lists

KIND = "accuracy"
BETTER = 1  # higher
LABEL = "Recall"


def score(lists: Lists, k: int) -> np.ndarray:
    return lists.hits[:, :k].sum(axis=1) / lists.relevant
