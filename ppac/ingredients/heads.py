"""Networks that read popularity off representations: f_PP for pairs, f_GP for items."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ppac.scoring.gather import dot
from ppac.scoring.perceptron import hinges


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


class ItemHead(nn.Module):
    """f_GP: a perceptron over an item."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, hidden), nn.LeakyReLU(), nn.Linear(hidden, 1))

    def forward(self, items: Tensor) -> Tensor:
        return self.layers(items).squeeze(-1)
