"""PPAC-Pred (the paper's table 4): inference adds the learned popularity, not the observed one."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ppac.ingredients.factors import Factored
from ppac.scoring.variant import Variant as Base


class Variant(Base):
    neutral: Mapping[str, float] = {"gamma": 0.0, "beta": 0.0}

    def parts(self, users: Tensor, items: slice) -> Tensor:
        """The factual score and both learned factors."""
        assert isinstance(self.trained, Factored)
        score = self.trained.parts(users, items)
        p_hat = self.trained.p_hat(users, items)
        return torch.stack([score, p_hat, self.trained.g_hat(items).expand_as(score)])

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        assert parts is not None
        return parts[0] + (weights["gamma"] * parts[1] + weights["beta"] * parts[2])
