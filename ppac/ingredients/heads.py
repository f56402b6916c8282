"""Networks that read popularity off representations: f_PP for pairs, f_GP for items."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from ppac.scoring.gather import dot
from ppac.scoring.paired import paired
from ppac.scoring.perceptron import hinges

LEAK = 0.01


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

    def items_side(self, items: Tensor) -> Tensor:
        """What ``block`` wants of items (n, d), whoever the users are: (h, n)."""
        return self.item_half(items).T.contiguous()

    def block(self, users: Tensor, side: Tensor) -> Tensor:
        return hinges(self.user_half(users), side, self.last.weight[0], self.last.bias)


class TowerHead(nn.Module):
    """The release's f_PP: one tower for both sides, and their inner product."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(dim, hidden), nn.LeakyReLU(), nn.Linear(hidden, dim))

    def pair(self, users: Tensor, items: Tensor) -> Tensor:
        return dot(self.tower(users), self.tower(items))

    def items_side(self, items: Tensor) -> Tensor:
        return self.tower(items).T.contiguous()

    def block(self, users: Tensor, side: Tensor) -> Tensor:
        return self.tower(users) @ side


class ItemHead(nn.Module):
    """f_GP: a perceptron over an item."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.first = nn.Linear(dim, hidden)
        self.last = nn.Linear(hidden, 1)

    def forward(self, items: Tensor) -> Tensor:
        return self.last(leaky_relu(self.first(items), LEAK)).squeeze(-1)


def both(f_pp: JointHead, f_gp: ItemHead, users: Tensor, items: Tensor) -> Tensor:
    """(..., B, 2): f_PP of pairs and f_GP of items, as one perceptron with the units of both."""
    if users.device.type != "cpu":
        return torch.stack([f_pp.pair(users, items), f_gp(items)], dim=-1)
    half, first = f_pp.user_half, f_gp.first
    of_items = torch.cat([f_pp.item_half.weight, first.weight])
    bias = torch.cat([half.bias, first.bias])
    last = torch.block_diag(f_pp.last.weight, f_gp.last.weight)
    last_bias = torch.cat([f_pp.last.bias, f_gp.last.bias])
    leaks = torch.cat([torch.zeros_like(half.bias), torch.full_like(first.bias, LEAK)])
    return paired(users, items, [half.weight, of_items, bias, last, last_bias], leaks)
