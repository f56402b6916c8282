"""PRU: how well a list's order agrees with global popularity (the paper's appendix)."""

from __future__ import annotations

import numpy as np

from ppac.scoring.lists import Lists, listed
from ppac.scoring.spearman import agreement

KIND = "popularity"
BETTER = -1  # lower
LABEL = "PRU"


def score(lists: Lists, k: int) -> np.ndarray:
    """Minus the rank correlation of popularity with position: 1 is most popular first."""
    there = listed(lists, k)
    return agreement(np.where(there, lists.gp[lists.items[:, :k]], np.nan))
