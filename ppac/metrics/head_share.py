"""Head share: how much of the lists goes to the most popular items."""

from __future__ import annotations

import numpy as np

from ppac.scoring.lists import Lists, mean_over_list

KIND = "popularity"
BETTER = -1  # lower
LABEL = "Head share"


def score(lists: Lists, k: int) -> np.ndarray:
    return mean_over_list(lists, k, lists.head)
