"""DICE: interest and conformity as two copies of the base model (Zheng et al., 2021).

With r = r_int + r_con, b(x) = softplus(-x), Δ = positive - negative, and O2 the triples whose
negative is more popular than the positive, O1 those where it is less,

    L = mean b(Δr) + α mean 1[O2] b(Δr_int) + α mean (1[O2] b(-Δr_con) + 1[O1] b(Δr_con)) + β D.

Choosing something unpopular shows interest; choosing something popular may be conformity. D
keeps the copies apart: it is their distance correlation, or less their mean squared or absolute
difference. α and the sampler's margin fade from epoch to epoch.

The official code puts ties into O1, takes four negatives for each positive, all of a batch's
users and items for D, and a sampler that stops if a pool is empty; it also trains on some
interactions drawn evenly over items.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from ppac.core.config import Section
from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.ingredients.distance_correlation import distance_correlation
from ppac.ingredients.popularity_sampling import PopularitySampler
from ppac.scoring.gather import take
from ppac.scoring.method import Batch, Method, Rows, Shared, bpr, rows_under
from ppac.scoring.model import Model


class Config(Section):
    dims: Literal["halves", "double"]
    alpha: float = Field(ge=0)
    independence: float = Field(ge=0)  # β above, which is another weight elsewhere
    distance: Literal["dcor", "l2", "l1"]
    rows: int = Field(gt=1)
    margin: float = Field(ge=0)
    pool: int = Field(ge=0)
    decay: float = Field(gt=0, le=1)
    rank_by: Literal["both", "interest"]


class Net(Method):
    """The base model is the interest copy."""

    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        interest, conformity = copies(model, config.dims)
        super().__init__(interest, l2)
        self.conformity = conformity
        self.config = config
        self.shared = shared
        self.counts = nn.Buffer(torch.from_numpy(shared.train.item_counts), persistent=False)
        self.fade = 1.0

    def start_epoch(self, epoch: int) -> None:
        self.fade = self.config.decay ** (epoch - 1)

    @property
    def alpha(self) -> float:
        return self.config.alpha * self.fade

    @property
    def margin(self) -> float:
        return self.config.margin * self.fade

    @cached_property
    def sampler(self) -> PopularitySampler:
        return PopularitySampler(self.shared.train)

    def negatives(
        self,
        train: Interactions,
        users: np.ndarray,
        positives: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        return self.sampler.sample(users, positives, self.margin, self.config.pool, rng)

    def loss(self, batch: Batch) -> Tensor:
        rep, ego = self.rows(batch)
        other_rep, other_ego = rows_under(self.conformity, self.conformity.rep(), batch)
        interest = self.model.pair(rep.users, rep.items)
        conformity = self.conformity.pair(other_rep.users, other_rep.items)
        causes = self._causes(batch, interest, conformity)
        loss = bpr(*(interest + conformity)) + self.alpha * causes
        if self.config.independence:
            loss = loss + self.config.independence * self._dependence(batch, rep, other_rep)
        return loss + self.regulariser(ego) + self.regulariser(other_ego)

    def _causes(self, batch: Batch, interest: Tensor, conformity: Tensor) -> Tensor:
        """What only one of the copies is to explain, given scores (2, B); means over all triples.

        A less popular positive was chosen out of interest and against conformity.
        """
        positive, negative = self.counts[batch.positives], self.counts[batch.negatives]
        against, along = (negative > positive).float(), (negative < positive).float()
        return (
            bpr(interest[0], interest[1], against)
            + bpr(conformity[1], conformity[0], against)
            + bpr(conformity[0], conformity[1], along)
        )

    def _dependence(self, batch: Batch, interest: Rows, conformity: Rows) -> Tensor:
        """D over some of the batch's users plus D over some of its items, each taken once.

        The batch is shuffled, so its first ones are as good as any.
        """
        most, half = self.config.rows, self.config.rows // 2
        users = once(batch.users[:most])
        items = once(torch.cat([batch.positives[:half], batch.negatives[:half]]))
        pairs = (
            [take(rows.users[:most], users) for rows in (interest, conformity)],
            [take(rows.items[:, :half].flatten(0, 1), items) for rows in (interest, conformity)],
        )
        return torch.stack([dependence(self.config.distance, *pair) for pair in pairs]).sum()

    def parts(self, users: Tensor, items: slice) -> Tensor:
        """Both copies' scores, or the interest alone."""
        score = super().parts(users, items)
        if self.config.rank_by == "interest":
            return score
        left, right = self.once("conformity", self.conformity.rep)
        return score + self.conformity.block(left[users], right[items])


def copies(model: Model, dims: str) -> tuple[Model, Model]:
    """Interest and conformity, together as wide as the model or twice that."""
    if dims == "double":
        return model, model.another(model.dim)
    if model.dim % 2:
        raise Problem(f"params.yaml: 'dice.dims' cannot be halves of a 'dim' of {model.dim}.")
    return model.another(model.dim // 2), model.another(model.dim // 2)


def once(ids: Tensor) -> Tensor:
    """Where each of the ids is first."""
    first = np.unique(ids.cpu().numpy(), return_index=True)[1]
    return torch.from_numpy(first).to(ids.device)


def dependence(distance: str, x: Tensor, y: Tensor) -> Tensor:
    """To be minimised: a correlation, or the opposite of a distance."""
    if distance == "dcor":
        return distance_correlation(x, y)
    apart = x - y
    return -(apart.square() if distance == "l2" else apart.abs()).mean()
