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
from ppac.scoring.gather import dot
from ppac.scoring.method import Batch, Method, Shared, bpr
from ppac.scoring.model import Model
from ppac.scoring.perceptron import hinges


class Config(Section):
    alpha: float = Field(ge=0)
    head: Literal["mlp", "towers"]
    hidden: int = Field(gt=0)
    inputs: Literal["rep", "ego"]
    regression: Literal["observed", "sampled"]


class Net(Method):
    neutral: Mapping[str, float] = {"gamma": 0.0, "beta": 0.0}
    personal = frozenset({"gamma"})

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
        rep, ego = self.rows(batch)
        inputs = rep if self.config.inputs == "rep" else ego
        p_hat = torch.sigmoid(self.f_pp.pair(inputs.users, inputs.items))
        g_hat = self.g_hat(inputs.items)
        positive, negative = p_hat * g_hat * self.model.pair(rep.users, rep.items)
        regression = self._regression(batch, p_hat, g_hat)
        return bpr(positive, negative) + self.config.alpha * regression + self.regulariser(ego)

    def g_hat(self, items: Tensor) -> Tensor:
        return torch.sigmoid(self.f_gp(items).squeeze(-1))

    def _regression(self, batch: Batch, p_hat: Tensor, g_hat: Tensor) -> Tensor:
        """L_P + L_G: on observed pairs and all items, or as released on the sampled ones.

        Of all items a step sees its negatives: drawn uniformly, they estimate the mean.
        """
        on_positives = (self.p[batch.pairs] - p_hat[0]).square().mean()
        of_negatives = (self.g[batch.negatives] - g_hat[1]).square().mean()
        if self.config.regression == "observed":
            return on_positives + of_negatives
        u, j = batch.users.cpu().numpy(), batch.negatives.cpu().numpy()
        p_of_negatives = torch.from_numpy(self.shared.popularity.lookup(u, j)).to(p_hat.device)
        on_negatives = (p_of_negatives - p_hat[1]).square().mean()
        of_positives = (self.g[batch.positives] - g_hat[0]).square().mean()
        return 0.5 * (on_positives + on_negatives + of_positives + of_negatives)

    def parts(self, users: Tensor, items: slice) -> Tensor:
        """The factual score: sigma(f_PP) sigma(f_GP) r."""
        reps = self.rep()
        inputs = reps if self.config.inputs == "rep" else self.model.ego()
        p_hat = torch.sigmoid_(self.f_pp.block(inputs[0][users], inputs[1][items]))
        score = self.model.block(reps[0][users], reps[1][items])
        return p_hat.mul_(self.g_hat(inputs[1][items])).mul_(score)

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        assert parts is not None
        return parts + (weights["gamma"] * pp + weights["beta"] * gp)

    def added(self, gp: Tensor, weights: Mapping[str, float]) -> Tensor:
        return weights["beta"] * gp


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
        hidden = torch.relu_(self.user_half(users) + self.item_half(items))
        return self.last(hidden).squeeze(-1)

    def block(self, users: Tensor, items: Tensor) -> Tensor:
        return hinges(
            self.user_half(users), self.item_half(items), self.last.weight[0], self.last.bias
        )


class TowerHead(nn.Module):
    """The release's f_PP: one tower for both sides, and their inner product."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(dim, hidden), nn.LeakyReLU(), nn.Linear(hidden, dim))

    def pair(self, users: Tensor, items: Tensor) -> Tensor:
        return dot(self.tower(users), self.tower(items))

    def block(self, users: Tensor, items: Tensor) -> Tensor:
        return self.tower(users) @ self.tower(items).T
