"""Which items personal popularity touches for some users, and which are not for them at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ppac.core.compiled import kernel
from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity


@dataclass(frozen=True)
class Touched:
    """Users' lists one after the other, items ascending."""

    starts: np.ndarray  # (B + 1,)
    items: np.ndarray  # int32, with personal popularity and not masked
    pp: np.ndarray  # float32
    hidden_starts: np.ndarray  # (B + 1,)
    hidden: np.ndarray  # int32: masked items and touched ones

    @classmethod
    def of(cls, masked: Interactions, popularity: Popularity, users: np.ndarray) -> Touched:
        counts = popularity.counts
        at_most = int(np.diff(counts.indptr)[users].sum())
        items, pp = np.empty(at_most, np.int32), np.empty(at_most, np.float32)
        hidden = np.empty(at_most + int(masked.user_counts[users].sum()), np.int32)
        starts, hidden_starts = np.zeros((2, len(users) + 1), np.int64)
        merge(
            users,
            (masked.indptr, masked.items),
            (counts.indptr, counts.indices, counts.data, popularity.unit),
            (starts, items, pp),
            (hidden_starts, hidden),
        )
        n = starts[-1]
        return cls(starts, items[:n], pp[:n], hidden_starts, hidden[: hidden_starts[-1]])

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
    """One walk along both ascending lists of each user."""
    m_indptr, m_items = masked
    p_indptr, p_items, p_counts, unit = popular
    starts, items, pp = touched
    hidden_starts, hidden_items = hidden
    n, h = 0, 0
    for b in range(len(users)):
        u = users[b]
        m, m_end = m_indptr[u], m_indptr[u + 1]
        p, p_end = p_indptr[u], p_indptr[u + 1]
        while m < m_end or p < p_end:
            if m < m_end and (p == p_end or m_items[m] <= p_items[p]):
                hidden_items[h] = m_items[m]
                if p < p_end and p_items[p] == m_items[m]:
                    p += 1
                m += 1
            else:
                hidden_items[h] = p_items[p]
                items[n] = p_items[p]
                pp[n] = np.float32(p_counts[p]) / unit[u]
                n += 1
                p += 1
            h += 1
        starts[b + 1], hidden_starts[b + 1] = n, h


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
