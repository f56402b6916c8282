"""Ranking all items for users, in tiles of scores that stay in the processor's cache.

Personal popularity is sparse: a user's neighbours have some hundreds of items. Items they do
not have score the same at every weight that acts through personal popularity alone, so that
a grid of such weights needs one pass over all items; the touched items join afterwards.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

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
from ppac.scoring.lists import hits_of
from ppac.scoring.places import mark_hits
from ppac.scoring.scorer import Scorer
from ppac.scoring.selection import EMPTY, NOTHING, finish, finite, select
from ppac.scoring.touched import Touched

T = TypeVar("T")
TILE = 2048  # items, a multiple of selection.RUN
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
class Hits:
    """Where the relevant items are among the best of some users at one point of a grid."""

    users: np.ndarray  # (B,)
    point: int
    hits: np.ndarray  # (B, k) bool


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
        if self.device.type == "cpu":
            yield from self.by_block(scorer, users, grid, k, Block.join)
            return
        for point, some, *best in dense.top(scorer, self, users, grid, k):
            yield Top(some, point, *best)

    def hits(
        self,
        scorer: Scorer,
        users: np.ndarray,
        grid: Sequence[Weights],
        k: int,
        relevant: Interactions,
    ) -> Iterator[Hits]:
        """Where in ``top`` the relevant items are, for less than the lists would cost."""
        if self.device.type == "cpu":
            find = partial(Block.find, relevant=relevant)
            yield from self.by_block(scorer, users, grid, k, find)
            return
        for top in self.top(scorer, users, grid, k):
            yield Hits(top.users, top.point, hits_of(top.users, top.items, relevant))

    def by_block(
        self,
        scorer: Scorer,
        users: np.ndarray,
        grid: Sequence[Weights],
        k: int,
        end: Callable[[Block, int, Heaps, Tensor], T],
    ) -> Iterator[T]:
        """What ``end`` makes of each block of users at each point of the grid."""
        if not len(users):
            return
        threads = torch.get_num_threads()
        n_items = self.masked.n_items
        per_user = BYTES_PER_SCORE * min(TILE, n_items) + n_items // 8  # a bit: whether hidden
        most = self.memory_mb * 2**20 // (per_user * threads)
        size = max(1, min(BLOCK, -(-len(users) // threads), most))
        scorer.parts(torch.zeros(1, dtype=torch.int64), slice(0, 1))  # what is kept is made once
        torch.set_num_threads(1)  # a thread for some users, not some for each operation

        def work(some: np.ndarray) -> list[T]:
            with torch.inference_mode():
                block = Block(self, scorer, some, k)
                return [end(block, *point) for point in block.at(grid)]

        try:
            starts = range(0, len(users), size)
            pieces = (partial(work, users[start : start + size]) for start in starts)
            with threadpool_limits(1, user_api="blas"):
                for done in in_order(pieces, threads):
                    yield from done
        finally:
            torch.set_num_threads(threads)


class Block:
    """Some users, all items, a tile after the other."""

    def __init__(self, ranking: Ranking, scorer: Scorer, users: np.ndarray, k: int) -> None:
        self.scorer, self.users = scorer, users
        self.ties = (ranking.ties.place, ranking.ties.offset[users])
        self.n_items = ranking.masked.n_items
        self.k = k
        self.ids = torch.from_numpy(users.astype(np.int64))
        popular = scorer.popularity or ranking.popularity
        self.gp = torch.from_numpy(popular.gp)
        self.touched = Touched.of(ranking.masked, popular, users)

    def at(self, grid: Sequence[Weights]) -> Iterator[tuple[int, Heaps, Tensor]]:
        """Points of the grid, the heaps of untouched items and the scores of touched ones there.

        Points that differ in personal weights only share heaps.
        """
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
                scores = scores.contiguous()
                if not finite(scores.numpy()):
                    raise Problem(dense.NOT_FINITE)
                yield point, heaps[rest], scores

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
                scores = scores.expand(len(self.users), tile.stop - first).contiguous()
                hidden = self.touched.hidden
                if not select(scores.numpy(), first, hidden, *self.ties, *heaps[rest]):
                    raise Problem(dense.NOT_FINITE)
        return kept

    def join(self, point: int, heaps: Heaps, scores: Tensor) -> Top:
        """The heaps and the touched items, sorted."""
        items = np.empty(heaps.items.shape, np.int32)
        values = np.empty(heaps.items.shape, np.float32)
        candidates = (scores.numpy(), self.touched.items, self.touched.starts)
        finish(*heaps, *candidates, *self.ties, items, values)
        return Top(self.users, point, items, values)

    def find(self, point: int, heaps: Heaps, scores: Tensor, relevant: Interactions) -> Hits:
        """Where among both the relevant items are."""
        hits = np.zeros(heaps.items.shape, np.bool_)
        touched = (scores.numpy(), self.touched.items, self.touched.starts)
        wanted = (relevant.indptr, relevant.items)
        mark_hits(tuple(heaps), touched, wanted, self.ties, self.users, hits)
        return Hits(self.users, point, hits)


class Heaps(NamedTuple):
    """The best so far, (B, k) each; see selection.py."""

    keys: np.ndarray
    items: np.ndarray

    @classmethod
    def empty(cls, users: int, k: int) -> Heaps:
        return cls(np.full((users, k), NOTHING), np.full((users, k), EMPTY))
