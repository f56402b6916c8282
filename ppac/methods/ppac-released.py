"""PPAC as the authors released it, where that differs from the paper.

Heads are towers on the embeddings themselves, popularity is divided by its Euclidean length
(targets and inference), the regression is over sampled pairs, and negatives may be items that
the user has. ``broadcast`` is the release's NCF loss: scores of every pair of the batch meet the
factors of every other, because a (B, 1) met a (B,). docs/methods.md lists all differences.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import softplus

from ppac.core.interactions import Interactions
from ppac.ingredients.factors import FactorConfig, Factored
from ppac.scoring.method import Shared
from ppac.scoring.model import Model

PIECE = 64  # pairs whose scores meet all factors at a time: B x B numbers are never in memory


class Config(FactorConfig):
    broadcast: bool


class Net(Factored):
    neutral: Mapping[str, float] = {"gamma": 0.0, "beta": 0.0}
    personal = frozenset({"gamma"})

    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        super().__init__(model, shared, l2, config)
        self.broadcast = config.broadcast
        popular = shared.popularity
        squares = popular.counts.multiply(popular.counts).sum(axis=1).A1
        length = np.sqrt(squares) / popular.unit  # of each user's p
        scale = 1 / np.where(length > 0, length, 1)
        self.user_scale = nn.Buffer(torch.from_numpy(scale.astype(np.float32)), persistent=False)
        self.item_scale = 1 / float(np.linalg.norm(popular.gp))

    def p_of(self, users: np.ndarray, items: np.ndarray) -> Tensor:
        scale = self.user_scale[torch.from_numpy(users.astype(np.int64))]
        return super().p_of(users, items) * scale

    @cached_property
    def g(self) -> Tensor:
        return super().g * self.item_scale

    def rank(self, factor: Tensor, scores: Tensor) -> Tensor:
        if not self.broadcast:
            return super().rank(factor, scores)
        loss: Tensor = EveryPair.apply(factor, scores)
        return loss

    def negatives(
        self,
        train: Interactions,
        users: np.ndarray,
        positives: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Any item, the user's own among them."""
        return rng.integers(train.n_items, size=len(users), dtype=np.int32)

    def parts(self, users: Tensor, items: slice) -> Tensor:
        """The factual score, and what turns the user's p into one of length 1."""
        score = super().parts(users, items)
        return torch.stack([score, self.user_scale[users][:, None].expand_as(score)])

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        assert parts is not None
        gamma, beta = weights["gamma"], weights["beta"] * self.item_scale
        return parts[0] + (gamma * parts[1] * pp + beta * gp)


class EveryPair(torch.autograd.Function):
    """mean over a, b of softplus(x_bj r_aj - x_bi r_ai), of factors x and scores r, both (2, B).

    The margins are a product of matrices of rank 2, and so are the gradients, with the sigmoid of
    the margins between them. Both are found in one pass, while the margins are at hand.
    """

    @staticmethod
    def forward(ctx: Any, factor: Tensor, scores: Tensor) -> Tensor:
        sign = factor.new_tensor([[-1.0], [1.0]])  # positives come first
        signed, pairs = factor * sign, scores.shape[1] ** 2
        total, to_factor, to_scores = factor.new_zeros(()), torch.zeros_like(factor), []
        for some in scores.split(PIECE, dim=1):
            margin = some.T @ signed
            total += softplus(margin).sum()
            pull = margin.sigmoid_()
            to_factor += some @ pull
            to_scores.append(signed @ pull.T)
        ctx.save_for_backward(to_factor * sign / pairs, torch.cat(to_scores, 1) / pairs)
        return total / pairs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        return tuple(gradients[0] * saved for saved in ctx.saved_tensors)
