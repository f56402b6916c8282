"""The base model alone, trained with BPR.

``squash`` puts a sigmoid around the scores first, as the release does for BPRMF and for nothing
else: gradients are then at most a quarter, and the loss of a pair never falls below 0.31.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ppac.core.config import Section
from ppac.scoring.method import Batch, Method, Shared, bpr
from ppac.scoring.model import Model


class Config(Section):
    squash: bool


class Net(Method):
    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        super().__init__(model, l2)
        self.squash = config.squash

    def loss(self, batch: Batch) -> Tensor:
        rep, ego = self.rows(batch)
        scores = self.model.pair(rep.users, rep.items)
        positive, negative = torch.sigmoid(scores) if self.squash else scores
        return bpr(positive, negative) + self.regulariser(ego)
