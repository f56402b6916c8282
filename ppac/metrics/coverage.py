"""Coverage: the share of all items that are recommended to anybody."""

from __future__ import annotations

import numpy as np

from ppac.scoring.lists import Lists

KIND = "popularity"
BETTER = 1  # higher
LABEL = "Coverage"


def score(lists: Lists, k: int) -> float:
    items = np.unique(lists.items[:, :k])
    return float((items >= 0).sum() / len(lists.gp))
