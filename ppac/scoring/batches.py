"""A batch in shares for threads, a share in pieces for the cache, and what is done to their rows.

How many threads there are changes nothing in the result: shares are always the same, and what they
sum up is added in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ppac.core.compiled import kernel
from ppac.core.parallel import share_out

SHARES = 4
PIECE = 128  # rows


def over_shares(work: Callable[..., None], *tensors: Tensor | Sequence[Tensor]) -> None:
    """The kernel on every share, with arrays for tensors; sequences of them become tuples."""

    def arrays(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.detach().contiguous().numpy()
        return tuple(arrays(one) for one in value)

    given = arrays(tensors)
    share_out(lambda share: work(share, *given), SHARES, torch.get_num_threads())


def for_shares(like: Tensor) -> Tensor:
    """Room for what each share sums up, as zeros."""
    return torch.zeros(SHARES, *like.shape)


def of_shares(sums: Tensor) -> Tensor:
    """All shares together, in their order."""
    return torch.from_numpy(sums.numpy().sum(0))


@kernel
def pieces(share: int, size: int) -> tuple[int, int, int]:
    """The share of so many rows, as a range of pieces."""
    return size * share // SHARES, size * (share + 1) // SHARES, PIECE


@kernel
def repeat(row: np.ndarray, out: np.ndarray) -> None:
    for b in range(out.shape[0]):
        for h in range(out.shape[1]):
            out[b, h] = row[h]


@kernel
def copy(rows: np.ndarray, out: np.ndarray) -> None:
    for b in range(out.shape[0]):
        for h in range(out.shape[1]):
            out[b, h] = rows[b, h]


@kernel
def add(rows: np.ndarray, out: np.ndarray) -> None:
    for b in range(out.shape[0]):
        for h in range(out.shape[1]):
            out[b, h] += rows[b, h]


@kernel
def sum_up(rows: np.ndarray, out: np.ndarray) -> None:
    """out += the sum of the rows."""
    for b in range(rows.shape[0]):
        for h in range(rows.shape[1]):
            out[h] += rows[b, h]
