"""Which items personal popularity touches for some users, and which are not for them at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ppac.core.compiled import kernel
from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity
from ppac.scoring.selection import RUN


@dataclass(frozen=True)
class Touched:
    """Users' lists one after the other, items ascending."""

    starts: np.ndarray  # (B + 1,)
    items: np.ndarray  # int32, with personal popularity and not masked
    pp: np.ndarray  # float32
    hidden: np.ndarray  # (B, words) a bit for each item that is masked or touched

    @classmethod
    def of(cls, masked: Interactions, popularity: Popularity, users: np.ndarray) -> Touched:
        counts = popularity.counts
        at_most = int(np.diff(counts.indptr)[users].sum())
        items, pp = np.empty(at_most, np.int32), np.empty(at_most, np.float32)
        starts = np.zeros(len(users) + 1, np.int64)
        hidden = np.zeros((len(users), -(-masked.n_items // RUN)), np.uint64)
        merge(
            users,
            (masked.indptr, masked.items),
            (counts.indptr, counts.indices, counts.data, popularity.unit),
            (starts, items, pp),
            hidden,
        )
        n = starts[-1]
        return cls(starts, items[:n], pp[:n], hidden)

    def pick(self, parts: Tensor, first: int, out: Tensor) -> None:
        """Copy a tile's values (..., B, n) at the touched items to their places (..., m)."""
        if not len(self.items):
            return
        tile = parts.reshape(-1, *parts.shape[-2:])
        for source, to in zip(tile, out.view(-1, out.shape[-1]), strict=True):
            pick(source.numpy(), first, self.starts, self.items, to.numpy())

    def room_for(self, parts: Tensor) -> Tensor:
        return torch.empty(*parts.shape[:-2], len(self.items))


@kernel
def merge(users, masked, popular, touched, hidden):  # type: ignore[no-untyped-def]
    """Hide the masked items, then touch and hide those with personal popularity still left."""
    m_indptr, m_items = masked
    p_indptr, p_items, p_counts, unit = popular
    starts, items, pp = touched
    n = 0
    for b in range(len(users)):
        u = users[b]
        for m in range(m_indptr[u], m_indptr[u + 1]):
            hide(hidden[b], m_items[m])
        for p in range(p_indptr[u], p_indptr[u + 1]):
            if hide(hidden[b], p_items[p]):
                items[n], pp[n] = p_items[p], np.float32(p_counts[p]) / unit[u]
                n += 1
        starts[b + 1] = n


@kernel
def hide(words: np.ndarray, item: int) -> bool:
    """Set the item's bit; whether it was not set before."""
    bit = np.uint64(1) << np.uint64(item % RUN)
    new = words[item // RUN] & bit == 0
    words[item // RUN] |= bit
    return new


@kernel
def pick(
    tile: np.ndarray, first: int, starts: np.ndarray, items: np.ndarray, out: np.ndarray
) -> None:
    for b in range(len(tile)):
        mine = items[starts[b] : starts[b + 1]]
        for p in range(np.searchsorted(mine, first), len(mine)):
            column = mine[p] - first
            if column >= tile.shape[1]:
                break
            out[starts[b] + p] = tile[b, column]
