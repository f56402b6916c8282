"""Rows of tables, their products and squares, differentiably: what every step consists of.

Torch's own are made of many passes over the rows and their gradients; here it is one each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ppac.core.compiled import kernel, loose_kernel


def take(table: Tensor, rows: Tensor) -> Tensor:
    """``table[rows]``. Torch's own gradient of this is slow, more so if it is to be repeatable."""
    if table.device.type != "cpu":
        return table.index_select(0, rows)
    result: Tensor = Take.apply(table, rows)
    return result


class Take(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.shape = table.shape
        return table.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        total = torch.zeros(ctx.shape)
        add_at(total.numpy(), rows.numpy(), gradients[0].contiguous().numpy())
        return total, None


def dot(users: Tensor, items: Tensor) -> Tensor:
    """Inner products (..., B) of users (B, d) with items (..., B, d)."""
    if users.device.type != "cpu" or users.dtype != torch.float32 or users.dim() != 2:
        return (users * items).sum(-1)
    result: Tensor = Dot.apply(users, items)
    return result


class Dot(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, users: Tensor, items: Tensor) -> Tensor:
        users, items = users.detach().contiguous(), items.detach().contiguous()
        ctx.save_for_backward(users, items)
        out = torch.empty(items.shape[:-1])
        flat = items.view(-1, *users.shape)
        multiply(users.numpy(), flat.numpy(), out.view(flat.shape[:-1]).numpy())
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        users, items = ctx.saved_tensors
        to_users, to_items = torch.empty_like(users), torch.empty_like(items)
        flat = items.view(-1, *users.shape)
        gradient = gradients[0].contiguous().view(flat.shape[:-1])
        tensors = (gradient, users, flat, to_users, to_items.view(flat.shape))
        multiply_back(*(tensor.numpy() for tensor in tensors))
        return to_users, to_items


@loose_kernel
def multiply(users: np.ndarray, items: np.ndarray, out: np.ndarray) -> None:
    for n in range(len(items)):
        for b in range(len(users)):
            user, item = users[b], items[n, b]
            total = np.float32(0)
            for j in range(len(user)):
                total += user[j] * item[j]
            out[n, b] = total


@loose_kernel
def multiply_back(
    gradient: np.ndarray,
    users: np.ndarray,
    items: np.ndarray,
    to_users: np.ndarray,
    to_items: np.ndarray,
) -> None:
    for b in range(len(users)):
        user, to_user = users[b], to_users[b]
        for j in range(len(user)):
            to_user[j] = 0
        for n in range(len(items)):
            item, to_item, weight = items[n, b], to_items[n, b], gradient[n, b]
            for j in range(len(user)):
                to_user[j] += weight * item[j]
                to_item[j] = weight * user[j]


def square_sum(rows: Tensor) -> Tensor:
    """Σ x². Its gradient is 2x, without a square in between."""
    result: Tensor = SquareSum.apply(rows)
    return result


class SquareSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        flat = rows.flatten()
        return torch.dot(flat, flat)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (rows,) = ctx.saved_tensors
        return rows * (2 * gradients[0])


@kernel
def add_at(total: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """total[rows] += values, in the order of the rows."""
    for b in range(len(rows)):
        to = total[rows[b]]
        value = values[b]
        for j in range(len(to)):
            to[j] += value[j]
