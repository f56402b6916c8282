"""PPRU: how well a list's order agrees with personal popularity (the paper's appendix)."""

from __future__ import annotations

import numpy as np

from ppac.scoring.lists import Lists, listed
from ppac.scoring.spearman import agreement

KIND = "popularity"
BETTER = 0  # neither is
LABEL = "PPRU"


def score(lists: Lists, k: int) -> np.ndarray:
    """Minus the rank correlation of personal popularity with position."""
    return agreement(np.where(listed(lists, k), lists.pp[:, :k], np.nan))
