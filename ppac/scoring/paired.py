"""A perceptron over the pairs of a batch, both ways of autograd.

Some pairs go through all layers while what they leave behind is in the cache; as whole batches,
every layer would go to memory and back. The first layer is split, W [u ; i] = W_u u + W_i i: a
user's half serves the positive and the negative item.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ppac.core.compiled import kernel
from ppac.scoring.batches import (
    PIECE,
    add,
    copy,
    for_shares,
    of_shares,
    over_shares,
    pieces,
    repeat,
    sum_up,
)
from ppac.scoring.products import multiply


def paired(users: Tensor, items: Tensor, parameters: Sequence[Tensor], leaks: Tensor) -> Tensor:
    """What users (B, d) and items (..., B, d) come to, (..., B, n), on the CPU.

    ``parameters``: the first layer's W_u, W_i and bias, then weight and bias of each further one.
    There is a relu between layers, and nothing after the last of n units; what the first layer's
    units let through below zero are ``leaks``. W_u may be of its first units only: the others see
    the item alone.
    """
    result: Tensor = Paired.apply(users, items, leaks, *parameters)
    return result


class Paired(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, users: Tensor, items: Tensor, leaks: Tensor, *parameters: Tensor
    ) -> Tensor:
        flat = items.reshape(-1, *users.shape)
        of_users, of_items, bias, *rest = parameters
        weights, biases = rest[::2], rest[1::2]
        rooms = [torch.empty(*flat.shape[:2], len(one)) for one in (bias, *biases)]
        first = (of_users.T, of_items.T, bias, leaks)
        over_shares(score, users, flat, *first, [w.T for w in weights], biases, rooms)
        ctx.save_for_backward(users, flat, of_users, of_items, leaks, *weights, *rooms[:-1])
        return rooms[-1].view(*items.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        users, items, of_users, of_items, leaks, *rest = ctx.saved_tensors
        weights, rooms = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        to_users, to_items = torch.empty_like(users), torch.empty_like(items)
        gradient = gradients[0].reshape(*items.shape[:2], -1)
        first = [for_shares(one) for one in (of_users, of_items, of_items[:, 0])]
        to_weights = [for_shares(weight) for weight in weights]
        to_biases = [for_shares(weight[:, 0]) for weight in weights]
        given = (gradient, users, items, of_users, of_items, leaks, weights, rooms)
        over_shares(score_back, *given, to_users, to_items, *first, to_weights, to_biases)
        further = (one for layer in zip(to_weights, to_biases, strict=True) for one in layer)
        sums = (of_shares(one) for one in (*first, *further))
        return to_users, to_items.view(*gradients[0].shape[:-1], -1), None, *sums


@kernel
def score(
    share: int,
    users: np.ndarray,
    items: np.ndarray,
    of_users: np.ndarray,
    of_items: np.ndarray,
    bias: np.ndarray,
    leaks: np.ndarray,
    weights: tuple[np.ndarray, ...],
    biases: tuple[np.ndarray, ...],
    rooms: tuple[np.ndarray, ...],
) -> None:
    """What each layer makes of the pairs, into a room each: switched on, but for the last."""
    left = np.empty((PIECE, len(bias)), np.float32)
    joint = of_users.shape[1]
    start, stop, step = pieces(share, len(users))
    for first in range(start, stop, step):
        end = min(first + step, stop)
        mine = left[: end - first]
        repeat(bias, mine)
        multiply(mine[:, :joint], users[first:end], of_users, True)
        for n in range(len(items)):
            hidden = rooms[0][n, first:end]
            copy(mine, hidden)
            multiply(hidden, items[n, first:end], of_items, True)
            leak(hidden, leaks)
            for layer in range(len(weights)):
                if layer:
                    switch_on(hidden)
                after = rooms[layer + 1][n, first:end]
                repeat(biases[layer], after)
                multiply(after, hidden, weights[layer], True)
                hidden = after


@kernel
def score_back(
    share: int,
    gradient: np.ndarray,
    users: np.ndarray,
    items: np.ndarray,
    of_users: np.ndarray,
    of_items: np.ndarray,
    leaks: np.ndarray,
    weights: tuple[np.ndarray, ...],
    rooms: tuple[np.ndarray, ...],
    to_users: np.ndarray,
    to_items: np.ndarray,
    to_of_users: np.ndarray,
    to_of_items: np.ndarray,
    to_bias: np.ndarray,
    to_weights: tuple[np.ndarray, ...],
    to_biases: tuple[np.ndarray, ...],
) -> None:
    left = np.empty((PIECE, len(of_items)), np.float32)
    joint = len(of_users)
    backs = [np.empty((PIECE, weight.shape[1]), np.float32) for weight in weights]
    start, stop, step = pieces(share, len(users))
    for first in range(start, stop, step):
        end = min(first + step, stop)
        mine = left[: end - first]
        mine[:] = 0
        for n in range(len(items)):
            down = gradient[n, first:end]
            for layer in range(len(weights) - 1, -1, -1):
                hidden = rooms[layer][n, first:end]
                multiply(to_weights[layer][share], down.T, hidden, True)
                sum_up(down, to_biases[layer][share])
                before = backs[layer][: end - first]
                multiply(before, down, weights[layer], False)
                if layer:
                    silence(before, hidden)
                else:
                    muffle(before, hidden, leaks)
                down = before
            multiply(to_of_items[share], down.T, items[n, first:end], True)
            multiply(to_items[n, first:end], down, of_items, False)
            add(down, mine)
        sum_up(mine, to_bias[share])
        multiply(to_of_users[share], mine[:, :joint].T, users[first:end], True)
        multiply(to_users[first:end], mine[:, :joint], of_users, False)


@kernel
def switch_on(units: np.ndarray) -> None:
    """relu; a nan stays one."""
    for b in range(units.shape[0]):
        for h in range(units.shape[1]):
            value = units[b, h]
            units[b, h] = np.float32(0) if value < 0 else value


@kernel
def leak(units: np.ndarray, leaks: np.ndarray) -> None:
    for b in range(units.shape[0]):
        for h in range(units.shape[1]):
            value = units[b, h]
            units[b, h] = value * leaks[h] if value < 0 else value


@kernel
def silence(gradient: np.ndarray, units: np.ndarray) -> None:
    """Nothing goes back through units that are off."""
    for b in range(units.shape[0]):
        for h in range(units.shape[1]):
            value = gradient[b, h]
            gradient[b, h] = value if units[b, h] > 0 else np.float32(0)


@kernel
def muffle(gradient: np.ndarray, units: np.ndarray, leaks: np.ndarray) -> None:
    """Little goes back through units that leak."""
    for b in range(units.shape[0]):
        for h in range(units.shape[1]):
            value = gradient[b, h]
            gradient[b, h] = value if units[b, h] > 0 else value * leaks[h]
