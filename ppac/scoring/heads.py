"""Two one-layer heads that read the same items, both ways of autograd, in one product and one pass.

One head sees users and items, sum_h w_h relu(a_bh + b_ih), the other items alone and leaks below
zero. Their first layers are multiplied as one matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ppac.core.compiled import loose_kernel
from ppac.core.parallel import share_out

SHARES = 4  # of a batch, for threads to take; their sums are added in order
LEAK = 0.01


def two_heads(users: Tensor, items: Tensor, weight: Tensor, bias: Tensor, last: Tensor) -> Tensor:
    """(2, ..., B) of users' half-layers (B, h) with items (..., B, d), on the CPU.

    ``weight`` (h + k, d) and ``bias`` are the items' half of the first head's layer above the
    second head's; ``last`` (h + k) are the weights of both heads' units.
    """
    result: Tensor = TwoHeads.apply(users, items, weight, bias, last)
    return result


class TwoHeads(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, users: Tensor, items: Tensor, weight: Tensor, bias: Tensor, last: Tensor
    ) -> Tensor:
        flat = items.reshape(-1, items.shape[-1])
        units = torch.addmm(bias, flat, weight.T)
        out = torch.empty(2, *items.shape[:-1])
        across = units.view(-1, len(users), len(weight))
        over_batch(switch_on, across, users.contiguous(), last, out.view(2, -1, len(users)))
        ctx.save_for_backward(items, weight, last, units)
        ctx.users_shape = users.shape
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        items, weight, last, units = ctx.saved_tensors
        size, joint = ctx.users_shape
        to_users, to_units = torch.empty(size, joint), torch.empty_like(units)
        of_last = torch.zeros(SHARES, len(last))
        across, to_across = (value.view(-1, size, len(weight)) for value in (units, to_units))
        gradient = gradients[0].contiguous().view(2, -1, size)
        over_batch(switch_back, across, gradient, last, to_users, to_across, of_last)
        flat = items.reshape(-1, items.shape[-1])
        to_items = (to_units @ weight).view(items.shape)
        return to_users, to_items, to_units.T @ flat, to_units.sum(0), of_last.sum(0)


def over_batch(kernel: Any, *tensors: Tensor) -> None:
    arrays = [tensor.detach().numpy() for tensor in tensors]
    share_out(lambda share: kernel(share, *arrays), SHARES, torch.get_num_threads())


@loose_kernel
def switch_on(
    share: int, units: np.ndarray, users: np.ndarray, last: np.ndarray, out: np.ndarray
) -> None:
    """From both first layers to the units, in place, and to the heads' numbers."""
    size, joint = users.shape
    zero, leak = np.float32(0), np.float32(LEAK)
    for n in range(len(units)):
        for b in range(size * share // SHARES, size * (share + 1) // SHARES):
            row, user = units[n, b], users[b]
            first = second = zero
            for j in range(joint):
                row[j] = max(row[j] + user[j], zero)
                first += last[j] * row[j]
            for j in range(joint, len(row)):
                row[j] = max(row[j], leak * row[j])
                second += last[j] * row[j]
            out[0, n, b], out[1, n, b] = first, second


@loose_kernel
def switch_back(
    share: int,
    units: np.ndarray,
    gradient: np.ndarray,
    last: np.ndarray,
    to_users: np.ndarray,
    to_units: np.ndarray,
    of_last: np.ndarray,
) -> None:
    size, joint = to_users.shape
    zero, leak = np.float32(0), np.float32(LEAK)
    mine = of_last[share]
    for b in range(size * share // SHARES, size * (share + 1) // SHARES):
        user = to_users[b]
        user[:] = 0
        for n in range(len(units)):
            row, to_row = units[n, b], to_units[n, b]
            first, second = gradient[0, n, b], gradient[1, n, b]
            for j in range(joint):
                to_row[j] = first * last[j] if row[j] > zero else zero
                user[j] += to_row[j]
                mine[j] += first * row[j]
            for j in range(joint, len(row)):
                to_row[j] = second * last[j] if row[j] > zero else second * leak * last[j]
                mine[j] += second * row[j]
