"""Tail share (APLT): how much of the lists goes to long-tail items."""

from __future__ import annotations

import numpy as np

from ppac.scoring.lists import Lists, mean_over_list

KIND = "popularity"
BETTER = 1  # higher
LABEL = "Tail share"


def score(lists: Lists, k: int) -> np.ndarray:
    return mean_over_list(lists, k, lists.tail)
