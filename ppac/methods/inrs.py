"""INRS: scores independent of whether an item is popular (Kamishima et al., 2014).

The penalty is on the difference between the scores of head items and of tail items, over
uniform pairs. Kamishima's code matches them on observed ratings and fits separate parameters
for head and tail; here pairs are those a ranking consists of, and parameters are the base's.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from ppac.core.config import Section
from ppac.core.seeds import rng
from ppac.ingredients.groups import Balanced, moments
from ppac.scoring.gather import take
from ppac.scoring.method import Batch, Shared, check_pairs
from ppac.scoring.model import Model

ENOUGH = 32  # scores of either group, for a mean
LEAST = 1e-6  # variance: the logarithm and the quotient need one
Term = Literal["mean", "bhattacharyya"]


class Config(Section):
    term: Term
    scores: Literal["raw", "sigmoid"]
    head: float = Field(gt=0, lt=1)
    weight: float = Field(ge=0)  # 0 is the base model


class Net(Balanced):
    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        super().__init__(model, shared, l2, config.head, config.weight)
        self.config = config

    def distance(self, batch: Batch, rep: tuple[Tensor, Tensor], negative: Tensor) -> Tensor:
        """Over the batch's negatives, and further pairs of a group that has few of them."""
        items, scores = batch.negatives, negative
        for group in (self.head, ~self.head):
            lacking = ENOUGH - int(group[batch.negatives].sum())
            if lacking > 0:
                further = draw(batch, group, lacking)
                more = self.model.pair(take(rep[0], further[0]), take(rep[1], further[1]))
                items, scores = torch.cat([items, further[1]]), torch.cat([scores, more])
        if self.config.scores == "sigmoid":
            scores = torch.sigmoid(scores)
        return dependence(scores, self.head[items], self.config.term)


def draw(batch: Batch, group: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Uniform pairs of the batch's users and a group's items; the same for the same batch."""
    stream = rng(int(batch.pairs.sum()), "further")
    items = group.nonzero()[:, 0]
    some_user, some_item = (stream.integers(len(t), size=size) for t in (batch.users, items))
    return batch.users[torch.from_numpy(some_user)], items[torch.from_numpy(some_item)]


def dependence(scores: Tensor, head: Tensor, term: Term) -> Tensor:
    """How much scores (n,) tell head from tail: 0 if they do not, or if a group is empty.

    "mean" is half the squared difference of means, "bhattacharyya" the distance between two
    normal distributions, which shrinking all scores does not satisfy.
    """
    check_pairs(scores, head)
    if head.all() or not head.any():
        return scores.new_zeros(())
    means, variances = moments(scores[:, None], head)
    apart = (means[0, 0] - means[1, 0]).square()
    if term == "mean":
        return 0.5 * apart
    variances = variances.clamp(min=LEAST)
    logs = variances.log()
    return 0.25 * apart / variances.sum() + 0.5 * ((variances.sum() / 2).log() - 0.5 * logs.sum())
