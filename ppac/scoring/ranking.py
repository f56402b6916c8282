"""Ranking all items for users, in tiles of scores that stay in the processor's cache.

Personal popularity is sparse: a user's neighbours have some hundreds of items. Items they do
not have score the same at every weight that acts through personal popularity alone, so that
a grid of such weights needs one pass over all items; the touched items join afterwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.core.parallel import in_order
from ppac.core.popularity import Popularity
from ppac.core.seeds import rng
from ppac.scoring import dense
from ppac.scoring.scorer import Scorer
from ppac.scoring.selection import EMPTY, NOTHING, finish, select
from ppac.scoring.touched import Touched

TILE = 2048  # items
BLOCK = 256  # users
Weights = Mapping[str, float]
Rest = tuple[float, ...]  # the weights that act on all items
BYTES_PER_SCORE = 16  # of a tile: parts, scores and a temporary or two


@dataclass(frozen=True)
class TieOrder:
    """Who comes first among equal scores: chance, the same chance every time.

    Personal popularity takes few values, so ties decide results, and ids often follow
    popularity. Each user sees a seeded permutation of the items from another starting point.
    """

    place: np.ndarray  # (I,) a permutation
    offset: np.ndarray  # (U,)

    @classmethod
    def seeded(cls, n_users: int, n_items: int, seed: int, dataset: str) -> TieOrder:
        stream = rng(seed, "ties", dataset)
        place = stream.permutation(n_items).astype(np.int32)
        return cls(place, stream.integers(n_items, size=n_users, dtype=np.int32))


@dataclass(frozen=True)
class Top:
    """The best items of some users at one point of a grid."""

    users: np.ndarray  # (B,)
    point: int
    items: np.ndarray  # (B, k), best first; -1 where there are no more
    scores: np.ndarray  # (B, k)


@dataclass(frozen=True)
class Ranking:
    """Ranks for one dataset: what is masked, how popular things are, and how ties fall."""

    masked: Interactions
    popularity: Popularity
    ties: TieOrder
    device: torch.device
    memory_mb: int

    def top(
        self, scorer: Scorer, users: np.ndarray, grid: Sequence[Weights], k: int
    ) -> Iterator[Top]:
        """The best ``k`` of each user at each point of the grid, some users after the other."""
        if self.device.type != "cpu":
            for point, some, *best in dense.top(scorer, self, users, grid, k):
                yield Top(some, point, *best)
            return
        if not len(users):
            return
        threads = torch.get_num_threads()
        width = BYTES_PER_SCORE * min(TILE, self.masked.n_items) * threads
        size = max(1, min(BLOCK, -(-len(users) // threads), self.memory_mb * 2**20 // width))
        scorer.parts(torch.zeros(1, dtype=torch.int64), slice(0, 1))  # what is kept is made once
        torch.set_num_threads(1)  # a thread for some users, not some for each operation
        try:
            starts = range(0, len(users), size)
            work = (partial(self.tops, scorer, users[s : s + size], grid, k) for s in starts)
            with threadpool_limits(1, user_api="blas"):
                for tops in in_order(work, threads):
                    yield from tops
        finally:
            torch.set_num_threads(threads)

    def tops(self, scorer: Scorer, users: np.ndarray, grid: Sequence[Weights], k: int) -> list[Top]:
        with torch.inference_mode():
            return list(Block(self, scorer, users, k).at(grid))


class Block:
    """Some users, all items, a tile after the other."""

    def __init__(self, ranking: Ranking, scorer: Scorer, users: np.ndarray, k: int) -> None:
        self.scorer, self.users, self.ties = scorer, users, ranking.ties
        self.n_items = ranking.masked.n_items
        self.k = k
        self.ids = torch.from_numpy(users.astype(np.int64))
        self.gp = torch.from_numpy(ranking.popularity.gp)
        self.offset = ranking.ties.offset[users]
        self.touched = Touched.of(ranking.masked, ranking.popularity, users)

    def at(self, grid: Sequence[Weights]) -> Iterator[Top]:
        """Tops at each point of the grid; points that differ in personal weights only share."""
        groups: dict[Rest, list[int]] = defaultdict(list)
        for point, weights in enumerate(grid):
            rest = tuple(v for name, v in weights.items() if name not in self.scorer.personal)
            groups[rest].append(point)
        heaps = {rest: Heaps.empty(len(self.users), self.k) for rest in groups}
        parts = self.pass_over_items({rest: grid[p[0]] for rest, p in groups.items()}, heaps)
        pp, gp = torch.from_numpy(self.touched.pp), self.gp[self.touched.items]
        for rest, points in groups.items():
            for point in points:
                scores = self.scorer.combine(parts, pp, gp, grid[point]).expand(pp.shape)
                yield self.join(heaps[rest], scores.contiguous(), point)

    def pass_over_items(
        self, groups: Mapping[Rest, Weights], heaps: Mapping[Rest, Heaps]
    ) -> Tensor | None:
        """Fill the heaps with items that pp does not touch; returns the parts of those it does."""
        untouched = torch.zeros(())
        kept: Tensor | None = None
        for first in range(0, self.n_items, TILE):
            tile = slice(first, min(first + TILE, self.n_items))
            parts = self.scorer.parts(self.ids, tile)
            if parts is not None:
                kept = self.touched.room_for(parts) if kept is None else kept
                self.touched.pick(parts, first, kept)
            for rest, weights in groups.items():
                scores = self.scorer.combine(parts, untouched, self.gp[tile], weights)
                whole = scores.shape == (len(self.users), tile.stop - first)
                if not whole or (scores is parts and len(groups) > 1):
                    scores = scores.expand(len(self.users), tile.stop - first).clone()
                self.offer(scores.contiguous(), first, heaps[rest])
        return kept

    def offer(self, scores: Tensor, first: int, heaps: Heaps) -> None:
        """Take what belongs to the best from a tile of scores, which is written to."""
        hidden = (self.touched.hidden, self.touched.hidden_starts)
        if not select(scores.numpy(), first, *hidden, self.ties.place, self.offset, *heaps):
            raise Problem(dense.NOT_FINITE)

    def join(self, heaps: Heaps, scores: Tensor, point: int) -> Top:
        """The heaps and the touched items, sorted."""
        items = np.empty(heaps.items.shape, np.int32)
        values = np.empty(heaps.items.shape, np.float32)
        candidates = (scores.numpy(), self.touched.items, self.touched.starts)
        if not finish(*heaps, *candidates, self.ties.place, self.offset, items, values):
            raise Problem(dense.NOT_FINITE)
        return Top(self.users, point, items, values)


class Heaps(NamedTuple):
    """The best so far, (B, k) each; see selection.py."""

    keys: np.ndarray
    items: np.ndarray

    @classmethod
    def empty(cls, users: int, k: int) -> Heaps:
        return cls(np.full((users, k), NOTHING), np.full((users, k), EMPTY))
