"""The base model alone, trained with BPR on raw scores."""

from __future__ import annotations

from torch import Tensor

from ppac.core.config import Section
from ppac.scoring.method import Batch, Method, Shared, bpr
from ppac.scoring.model import Model


class Config(Section):
    pass


class Net(Method):
    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        super().__init__(model, l2)

    def loss(self, batch: Batch) -> Tensor:
        rep, ego = self.rows(batch)
        positive, negative = self.model.pair(rep.users, rep.items)
        return bpr(positive, negative) + self.regulariser(ego)
