"""NCF as the PPAC release has it: a perceptron over both embeddings, with no product branch."""

from __future__ import annotations

import itertools
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from ppac.core.config import Section
from ppac.core.interactions import Interactions
from ppac.scoring.model import Model
from ppac.scoring.paired import paired
from ppac.scoring.perceptron import layers, through


class Config(Section):
    dim: int = Field(gt=0)
    hidden: list[Annotated[int, Field(gt=0)]] = Field(min_length=1)


class Net(Model):
    """r = MLP([z_u ; z_i]), ReLU between the layers and nothing after the last.

    The first layer is split, W [u ; i] = W_u u + W_i i: ranking all items then shares the
    item half between users.
    """

    def __init__(self, train: Interactions, config: Config) -> None:
        super().__init__(train, config)
        first = nn.Linear(2 * config.dim, config.hidden[0])  # one layer, for its initial scale
        self.user_half = nn.Linear(config.dim, config.hidden[0])
        self.item_half = nn.Linear(config.dim, config.hidden[0], bias=False)
        with torch.no_grad():
            self.user_half.weight.copy_(first.weight[:, : config.dim])
            self.user_half.bias.copy_(first.bias)
            self.item_half.weight.copy_(first.weight[:, config.dim :])
        sizes = [*config.hidden, 1]
        self.rest = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))

    def pair(self, users: Tensor, items: Tensor) -> Tensor:
        if users.device.type != "cpu" or users.dtype != torch.float32:
            return through(self.user_half(users) + self.item_half(items), list(self.rest))
        first = (self.user_half.weight, self.item_half.weight, self.user_half.bias)
        leaks = torch.zeros(len(self.user_half.bias))
        return paired(users, items, [*first, *self.rest.parameters()], leaks).squeeze(-1)

    def block(self, users: Tensor, items: Tensor) -> Tensor:
        return layers(self.user_half(users), self.item_half(items), list(self.rest))
