"""What a debiasing method is to training and inference: a module around a base model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity
from ppac.scoring.gather import square_sum, take
from ppac.scoring.model import Model
from ppac.scoring.scorer import Scorer


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
class Rows:
    """What the model makes of a batch: users (B, d), and items (2, B, d), positives first."""

    users: Tensor
    items: Tensor


@dataclass(frozen=True)
class Shared:
    """What a method may look at while training: train and its popularity, nothing held out."""

    train: Interactions
    popularity: Popularity


class Method(nn.Module, Scorer):
    """A base model with whatever a method adds to its loss, scores and parameters."""

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
    def parts(self, users: Tensor, items: slice) -> Tensor:
        """See ``ppac/scoring/scorer.py``."""

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        """Scores at the given inference-only weights; without any, the parts themselves."""
        assert parts is not None
        return parts

    def rows(self, batch: Batch) -> tuple[Rows, Rows]:
        """The batch's representations and its embeddings; the same where the model has only one."""
        ego, rep = self.model.ego(), self.rep()
        of_rep = rows_of(rep, batch)
        return of_rep, of_rep if rep[0] is ego[0] else rows_of(ego, batch)

    def regulariser(self, ego: Rows) -> Tensor:
        """λ ½ mean(‖e_u‖² + ‖e_i‖² + ‖e_j‖²) over the batch's embeddings, for every method."""
        squares = square_sum(ego.users) + square_sum(ego.items)
        return self.l2 * 0.5 / len(ego.users) * squares


def rows_of(tables: tuple[Tensor, Tensor], batch: Batch) -> Rows:
    users, items = tables
    both = take(items, torch.cat([batch.positives, batch.negatives]))
    return Rows(take(users, batch.users), both.view(2, len(batch.users), -1))


def bpr(positive: Tensor, negative: Tensor) -> Tensor:
    """mean softplus(-(r_ui - r_uj)) of scores (B,).

    The shapes are checked because a (B, 1) against a (B,) silently becomes (B, B).
    """
    if positive.shape != negative.shape or positive.dim() != 1:
        raise ValueError(f"scores of pairs must be (B,): {positive.shape}, {negative.shape}")
    return softplus(negative - positive).mean()
