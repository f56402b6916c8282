"""Perceptrons over every pair of some users and items, without a tensor of all hidden units.

The first layer is split, W [u ; i] = W_u u + W_i i, so its halves are computed once each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.core import cgutils
from torch import Tensor, nn

from ppac.core.compiled import intrinsic, kernel, splat
from ppac.scoring.batches import PIECE, as_arrays
from ppac.scoring.products import matmul
from ppac.scoring.rows import relu, relu_of_sum, repeat

RUN = 32  # items at a time: their sums are four registers of eight numbers


def hinges(left: Tensor, right: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """(B, n): bias + Σ_h weight_h relu(left_bh + right_hn)."""
    size = (len(left), right.shape[1])
    if left.device.type != "cpu":
        total = bias.expand(size).clone()
        for unit, value in enumerate(weight):
            total.addcmul_(torch.relu(left[:, unit, None] + right[unit]), value)
        return total
    out = torch.empty(size)
    left, weight, bias = (t.detach().contiguous() for t in (left, weight, bias))
    add_hinges(*(t.detach().numpy() for t in (left, right, weight, bias, out)))
    return out


@kernel
def add_hinges(
    left: np.ndarray,
    right: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    out: np.ndarray,
) -> None:
    """A run of items for all users: it is copied, so that it lies together in the cache."""
    size = out.shape[1]
    theirs = np.zeros((len(weight), RUN), np.float32)
    sums = np.empty(RUN, np.float32)
    for run in range(0, size, RUN):
        some = min(RUN, size - run)
        theirs[:, :some] = right[:, run : run + some]
        for b in range(len(out)):
            whole = out[b, run:] if some == RUN else sums
            mine = (left[b].ctypes.data, weight.ctypes.data, len(weight), bias[0])
            add_run(whole.ctypes.data, theirs.ctypes.data, *mine)
            if some < RUN:
                out[b, run:] = sums[:some]


@intrinsic
def add_run(
    typing: Any, out: Any, right: Any, left: Any, weight: Any, units: Any, bias: Any
) -> tuple[Any, Any]:
    """bias + Σ_h weight_h relu(left_h + right_h) of a run of items, in registers throughout.

    As a loop over items within one over units, every unit would read and write all sums.
    """
    number = ir.FloatType()
    vector = ir.VectorType(number, RUN)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out, right, left, weight, units, bias = args
        rows = builder.inttoptr(right, vector.as_pointer())
        lefts, weights = (builder.inttoptr(at, number.as_pointer()) for at in (left, weight))
        zero = ir.Constant(vector, [0.0] * RUN)
        total = cgutils.alloca_once_value(builder, splat(builder, bias, vector))
        with cgutils.for_range(builder, units) as loop:
            row = builder.load(builder.gep(rows, [loop.index]), align=4)
            one, factor = (
                splat(builder, builder.load(builder.gep(at, [loop.index])), vector)
                for at in (lefts, weights)
            )
            unit = builder.fadd(row, one)
            unit = builder.select(builder.fcmp_ordered("<", unit, zero), zero, unit)  # nan stays
            fused = builder.fmul(unit, factor, flags=["contract"])
            builder.store(builder.fadd(builder.load(total), fused, flags=["contract"]), total)
        builder.store(builder.load(total), builder.inttoptr(out, vector.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5, types.float32), code


def layers(left: Tensor, right: Tensor, rest: Sequence[nn.Module]) -> Tensor:
    """(B, n): relu(left_b + right_n) through further linear layers, relu between them."""
    if left.device.type != "cpu":
        return torch.stack([through(row + right, rest) for row in left])
    out = torch.empty(len(left), len(right))
    linear = [layer for layer in rest if isinstance(layer, nn.Linear)]
    weights, biases = [layer.weight.T for layer in linear], [layer.bias for layer in linear]
    users, items, by, plus = as_arrays((left, right, weights, biases), Tensor.contiguous)
    go_through(users, items, by, plus, out.numpy())
    return out


@kernel
def go_through(
    users: np.ndarray,
    items: np.ndarray,
    weights: tuple[np.ndarray, ...],
    biases: tuple[np.ndarray, ...],
    out: np.ndarray,
) -> None:
    """Some items after the other, for all users: what their layers leave stays in the cache."""
    rooms = [np.empty((PIECE, weight.shape[0]), np.float32) for weight in weights]
    rooms.append(np.empty((PIECE, 1), np.float32))
    for first in range(0, len(items), PIECE):
        some = items[first : first + PIECE]
        for user in range(len(users)):
            hidden = rooms[0][: len(some)]
            relu_of_sum(users[user], some, hidden)
            for layer in range(len(weights)):
                if layer:
                    relu(hidden)
                after = rooms[layer + 1][: len(some)]
                repeat(biases[layer], after)
                matmul(hidden, weights[layer], True, after)
                hidden = after
            out[user, first : first + len(some)] = hidden[:, 0]


def through(hidden: Tensor, rest: Sequence[nn.Module]) -> Tensor:
    """Everything after the first layer's sums, which are written over: (..., h) to (...)."""
    for layer in rest:
        hidden = layer(torch.relu_(hidden))
    return hidden.squeeze(-1)
