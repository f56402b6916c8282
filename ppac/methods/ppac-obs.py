"""PPAC-Obs (the paper's table 4): observed popularity in the place of learned factors, y = p g r.

The paper does not say whether p g or sigma(p) sigma(g) is meant. With p g a pair whose item none
of the neighbours has scores 0 and teaches nothing: most random negatives are such pairs, and on
Gowalla a fifth of the positives. ``floor`` is the least p that counts instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from ppac.core.config import Section
from ppac.scoring.method import Batch, Method, Shared, bpr
from ppac.scoring.model import Model


class Config(Section):
    form: Literal["product", "sigmoid"]
    floor: float = Field(ge=0)


class Net(Method):
    neutral: Mapping[str, float] = {"gamma": 0.0, "beta": 0.0}
    personal = frozenset({"gamma"})

    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        super().__init__(model, l2)
        self.config = config
        self.shared = shared
        train = shared.train
        p = shared.popularity.lookup(train.users, train.items)
        self.p = nn.Buffer(torch.from_numpy(p), persistent=False)
        self.g = nn.Buffer(torch.from_numpy(shared.popularity.gp), persistent=False)

    def factor(self, p: Tensor, g: Tensor) -> Tensor:
        if self.config.form == "sigmoid":
            return torch.sigmoid(p) * torch.sigmoid(g)
        return p.clamp(min=self.config.floor) * g

    def loss(self, batch: Batch) -> Tensor:
        rep, ego = self.rows(batch)
        positive, negative = self.model.pair(rep.users, rep.items)
        u, j = batch.users.cpu().numpy(), batch.negatives.cpu().numpy()
        p = torch.from_numpy(self.shared.popularity.lookup(u, j)).to(positive.device)
        positive = self.factor(self.p[batch.pairs], self.g[batch.positives]) * positive
        negative = self.factor(p, self.g[batch.negatives]) * negative
        return bpr(positive, negative) + self.regulariser(ego)

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        assert parts is not None
        return self.factor(pp, gp) * parts + (weights["gamma"] * pp + weights["beta"] * gp)
