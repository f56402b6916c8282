"""A perceptron over pairs of users and items, both ways of autograd in as few passes as it takes.

Torch's own makes a new tensor of all hidden units at every turn; here each layer has one, which
is added to, cut off at zero and, on the way back, masked in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ppac.scoring.perceptron import through


def perceptron(users: Tensor, items: Tensor, first: nn.Linear, rest: Sequence[nn.Module]) -> Tensor:
    """(..., B): relu(users + first(items)) through further linear layers, the last to one number.

    ``users`` (B, h) are the users' half of the first layer, ``items`` (..., B, d) the items
    themselves; ``first`` has no bias.
    """
    if users.device.type != "cpu" or users.dim() != 2:
        return through(users + first(items), rest)
    weights = [parameter for layer in rest for parameter in layer.parameters()]
    result: Tensor = Paired.apply(users, items, first.weight, *weights)
    return result


class Paired(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, users: Tensor, items: Tensor, first: Tensor, *rest: Tensor) -> Tensor:
        weights, biases = rest[::2], rest[1::2]
        hidden = items.reshape(-1, items.shape[-1]) @ first.T
        hidden.view(*items.shape[:-1], len(first)).add_(users)
        units = [hidden.relu_()]
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            units.append(torch.addmm(bias, units[-1], weight.T).relu_())
        ctx.users_shape = users.shape
        ctx.save_for_backward(items, first, *weights, *units)
        return torch.addmm(biases[-1], units[-1], weights[-1].T).view(items.shape[:-1])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        items, first, *saved = ctx.saved_tensors
        weights, units = saved[: len(saved) // 2], saved[len(saved) // 2 :]
        gradient = gradients[0].reshape(-1, 1)
        of_rest: list[Tensor] = []
        for weight, below in zip(reversed(weights), reversed(units), strict=True):
            of_rest = [gradient.T @ below, gradient.sum(0), *of_rest]
            gradient = masked(gradient @ weight, below)
        to_users = gradient.view(*items.shape[:-1], len(first)).sum_to_size(ctx.users_shape)
        to_items = (gradient @ first).view(items.shape)
        of_first = gradient.T @ items.reshape(-1, items.shape[-1])
        return to_users, to_items, of_first, *of_rest


def masked(gradient: Tensor, units: Tensor) -> Tensor:
    """The gradient before a relu that gave the units, in the place of the one after it."""
    torch.ops.aten.threshold_backward.grad_input(gradient, units, 0, grad_input=gradient)
    return gradient
