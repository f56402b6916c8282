"""Ranking with torch alone: all scores of a few users at once, then top-k.

For devices that compiled kernels do not run on, and the twin that those are tested against.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.scoring.scorer import Scorer

if TYPE_CHECKING:
    from ppac.scoring.ranking import Ranking

BYTES_PER_SCORE = 64  # parts, popularity, scores, sort keys and their temporaries
NOT_FINITE = "the model's scores are not finite: training diverged; lower train.lr."


def top(
    scorer: Scorer, ranking: Ranking, users: np.ndarray, grid: Sequence[Mapping[str, float]], k: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Point of the grid, users, their best ``k`` items, and scores."""
    n_items, device = ranking.masked.n_items, ranking.device
    size = max(1, ranking.memory_mb * 2**20 // (BYTES_PER_SCORE * n_items))
    popular = scorer.popularity or ranking.popularity
    gp = torch.from_numpy(popular.gp).to(device)
    place = torch.from_numpy(ranking.ties.place)
    for start in range(0, len(users), size):
        some = users[start : start + size]
        ids = torch.from_numpy(some.astype(np.int64)).to(device)
        pp = torch.from_numpy(popular.block(some)).to(device)
        offset = torch.from_numpy(ranking.ties.offset[some])
        ties = (place + offset[:, None]).remainder_(n_items).to(device)
        hidden = tuple(t.to(device) for t in pairs_of(ranking.masked, some))
        parts = scorer.parts(ids, slice(0, n_items))
        for point, weights in enumerate(grid):
            scores = scorer.combine(parts, pp, gp, weights).expand(pp.shape)
            yield point, some, *best_of(scores, ties, hidden, k)


def best_of(
    scores: Tensor, ties: Tensor, hidden: tuple[Tensor, ...], k: int
) -> tuple[np.ndarray, np.ndarray]:
    if not scores.isfinite().all():
        raise Problem(NOT_FINITE)
    scores = scores.index_put(hidden, scores.new_tensor(-torch.inf))
    best = torch.topk(sort_keys(scores, ties), min(k, scores.shape[1]), dim=1)
    values = scores.gather(1, best.indices)
    items = torch.where(torch.isinf(values), -1, best.indices)
    return items.cpu().numpy().astype(np.int32), values.cpu().numpy()


def sort_keys(scores: Tensor, ties: Tensor) -> Tensor:
    """One distinct int64 per item that sorts by score, then by tie order.

    A float's bits, read as an integer, sort like the float once negative ones are flipped.
    Distinct keys make the result independent of how top-k treats equal values.
    """
    bits = (scores + 0.0).view(torch.int32)  # + 0.0 turns -0.0 into 0.0
    keys = bits.to(torch.int64)
    keys.bitwise_xor_((bits >> 31).bitwise_and_(0x7FFFFFFF))
    return keys.mul_(2**32).sub_(ties)


def pairs_of(some: Interactions, users: np.ndarray) -> tuple[Tensor, Tensor]:
    """Row within ``users`` and item of each of their interactions."""
    counts = some.user_counts[users]
    rows = np.repeat(np.arange(len(users)), counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    items = some.items[some.indptr[users].repeat(counts) + within]
    return torch.from_numpy(rows), torch.from_numpy(items.astype(np.int64))
