"""Head and tail: items in two groups by their popularity in train, and how far apart they are."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import torch
from torch import Tensor, nn

from ppac.core.errors import Problem
from ppac.scoring.lists import head_of
from ppac.scoring.method import Batch, Method, Shared, bpr
from ppac.scoring.model import Model


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


def moments(values: Tensor, head: Tensor) -> tuple[Tensor, Tensor]:
    """Means (2, d) and total variances (2,) of head rows and of tail rows of ``values`` (n, d).

    Neither group may be empty.

    >>> means, variances = moments(torch.tensor([[1.0], [3.0], [7.0]]), torch.tensor([1, 1, 0]) > 0)
    >>> means.tolist(), variances.tolist()
    ([[2.0], [7.0]], [1.0, 0.0])
    """
    members = torch.stack([head, ~head]).to(values.dtype)
    share = members / members.sum(1, keepdim=True)
    means = share @ values
    # A variance does not change with its mean to first order: no gradient is lost here.
    own = torch.where(head[:, None], means[0].detach(), means[1].detach())
    return means, share @ (values - own).square().sum(1)


class Balanced(Method):
    """The base model's loss and ``weight`` times a distance between head and tail."""

    def __init__(self, model: Model, shared: Shared, l2: float, head: float, weight: float) -> None:
        super().__init__(model, l2)
        self.head = nn.Buffer(head_items(shared.train.item_counts, head), persistent=False)
        self.weight = weight

    @abstractmethod
    def distance(self, batch: Batch, rep: tuple[Tensor, Tensor], negative: Tensor) -> Tensor:
        """From all representations, and the scores (B,) of the batch's negatives."""

    def loss(self, batch: Batch) -> Tensor:
        reps = self.rep()
        rep, ego = self.rows(batch, reps)
        positive, negative = self.model.pair(rep.users, rep.items)
        loss = bpr(positive, negative) + self.regulariser(ego)
        return loss + self.weight * self.distance(batch, reps, negative)
