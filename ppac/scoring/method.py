"""What a debiasing method is to training and inference: a module around a base model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity
from ppac.scoring.model import Model


@dataclass(frozen=True)
class Batch:
    """Triples: ``users`` have ``positives`` and not ``negatives``; all (B,) int64.

    ``pairs`` says which train pairs the positives are, for what is precomputed per pair.
    """

    users: Tensor
    positives: Tensor
    negatives: Tensor
    pairs: Tensor


@dataclass(frozen=True)
class Shared:
    """What a method may look at while training: train and its popularity, nothing held out."""

    train: Interactions
    popularity: Popularity


class Method(nn.Module, ABC):
    """A base model with whatever a method adds to its loss, scores and parameters."""

    neutral: Mapping[str, float] = {}

    def __init__(self, model: Model, l2: float) -> None:
        super().__init__()
        self.model = model
        self.l2 = l2
        self._rep: tuple[Tensor, Tensor] | None = None

    def rep(self) -> tuple[Tensor, Tensor]:
        """The base model's representations; outside training computed once for all blocks."""
        if self.training:
            return self.model.rep()
        if self._rep is None:
            self._rep = self.model.rep()
        return self._rep

    def train(self, mode: bool = True) -> Self:
        self._rep = None  # the weights may have changed since
        return super().train(mode)

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """The scalar to minimise."""

    @abstractmethod
    def parts(self, users: Tensor) -> Tensor:
        """See ``ppac/scoring/scorer.py``."""

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        """Scores at the given inference-only weights; without any, the parts themselves."""
        assert parts is not None
        return parts

    def regulariser(self, batch: Batch) -> Tensor:
        """λ ½ mean(‖e_u‖² + ‖e_i‖² + ‖e_j‖²) over the batch's embeddings, for every method."""
        users, items = self.model.ego()
        squares = [
            users[batch.users].square().sum(-1),
            items[batch.positives].square().sum(-1),
            items[batch.negatives].square().sum(-1),
        ]
        return self.l2 * 0.5 * torch.stack(squares).sum(0).mean()


def bpr(positive: Tensor, negative: Tensor) -> Tensor:
    """mean softplus(-(r_ui - r_uj)) of scores (B,).

    The shapes are checked because a (B, 1) against a (B,) silently becomes (B, B).
    """
    if positive.shape != negative.shape or positive.dim() != 1:
        raise ValueError(f"scores of pairs must be (B,): {positive.shape}, {negative.shape}")
    return softplus(negative - positive).mean()
