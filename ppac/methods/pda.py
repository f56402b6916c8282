"""PDA: PD's training, with popularity put back into the ranking as far as validation wants it.

    s_ui = ELU'(r_ui) π_i^exponent

Without timestamps this is PDG-A of the paper: π is train's popularity. The official code forecasts
that of the test period from the last ones, and ranks with the exponent it trained with.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from pydantic import Field
from torch import Tensor

from ppac.core.config import Section
from ppac.ingredients.deconfounding import Deconfounded
from ppac.scoring.method import Shared
from ppac.scoring.model import Model


class Config(Section):
    power: float = Field(ge=0)


class Net(Deconfounded):
    neutral: Mapping[str, float] = {"exponent": 0.0}

    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        super().__init__(model, shared, l2, config.power)
        popular = shared.popularity
        self.most = float(popular.item_counts.max())
        self.per_gp = self.most / float(popular.gp.max())

    def parts(self, users: Tensor, items: slice) -> Tensor:
        """log ELU'(r): the same ranking, and far below 0 scores still differ."""
        score = super().parts(users, items)
        return torch.log1p(torch.relu(score)) + score.clamp(max=0)

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        assert parts is not None
        return parts + weights["exponent"] * self.log_popularity(gp)

    def log_popularity(self, gp: Tensor) -> Tensor:
        """log π of items, from their global popularity: their share of train, whatever its unit."""
        return torch.log((gp * self.per_gp + 1) / (self.most + 1))
