"""PPAC: personal-popularity-aware counterfactual inference (the paper, section 3).

Training multiplies the base score by learned popularity factors,

    y_ui = sigma(f_PP(u, i)) sigma(f_GP(i)) r_ui,

and regresses the factors on observed popularity. Inference adds the observed popularity with
weights of its own, which training never sees (equation 12):

    s_ui = y_ui + gamma p_ui + beta g_i.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from ppac.core.config import Section
from ppac.scoring.method import Batch, Method, Shared, bpr
from ppac.scoring.model import Model


class Config(Section):
    alpha: float = Field(ge=0)
    head: Literal["mlp", "towers"]
    hidden: int = Field(gt=0)
    inputs: Literal["rep", "ego"]
    regression: Literal["observed", "sampled"]


class Net(Method):
    neutral: Mapping[str, float] = {"gamma": 0.0, "beta": 0.0}

    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        super().__init__(model, l2)
        self.config = config
        self.shared = shared
        head = JointHead if config.head == "mlp" else TowerHead
        self.f_pp: JointHead | TowerHead = head(model.dim, config.hidden)
        self.f_gp = nn.Sequential(
            nn.Linear(model.dim, config.hidden), nn.LeakyReLU(), nn.Linear(config.hidden, 1)
        )

    @cached_property
    def p(self) -> Tensor:
        """Observed personal popularity of every train pair."""
        train = self.shared.train
        p = self.shared.popularity.lookup(train.users, train.items)
        return torch.from_numpy(p).to(self.model.user_table.device)

    @cached_property
    def g(self) -> Tensor:
        """Observed global popularity of every item."""
        return torch.from_numpy(self.shared.popularity.gp).to(self.model.user_table.device)

    def loss(self, batch: Batch) -> Tensor:
        reps = self.rep()
        inputs = reps if self.config.inputs == "rep" else self.model.ego()
        u, i, j = batch.users, batch.positives, batch.negatives
        g_hat = torch.sigmoid(self.f_gp(inputs[1]).squeeze(-1))
        p_pos = torch.sigmoid(self.f_pp.pair(inputs[0][u], inputs[1][i]))
        p_neg = torch.sigmoid(self.f_pp.pair(inputs[0][u], inputs[1][j]))
        positive = p_pos * g_hat[i] * self.model.pair(reps[0][u], reps[1][i])
        negative = p_neg * g_hat[j] * self.model.pair(reps[0][u], reps[1][j])
        regression = self._regression(batch, p_pos, p_neg, g_hat)
        return bpr(positive, negative) + self.config.alpha * regression + self.regulariser(batch)

    def _regression(self, batch: Batch, p_pos: Tensor, p_neg: Tensor, g_hat: Tensor) -> Tensor:
        """L_P + L_G: on observed pairs and all items, or as released on the sampled ones."""
        on_positives = (self.p[batch.pairs] - p_pos).square().mean()
        if self.config.regression == "observed":
            return on_positives + (self.g - g_hat).square().mean()
        u, j = batch.users.cpu().numpy(), batch.negatives.cpu().numpy()
        p_of_negatives = torch.from_numpy(self.shared.popularity.lookup(u, j)).to(p_neg.device)
        on_negatives = (p_of_negatives - p_neg).square().mean()
        off = (self.g - g_hat).square()
        on_items = off[batch.positives].mean() + off[batch.negatives].mean()
        return 0.5 * (on_positives + on_negatives + on_items)

    def parts(self, users: Tensor) -> Tensor:
        """The factual score: sigma(f_PP) sigma(f_GP) r."""
        reps = self.rep()
        inputs = reps if self.config.inputs == "rep" else self.model.ego()
        p_hat = torch.sigmoid_(self.f_pp.block(inputs[0][users], inputs[1]))
        g_hat = torch.sigmoid(self.f_gp(inputs[1]).squeeze(-1))
        return p_hat.mul_(g_hat).mul_(self.model.block(reps[0][users], reps[1]))

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        assert parts is not None
        return parts + weights["gamma"] * pp + weights["beta"] * gp


class JointHead(nn.Module):
    """The paper's f_PP: a perceptron over user and item together.

    Its first layer is split, W [u ; i] = W_u u + W_i i, so that all items share their half.
    """

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.user_half = nn.Linear(dim, hidden)
        self.item_half = nn.Linear(dim, hidden, bias=False)
        self.last = nn.Linear(hidden, 1)

    def pair(self, users: Tensor, items: Tensor) -> Tensor:
        hidden = torch.relu(self.user_half(users) + self.item_half(items))
        return self.last(hidden).squeeze(-1)

    def block(self, users: Tensor, items: Tensor) -> Tensor:
        """(B, I), one hidden unit at a time: a (B, I, hidden) tensor would not fit."""
        left, right = self.user_half(users), self.item_half(items).T.contiguous()
        total = self.last.bias.expand(len(users), len(items)).clone()
        for unit, weight in enumerate(self.last.weight[0]):
            total.addcmul_(torch.relu_(left[:, unit, None] + right[unit]), weight)
        return total


class TowerHead(nn.Module):
    """The release's f_PP: one tower for both sides, and their inner product."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(dim, hidden), nn.LeakyReLU(), nn.Linear(hidden, dim))

    def pair(self, users: Tensor, items: Tensor) -> Tensor:
        return (self.tower(users) * self.tower(items)).sum(-1)

    def block(self, users: Tensor, items: Tensor) -> Tensor:
        return self.tower(users) @ self.tower(items).T
