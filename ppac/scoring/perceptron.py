"""Perceptrons over every pair of some users and items, without a tensor of all hidden units.

The first layer is split, W [u ; i] = W_u u + W_i i, so its halves are computed once each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ppac.core.compiled import kernel, loose_kernel

RUN = 256  # items at a time: their sums stay in the first-level cache
TILE = 512  # items at a time through a second layer: both layers stay in the second-level cache


def hinges(left: Tensor, right: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """(B, n): bias + Σ_h weight_h relu(left_bh + right_hn)."""
    size = (len(left), right.shape[1])
    if left.device.type != "cpu":
        total = bias.expand(size).clone()
        for unit, value in enumerate(weight):
            total.addcmul_(torch.relu(left[:, unit, None] + right[unit]), value)
        return total
    out = torch.empty(size)
    arrays = (t.detach().contiguous().numpy() for t in (left, right, weight, bias, out))
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
    """In slices: of a loop that begins anywhere but at 0 the compiler makes no vectors."""
    zero = np.float32(0)
    for run in range(0, out.shape[1], RUN):
        for b in range(len(out)):
            row = out[b, run : run + RUN]
            row[:] = bias[0]
            for h in range(len(weight)):
                mine, w, theirs = left[b, h], weight[h], right[h, run : run + RUN]
                for i in range(len(row)):
                    row[i] += w * max(mine + theirs[i], zero)


def layers(left: Tensor, right: Tensor, rest: Sequence[nn.Module]) -> Tensor:
    """(B, n): relu(left_b + right_n) through further linear layers, relu between them."""
    if left.device.type != "cpu":
        return torch.stack([through(row + right, rest) for row in left])
    linear = [
        (layer.weight.detach().T.contiguous().numpy(), layer.bias.detach().numpy())
        for layer in rest
        if isinstance(layer, nn.Linear)
    ]
    result = torch.empty(len(left), len(right))
    users, items, out = (t.detach().contiguous().numpy() for t in (left, right, result))
    rooms = [np.empty((TILE, len(weight)), np.float32) for weight, _ in linear]
    for first in range(0, len(items), TILE):
        some = items[first : first + TILE]
        rows = [room[: len(some)] for room in rooms]
        ends = out[:, first : first + TILE, None]
        for user, end in zip(users, ends, strict=True):
            hidden, bias = some, user
            for (weight, more), ready, room in zip(linear, rows, [*rows[1:], end], strict=True):
                rectify(hidden, bias, ready)
                hidden, bias = np.matmul(ready, weight, out=room), more
            end += bias
    return result


@kernel
def rectify(rows: np.ndarray, bias: np.ndarray, out: np.ndarray) -> None:
    """relu(rows + bias), which may be written over the rows; a nan stays one."""
    for i in range(len(rows)):
        for h in range(len(bias)):
            value = rows[i, h] + bias[h]
            out[i, h] = np.float32(0) if value < 0 else value


def through(hidden: Tensor, rest: Sequence[nn.Module]) -> Tensor:
    """Everything after the first layer's sums, which are written over: (..., h) to (...)."""
    for layer in rest:
        hidden = layer(torch.relu_(hidden))
    return hidden.squeeze(-1)
