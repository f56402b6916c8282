"""Training with learned popularity factors (the paper, section 3): PPAC, and what it ablates.

    y_ui = sigma(f_PP(u, i)) sigma(f_GP(i)) r_ui

is ranked by BPR, and the factors are regressed on observed popularity. A method that leaves a
factor out says so in ``factors``: it is 1 then, and not regressed.
"""

from __future__ import annotations

from functools import cached_property, reduce
from operator import add, mul
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ppac.core.config import Section
from ppac.ingredients.heads import ItemHead, JointHead, TowerHead, both
from ppac.scoring.method import Batch, Method, Shared, bpr
from ppac.scoring.model import Model


class FactorConfig(Section):
    alpha: float = Field(ge=0)
    head: Literal["mlp", "towers"]
    hidden: int = Field(gt=0)
    inputs: Literal["rep", "ego"]
    regression: Literal["observed", "sampled"]


class Factored(Method):
    factors = frozenset({"personal", "global"})
    f_pp: JointHead | TowerHead
    f_gp: ItemHead

    def __init__(self, model: Model, shared: Shared, l2: float, config: FactorConfig) -> None:
        super().__init__(model, l2)
        self.config = config
        self.shared = shared
        if "personal" in self.factors:
            head = JointHead if config.head == "mlp" else TowerHead
            self.f_pp = head(model.dim, config.hidden)
        if "global" in self.factors:
            self.f_gp = ItemHead(model.dim, config.hidden)

    @cached_property
    def p(self) -> Tensor:
        """Observed personal popularity of every train pair."""
        train = self.shared.train
        return self.p_of(train.users, train.items)

    def p_of(self, users: np.ndarray, items: np.ndarray) -> Tensor:
        p = self.shared.popularity.lookup(users, items)
        return torch.from_numpy(p).to(self.model.user_table.device)

    @cached_property
    def g(self) -> Tensor:
        """Observed global popularity of every item."""
        return torch.from_numpy(self.shared.popularity.gp).to(self.model.user_table.device)

    def loss(self, batch: Batch) -> Tensor:
        rep, ego = self.rows(batch)
        inputs = rep if self.config.inputs == "rep" else ego
        factors = self.factors_of(inputs.users, inputs.items)
        error = {"personal": self.personal_error, "global": self.global_error}
        regression = reduce(add, (error[name](batch, factors[name]) for name in factors))
        factor = reduce(mul, factors.values())
        ranked = self.rank(factor, self.model.pair(rep.users, rep.items))
        return ranked + self.config.alpha * regression + self.regulariser(ego)

    def factors_of(self, users: Tensor, items: Tensor) -> dict[str, Tensor]:
        """The learned factors of pairs, by name: users (B, d) and items (2, B, d) to (2, B)."""
        if len(self.factors) == 2 and isinstance(self.f_pp, JointHead):
            p_hat, g_hat = torch.sigmoid(both(self.f_pp, self.f_gp, users, items)).unbind(-1)
            return {"personal": p_hat, "global": g_hat}
        found = {}
        if "personal" in self.factors:
            found["personal"] = torch.sigmoid(self.f_pp.pair(users, items))
        if "global" in self.factors:
            found["global"] = torch.sigmoid(self.f_gp(items))
        return found

    def rank(self, factor: Tensor, scores: Tensor) -> Tensor:
        """BPR of the products; both (2, B), positives first."""
        positive, negative = factor * scores
        return bpr(positive, negative)

    def personal_error(self, batch: Batch, p_hat: Tensor) -> Tensor:
        """L_P: on observed pairs, or as released half on them and half on the negatives."""
        on_positives = (self.p[batch.pairs] - p_hat[0]).square().mean()
        if self.config.regression == "observed":
            return on_positives
        p = self.p_of(batch.users.cpu().numpy(), batch.negatives.cpu().numpy())
        return 0.5 * (on_positives + (p - p_hat[1]).square().mean())

    def global_error(self, batch: Batch, g_hat: Tensor) -> Tensor:
        """L_G: over all items, or as released over those of the batch.

        Of all items a step sees its negatives: drawn uniformly, they estimate the mean.
        """
        of_negatives = (self.g[batch.negatives] - g_hat[1]).square().mean()
        if self.config.regression == "observed":
            return of_negatives
        return 0.5 * (of_negatives + (self.g[batch.positives] - g_hat[0]).square().mean())

    def p_hat(self, users: Tensor, items: slice) -> Tensor:
        """Learned personal popularity of users (B,) and items, (B, n)."""
        left, right = self.inputs()
        side = self.once("items' side", lambda: self.f_pp.items_side(right))
        return torch.sigmoid_(self.f_pp.block(left[users], side[:, items]))

    def g_hat(self, items: slice) -> Tensor:
        """Learned global popularity of items, (n,)."""
        return self.once("g_hat", lambda: torch.sigmoid_(self.f_gp(self.inputs()[1])))[items]

    def inputs(self) -> tuple[Tensor, Tensor]:
        return self.rep() if self.config.inputs == "rep" else self.model.ego()

    def parts(self, users: Tensor, items: slice) -> Tensor:
        """The factual score: the factors times r."""
        score = super().parts(users, items)
        if "personal" in self.factors:
            score = self.p_hat(users, items).mul_(score)
        if "global" in self.factors:
            score = score.mul_(self.g_hat(items))
        return score
