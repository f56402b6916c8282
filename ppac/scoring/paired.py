"""A perceptron over the pairs of a batch, both ways of autograd.

Some pairs go through all layers, there or back, while what one layer hands to the next is still
in the cache. The first layer is split, W [u ; i] = W_u u + W_i i: a user's half serves the positive
and the negative item.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ppac.core.compiled import kernel
from ppac.scoring.batches import PIECE, borders, for_shares, of_shares, over_shares
from ppac.scoring.products import matmul
from ppac.scoring.rows import add, add_sum, copy, leaky_relu, leaky_relu_back, repeat


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
        size, lead = len(users), items.shape[:-2]
        flat = items.reshape(lead.numel(), *users.shape)
        of_users, of_items, bias, *rest = parameters
        weights, biases = rest[::2], rest[1::2]
        rooms = [torch.empty(*flat.shape[:2], len(one)) for one in (bias, *biases)]
        first = (of_users.T, of_items.T, bias, all_leaks(leaks, weights))
        read = (users, flat, *first, [weight.T for weight in weights], biases)
        over_shares(score, size, read, [rooms])
        ctx.save_for_backward(users, flat, of_users, of_items, leaks, *weights, *rooms[:-1])
        return rooms[-1].view(*lead, size, len(biases[-1]))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        users, items, of_users, of_items, leaks, *rest = ctx.saved_tensors
        weights, rooms = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        size, n = len(users), len(weights[-1])
        to_users, to_items = torch.empty(users.shape), torch.empty(items.shape)
        to_halves = [for_shares(size, half.shape) for half in (of_users, of_items)]
        to_bias = for_shares(size, of_items.shape[:1])
        to_weights = [for_shares(size, weight.shape) for weight in weights]
        to_biases = [for_shares(size, weight.shape[:1]) for weight in weights]
        gradient = gradients[0].reshape(*items.shape[:2], n)
        halves, leaking = (of_users, of_items), all_leaks(leaks, weights)
        read = (gradient, users, items, halves, leaking, weights, rooms)
        sums = (to_halves, to_bias, to_weights, to_biases)
        over_shares(score_back, size, read, [to_users, to_items, *sums])
        further = (one for layer in zip(to_weights, to_biases, strict=True) for one in layer)
        found = (of_shares(one) for one in (*to_halves, to_bias, *further))
        return to_users, to_items.view(*gradients[0].shape[:-1], items.shape[-1]), None, *found


def all_leaks(first: Tensor, weights: Sequence[Tensor]) -> list[Tensor]:
    """Of every layer with units: those after the first leak nothing."""
    return [first, *(torch.zeros(weight.shape[1]) for weight in weights[1:])]


@kernel
def score(
    share: int,
    shares: int,
    users: np.ndarray,
    items: np.ndarray,
    of_users: np.ndarray,
    of_items: np.ndarray,
    bias: np.ndarray,
    leaks: tuple[np.ndarray, ...],
    weights: tuple[np.ndarray, ...],
    biases: tuple[np.ndarray, ...],
    rooms: tuple[np.ndarray, ...],
) -> None:
    """What each layer makes of the pairs, into a room each: its units, but for the last."""
    left = np.empty((PIECE, len(bias)), np.float32)
    joint = of_users.shape[1]
    start, stop = borders(share, shares, len(users))
    for first in range(start, stop, PIECE):
        end = min(first + PIECE, stop)
        mine = left[: end - first]
        repeat(bias, mine)
        matmul(users[first:end], of_users, True, mine[:, :joint])
        for n in range(len(items)):
            hidden = rooms[0][n, first:end]
            copy(mine, hidden)
            matmul(items[n, first:end], of_items, True, hidden)
            for layer in range(len(weights)):
                leaky_relu(leaks[layer], hidden)
                after = rooms[layer + 1][n, first:end]
                repeat(biases[layer], after)
                matmul(hidden, weights[layer], True, after)
                hidden = after


@kernel
def score_back(
    share: int,
    shares: int,
    gradient: np.ndarray,
    users: np.ndarray,
    items: np.ndarray,
    halves: tuple[np.ndarray, np.ndarray],
    leaks: tuple[np.ndarray, ...],
    weights: tuple[np.ndarray, ...],
    rooms: tuple[np.ndarray, ...],
    to_users: np.ndarray,
    to_items: np.ndarray,
    to_halves: tuple[np.ndarray, np.ndarray],
    to_bias: np.ndarray,
    to_weights: tuple[np.ndarray, ...],
    to_biases: tuple[np.ndarray, ...],
) -> None:
    of_users, of_items = halves
    left = np.empty((PIECE, len(of_items)), np.float32)
    backs = [np.empty((PIECE, weight.shape[1]), np.float32) for weight in weights]
    joint = len(of_users)
    start, stop = borders(share, shares, len(users))
    for first in range(start, stop, PIECE):
        end = min(first + PIECE, stop)
        mine = left[: end - first]
        mine[:] = 0
        for n in range(len(items)):
            down = gradient[n, first:end]
            for layer in range(len(weights) - 1, -1, -1):
                hidden = rooms[layer][n, first:end]
                matmul(down.T, hidden, True, to_weights[layer][share])
                add_sum(down, to_biases[layer][share])
                before = backs[layer][: end - first]
                matmul(down, weights[layer], False, before)
                leaky_relu_back(leaks[layer], hidden, before)
                down = before
            matmul(down.T, items[n, first:end], True, to_halves[1][share])
            matmul(down, of_items, False, to_items[n, first:end])
            add(down, mine)
        add_sum(mine, to_bias[share])
        matmul(mine[:, :joint].T, users[first:end], True, to_halves[0][share])
        matmul(mine[:, :joint], of_users, False, to_users[first:end])
