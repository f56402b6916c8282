"""A batch in shares for threads, and a share in pieces for the cache.

How many threads there are changes nothing in the result: the shares are those of the batch's size,
and what they sum up is added in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ppac.core.compiled import kernel
from ppac.scoring.threads import share_out

PIECE = 128  # rows
MOST = 8  # shares: each has sums of its own, and more threads than this find nothing to do


def shares_of(size: int) -> int:
    return min(MOST, max(1, -(-size // PIECE)))


def over_shares(
    work: Callable[..., None], size: int, read: Sequence[Any], written: Sequence[Any] = ()
) -> None:
    """``work(share, shares, ...)`` of a batch so large; nested tensors become tuples of arrays."""
    shares = shares_of(size)
    given = [as_arrays(value, torch.Tensor.contiguous) for value in read]
    given += [as_arrays(value, lambda tensor: tensor) for value in written]
    share_out(lambda share: work(share, shares, *given), shares)


def as_arrays(value: Any, laid_out: Callable[[Tensor], Tensor]) -> Any:
    if not isinstance(value, Tensor):
        return tuple(as_arrays(one, laid_out) for one in value)
    tensor = laid_out(value.detach())
    if tensor.dtype != torch.float32 or not tensor.is_contiguous():
        raise TypeError(f"kernels want float32 without gaps, not {tensor.dtype}{tensor.stride()}")
    return tensor.numpy()


def for_shares(size: int, shape: Sequence[int]) -> Tensor:
    """Room for what each share of a batch sums up, as zeros."""
    return torch.zeros(shares_of(size), *shape)


def of_shares(sums: Tensor) -> Tensor:
    """All shares together, in their order."""
    return torch.from_numpy(sums.numpy().sum(0))


@kernel
def borders(share: int, shares: int, size: int) -> tuple[int, int]:
    """Where the share begins and ends."""
    return size * share // shares, size * (share + 1) // shares
