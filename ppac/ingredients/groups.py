"""Head and tail: items in two groups by their popularity in train."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ppac.core.errors import Problem
from ppac.scoring.lists import head_of


def head_items(counts: np.ndarray, share: float) -> Tensor:
    """Which items are of the head, the most popular ``share`` of them, (I,) bool.

    Both groups must have items: there is nothing to balance otherwise.
    """
    head = head_of(counts, share)
    if head.all() or not head.any():
        raise Problem(
            f"params.yaml: a head of {share:g} of {len(counts)} items leaves one group empty."
        )
    return torch.from_numpy(head)
