"""What a debiasing method is to training and inference: a module around a base model.

A method is a file ``ppac/methods/<name>.py`` with its settings, ``Config``, and a ``Net``. It says

- what is minimised: ``loss``, from the rows a batch needs (``rows``), with ``bpr`` and
  ``regulariser`` at hand; further parameters are those of any torch module;
- which negatives are drawn: ``negatives``, uniform unless it says otherwise, and ``start_epoch``
  for what changes while training;
- how it ranks: ``parts``, the base model's scores unless it says otherwise, and ``combine`` at
  the inference-only weights it names in ``neutral`` (see ``ppac/scoring/scorer.py``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity
from ppac.scoring.gather import square_sum, take
from ppac.scoring.model import Model
from ppac.scoring.sampling import sample_negatives
from ppac.scoring.scorer import Scorer

T = TypeVar("T")


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
    """What a method may look at: train, its popularity and its neighbours, nothing held out."""

    train: Interactions
    popularity: Popularity
    neighbours: Path | None = None  # a table, read by the few that want more than popularity


class Method(nn.Module, Scorer):
    """A base model with whatever a method adds to its loss, scores and parameters."""

    def __init__(self, model: Model, l2: float) -> None:
        super().__init__()
        self.model = model
        self.l2 = l2
        self._kept: dict[str, Any] = {}

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What ranking needs for all users: outside training it is made for the first block."""
        if self.training:
            return make()
        if name not in self._kept:
            self._kept[name] = make()
        kept: T = self._kept[name]
        return kept

    def train(self, mode: bool = True) -> Self:
        self._kept.clear()  # the weights may have changed since
        return super().train(mode)

    def rep(self) -> tuple[Tensor, Tensor]:
        """The base model's representations."""
        return self.once("rep", self.model.rep)

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """The scalar to minimise."""

    def start_epoch(self, epoch: int) -> None:
        """Called before each epoch, counted from 1: for what changes while training."""

    def negatives(
        self,
        train: Interactions,
        users: np.ndarray,
        positives: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """An item for each pair that its user does not have in train."""
        return sample_negatives(train, users, rng)

    def parts(self, users: Tensor, items: slice) -> Tensor:
        """The base model's scores."""
        left, right = self.rep()
        return self.model.block(left[users], right[items])

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        """Scores at the given inference-only weights; without any, the parts themselves."""
        assert parts is not None
        return parts

    def rows(self, batch: Batch, rep: tuple[Tensor, Tensor] | None = None) -> tuple[Rows, Rows]:
        """The batch's representations and its embeddings; the same where the model has only one.

        A method that needs all representations as well hands in ``rep``: they are computed once.
        """
        return rows_under(self.model, rep or self.rep(), batch)

    def regulariser(self, ego: Rows) -> Tensor:
        """λ ½ mean(‖e_u‖² + ‖e_i‖² + ‖e_j‖²) over the batch's embeddings, for every method."""
        squares = square_sum(ego.users) + square_sum(ego.items)
        return self.l2 * 0.5 / len(ego.users) * squares


def rows_under(model: Model, rep: tuple[Tensor, Tensor], batch: Batch) -> tuple[Rows, Rows]:
    ego, of_rep = model.ego(), rows_of(rep, batch)
    return of_rep, of_rep if rep[0] is ego[0] else rows_of(ego, batch)


def rows_of(tables: tuple[Tensor, Tensor], batch: Batch) -> Rows:
    users, items = tables
    both = take(items, torch.cat([batch.positives, batch.negatives]))
    return Rows(take(users, batch.users), both.view(2, len(batch.users), -1))


def bpr(positive: Tensor, negative: Tensor, weight: Tensor | None = None) -> Tensor:
    """mean weight softplus(-(r_ui - r_uj)) of scores (B,); without weights, all are 1."""
    check_pairs(positive, negative, *([] if weight is None else [weight]))
    loss = softplus(negative - positive)
    return loss.mean() if weight is None else (weight * loss).mean()


def check_pairs(*scores: Tensor) -> None:
    """Scores of pairs are (B,): a (B, 1) among them would silently make everything (B, B)."""
    shapes = [tuple(score.shape) for score in scores]
    if len(set(shapes)) > 1 or scores[0].dim() != 1:
        raise ValueError(f"scores of pairs must be (B,), all alike: {shapes}")
