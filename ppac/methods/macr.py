"""MACR: how far a user and an item alone explain an interaction (Wei et al., 2021).

Two heads see one side each, y_u = w_u z_u and y_i = w_i z_i. Training fuses them with the score,

    y_ui = r_ui sigma(y_i) sigma(y_u),

and fits y_ui, y_i and y_u to whether the interaction happened. Inference takes away what would
remain if the match were the same for all, a reference score c:

    s_ui = (r_ui - c) sigma(y_i) sigma(y_u).

The official code multiplies scores (B,) with heads (B, 1), so that every score of a batch meets
every head: that is ``pairing: batch``. It also stops on the test set and adds 1e-10 in logarithms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import softplus

from ppac.core.config import Section
from ppac.scoring.method import Batch, Method, Shared, check_pairs
from ppac.scoring.model import Model


class Config(Section):
    item_weight: float = Field(ge=0)
    user_weight: float = Field(ge=0)
    pairing: Literal["elementwise", "batch"]


class Net(Method):
    neutral: Mapping[str, float] = {"c": 0.0}

    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        super().__init__(model, l2)
        self.config = config
        self.item_head = nn.Linear(model.dim, 1, bias=False)
        self.user_head = nn.Linear(model.dim, 1, bias=False)

    def loss(self, batch: Batch) -> Tensor:
        rep, ego = self.rows(batch)
        of_items = self.item_head(rep.items).squeeze(-1)
        of_users = self.user_head(rep.users).squeeze(-1)
        score = self.model.pair(rep.users, rep.items)
        check_pairs(*score, *of_items, of_users)
        factor = torch.sigmoid(of_items) * torch.sigmoid(of_users)
        return (
            bce(*self.fuse(score, factor))
            + self.config.item_weight * bce(*of_items)
            + self.config.user_weight * bce(of_users, of_users)
            + self.regulariser(ego)
        )

    def fuse(self, score: Tensor, factor: Tensor) -> Tensor:
        """y (2, B) from both (2, B); under ``batch`` y[:, a, b] is b's score with a's factor."""
        if self.config.pairing == "batch":
            return score[:, None, :] * factor[:, :, None]
        return score * factor

    def parts(self, users: Tensor, items: slice) -> Tensor:
        """r, and sigma(y_i) sigma(y_u): the latter is positive and cannot reorder one's items."""
        left, right = self.rep()
        factor = torch.sigmoid(self.user_head(left[users])) * torch.sigmoid(
            self.item_head(right[items]).squeeze(-1)
        )
        return torch.stack([super().parts(users, items), factor])

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        assert parts is not None
        score, factor = parts
        return (score - weights["c"]).mul_(factor)


def bce(positive: Tensor, negative: Tensor) -> Tensor:
    """Cross-entropy of logits, those of positives against 1 and those of negatives against 0."""
    return softplus(-positive).mean() + softplus(negative).mean()
