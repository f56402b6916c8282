"""Ranking as most published code does it: score a block of users, mask, top-k, count hits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from bench.scoring import TOP
from ppac.core.interactions import Interactions

Score = Callable[[np.ndarray], Tensor]  # users to (users, items)


def dot(users: np.ndarray, items: np.ndarray) -> Score:
    left, right = torch.from_numpy(users), torch.from_numpy(items)
    return lambda some: left[some] @ right.T


def perceptron(users: Tensor, items: Tensor, layers: nn.Module, pairs: int) -> Score:
    """``layers`` on the concatenated embeddings of every pair, so many pairs at once."""

    def score(some: np.ndarray) -> Tensor:
        rows = torch.from_numpy(some).repeat_interleave(len(items))
        columns = torch.arange(len(items)).repeat(len(some))
        blocks = zip(rows.split(pairs), columns.split(pairs), strict=True)
        scores = [layers(torch.cat([users[r], items[c]], dim=1)) for r, c in blocks]
        return torch.cat(scores).view(len(some), len(items))

    return score


def evaluate(
    score: Score, train: Interactions, relevant: Interactions, users: np.ndarray, block: int
) -> dict[str, np.ndarray]:
    """Recall and NDCG of the top 50, and its scores."""
    recalls, ndcgs, best = [], [], []
    discount = 1 / np.log2(np.arange(TOP) + 2)
    for start in range(0, len(users), block):
        some = users[start : start + block]
        with torch.inference_mode():
            scores = score(some)
            scores.index_put_(own(train, some), torch.tensor(-torch.inf))
            values, items = torch.topk(scores, TOP, dim=1)
        hits = relevant.contains(np.repeat(some, TOP), items.numpy().ravel()).reshape(-1, TOP)
        number = relevant.user_counts[some]
        ideal = np.cumsum(discount)[np.minimum(number, TOP) - 1]
        recalls.append(hits.sum(1) / number)
        ndcgs.append(hits @ discount / ideal)
        best.append(values.numpy())
    return {
        "scores": np.concatenate(best),
        "recall": np.concatenate(recalls).mean(),
        "ndcg": np.concatenate(ndcgs).mean(),
    }


def own(train: Interactions, users: np.ndarray) -> tuple[Tensor, Tensor]:
    """Row and item of everything the users have in train."""
    chosen = train.matrix()[users].tocoo()
    return torch.from_numpy(chosen.row.astype(np.int64)), torch.from_numpy(
        chosen.col.astype(np.int64)
    )
