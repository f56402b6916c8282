"""ARP: the mean number of train interactions of what is recommended."""

from __future__ import annotations

import numpy as np

from ppac.scoring.lists import Lists, mean_over_list

KIND = "popularity"
BETTER = -1  # lower
LABEL = "ARP"


def score(lists: Lists, k: int) -> np.ndarray:
    return mean_over_list(lists, k, lists.item_counts)
