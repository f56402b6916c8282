"""Ranking all items for users in blocks that fit a memory budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from ppac.core.config import Section
from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity
from ppac.core.seeds import rng
from ppac.scoring.scorer import Scorer

BYTES_PER_SCORE = 64  # parts, popularity, scores, sort keys and their temporaries


class ComputeConfig(Section):
    device: str
    threads: int = Field(gt=0)
    memory_mb: int = Field(gt=0)

    def use(self) -> torch.device:
        """Set torch up so that on CPU equal threads and seed give equal bytes."""
        torch.set_num_threads(self.threads)
        # The same as use_deterministic_algorithms, which takes a second to import a compiler.
        torch.set_deterministic_debug_mode("error")
        if self.device != "auto":
            try:
                return torch.empty(0, device=self.device).device
            except (RuntimeError, AssertionError) as error:
                reason = str(error).splitlines()[0]
                raise Problem(
                    f"params.yaml: 'compute.device' is {self.device!r}: {reason}"
                ) from None
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@dataclass(frozen=True)
class TieOrder:
    """Who comes first among equal scores: chance, the same chance every time.

    Personal popularity takes few values, so ties decide results, and ids often follow
    popularity. Each user sees a seeded permutation of the items from another starting point.
    """

    place: Tensor  # (I,) a permutation
    offset: Tensor  # (U,)

    @classmethod
    def seeded(cls, n_users: int, n_items: int, seed: int, dataset: str) -> TieOrder:
        stream = rng(seed, "ties", dataset)
        place = stream.permutation(n_items).astype(np.int32)
        offset = stream.integers(n_items, size=n_users, dtype=np.int32)
        return cls(torch.from_numpy(place), torch.from_numpy(offset))

    def of(self, users: Tensor) -> Tensor:
        """(B, I) places, each row a permutation of 0..I-1; a smaller place comes first."""
        return (self.place + self.offset[users, None]).remainder_(len(self.place))


@dataclass(frozen=True)
class Ranking:
    """Ranks for one dataset: what is masked, how popular things are, and how ties fall."""

    masked: Interactions
    popularity: Popularity
    ties: TieOrder
    device: torch.device
    memory_mb: int

    def blocks(self, users: np.ndarray) -> Iterator[Block]:
        """The users in blocks whose scores fit the budget."""
        size = max(1, self.memory_mb * 2**20 // (BYTES_PER_SCORE * self.masked.n_items))
        gp = torch.from_numpy(self.popularity.gp).to(self.device)
        for start in range(0, len(users), size):
            some = users[start : start + size]
            ids = torch.from_numpy(some.astype(np.int64))
            yield Block(
                users=some,
                ids=ids.to(self.device),
                pp=torch.from_numpy(self.popularity.block(some)).to(self.device),
                gp=gp,
                ties=self.ties.of(ids).to(self.device),
                hidden=tuple(t.to(self.device) for t in pairs_of(self.masked, some)),
            )


@dataclass(frozen=True)
class Block:
    """Some users and everything about them that does not depend on the scorer's weights."""

    users: np.ndarray
    ids: Tensor
    pp: Tensor
    gp: Tensor
    ties: Tensor
    hidden: tuple[Tensor, ...]

    def top(
        self, scorer: Scorer, parts: Tensor | None, weights: Mapping[str, float], k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The best ``k`` items (B, k) and their scores; item -1 where there are no more."""
        scores = scorer.combine(parts, self.pp, self.gp, weights)
        if scores.shape != self.pp.shape:
            raise ValueError(f"scores must be (users, items): {scores.shape}")
        if not scores.isfinite().all():
            raise Problem("the model's scores are not finite: training diverged; lower train.lr.")
        scores = scores.index_put(self.hidden, scores.new_tensor(-torch.inf))
        best = torch.topk(sort_keys(scores, self.ties), min(k, scores.shape[1]), dim=1)
        values = scores.gather(1, best.indices)
        items = torch.where(torch.isinf(values), -1, best.indices)
        return items.cpu().numpy(), values.cpu().numpy()


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
