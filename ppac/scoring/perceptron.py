"""Perceptrons over every pair of some users and items, without a tensor of all hidden units.

The first layer is split, W [u ; i] = W_u u + W_i i, so its halves are computed once each.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from ppac.core.compiled import loose_kernel

RUN = 256  # items at a time: their sums stay in the first-level cache
TILE = 512  # items at a time through a second layer: both layers stay in the second-level cache


def hinges(left: Tensor, right: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """(B, n): bias + Σ_h weight_h relu(left_bh + right_nh)."""
    if left.device.type != "cpu":
        total = bias.expand(len(left), len(right)).clone()
        for unit, value in enumerate(weight):
            total.addcmul_(torch.relu(left[:, unit, None] + right[:, unit]), value)
        return total
    out = torch.empty(len(left), len(right))
    arrays = (t.detach().contiguous().numpy() for t in (left, right.T, weight, bias, out))
    add_hinges(*arrays)
    return out


@loose_kernel
def add_hinges(
    left: np.ndarray,
    right: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    out: np.ndarray,
) -> None:
    zero = np.float32(0)
    for run in range(0, out.shape[1], RUN):
        stop = min(run + RUN, out.shape[1])
        for b in range(len(out)):
            row = out[b]
            for i in range(run, stop):
                row[i] = bias[0]
            for h in range(len(weight)):
                mine, w, theirs = left[b, h], weight[h], right[h]
                for i in range(run, stop):
                    row[i] += w * max(mine + theirs[i], zero)


def layers(left: Tensor, right: Tensor, rest: Sequence[nn.Module]) -> Tensor:
    """(B, n): relu(left_b + right_n) through further linear layers, relu between them."""
    if left.device.type != "cpu":
        return torch.stack([through(row + right, rest) for row in left])
    *between, (weight, last_bias) = [
        (layer.weight.detach().T.contiguous().numpy(), layer.bias.detach().numpy())
        for layer in rest
        if isinstance(layer, nn.Linear)
    ]
    result = torch.empty(len(left), len(right))
    users, items, out = (t.detach().contiguous().numpy() for t in (left, right, result))
    rooms = [np.empty((TILE, len(w)), np.float32) for w in (*(w for w, _ in between), weight)]
    for first in range(0, len(items), TILE):
        some = items[first : first + TILE]
        rows = [room[: len(some)] for room in rooms]
        for b, user in enumerate(users):
            hidden, bias = some, user
            for (matrix, next_bias), (ready, room) in zip(between, pairwise(rows), strict=True):
                rectify(hidden, bias, ready)
                hidden, bias = np.matmul(ready, matrix, out=room), next_bias
            add_up(hidden, bias, weight[:, 0], last_bias, out[b, first : first + TILE])
    return result


@loose_kernel
def rectify(rows: np.ndarray, bias: np.ndarray, out: np.ndarray) -> None:
    """relu(rows + bias), which may be written over the rows."""
    for i in range(len(rows)):
        for h in range(len(bias)):
            out[i, h] = max(rows[i, h] + bias[h], np.float32(0))


@loose_kernel
def add_up(
    rows: np.ndarray, bias: np.ndarray, weight: np.ndarray, last: np.ndarray, out: np.ndarray
) -> None:
    """The last layer: last + Σ_h weight_h relu(rows_h + bias_h)."""
    for i in range(len(rows)):
        total = np.float32(0)
        for h in range(len(bias)):
            total += weight[h] * max(rows[i, h] + bias[h], np.float32(0))
        out[i] = total + last[0]


def through(hidden: Tensor, rest: Sequence[nn.Module]) -> Tensor:
    """Everything after the first layer's sums: (..., h) to (...)."""
    for layer in rest:
        hidden = layer(torch.relu(hidden))
    return hidden.squeeze(-1)
