"""Ranking all items for users, in tiles of scores that stay in the processor's cache.

Personal popularity is sparse: a user's neighbours have some hundreds of items. Items they do
not have score the same at every weight that acts through personal popularity alone, so that
a grid of such weights needs one pass over all items; the touched items join afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from ppac.core.interactions import Interactions
from ppac.core.parallel import in_order
from ppac.core.popularity import Popularity
from ppac.core.seeds import rng
from ppac.scoring import dense
from ppac.scoring.block import Block, Heaps, Hits, Top, Weights
from ppac.scoring.lists import hits_of
from ppac.scoring.scorer import Scorer

T = TypeVar("T")
TILE = 2048  # items, a multiple of selection.RUN
BLOCK = 256  # users
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

    @classmethod
    def by_id(cls, n_users: int, n_items: int, lower_first: bool) -> TieOrder:
        """The same order for everyone."""
        place = np.arange(n_items, dtype=np.int32)
        return cls(place if lower_first else place[::-1].copy(), np.zeros(n_users, np.int32))


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
                block = Block(self, scorer, some, k, TILE)
                return [end(block, *point) for point in block.at(grid)]

        try:
            starts = range(0, len(users), size)
            pieces = (partial(work, users[start : start + size]) for start in starts)
            for done in in_order(pieces, threads):
                yield from done
        finally:
            torch.set_num_threads(threads)
