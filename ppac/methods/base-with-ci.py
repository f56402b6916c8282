"""The base model with PPAC's inference and nothing of its training: s = r + gamma p + beta g.

A control for PPAC: what that is above this, its learned factors are worth.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from ppac.core.config import Section
from ppac.scoring.method import Batch, Method, Shared, bpr
from ppac.scoring.model import Model


class Config(Section):
    pass


class Net(Method):
    neutral: Mapping[str, float] = {"gamma": 0.0, "beta": 0.0}
    personal = frozenset({"gamma"})

    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        super().__init__(model, l2)

    def loss(self, batch: Batch) -> Tensor:
        rep, ego = self.rows(batch)
        positive, negative = self.model.pair(rep.users, rep.items)
        return bpr(positive, negative) + self.regulariser(ego)

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        assert parts is not None
        return parts + (weights["gamma"] * pp + weights["beta"] * gp)

    def added(self, gp: Tensor, weights: Mapping[str, float]) -> Tensor:
        return weights["beta"] * gp
