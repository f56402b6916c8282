"""Some users against all items: what is kept of one tile of scores after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.scoring import dense
from ppac.scoring.places import mark_hits
from ppac.scoring.scorer import Scorer
from ppac.scoring.selection import EMPTY, NOTHING, finish, finite, select
from ppac.scoring.touched import Touched

if TYPE_CHECKING:
    from ppac.scoring.ranking import Ranking

Weights = Mapping[str, float]
Rest = tuple[float, ...]  # the weights that act on all items


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


class Block:
    """Some users, all items, a tile after the other."""

    def __init__(
        self, ranking: Ranking, scorer: Scorer, users: np.ndarray, k: int, tile: int
    ) -> None:
        self.scorer, self.users, self.tile = scorer, users, tile
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
        heaps = Heaps.empty(len(groups), len(self.users), self.k)
        parts = self.pass_over_items([grid[points[0]] for points in groups.values()], heaps)
        pp, gp = torch.from_numpy(self.touched.pp), self.gp[self.touched.items]
        for group, points in enumerate(groups.values()):
            for point in points:
                scores = self.scorer.combine(parts, pp, gp, grid[point]).expand(pp.shape)
                scores = scores.contiguous()
                if not finite(scores.numpy()):
                    raise Problem(dense.NOT_FINITE)
                yield point, Heaps(heaps.keys[group], heaps.items[group]), scores

    def pass_over_items(self, groups: Sequence[Weights], heaps: Heaps) -> Tensor | None:
        """Fill the heaps with items that pp does not touch; returns the parts of those it does."""
        kept: Tensor | None = None
        added = self.added(groups)
        for first in range(0, self.n_items, self.tile):
            tile = slice(first, min(first + self.tile, self.n_items))
            parts = self.scorer.parts(self.ids, tile)
            if parts is not None:
                kept = self.touched.room_for(parts) if kept is None else kept
                self.touched.pick(parts, first, kept)
            if parts is not None and added is not None:
                self.offer(parts, first, added, heaps)
            else:
                self.combine_and_offer(parts, tile, groups, heaps)
        return kept

    def added(self, groups: Sequence[Weights]) -> Tensor | None:
        """What each group adds to the parts of untouched items, if that is all it does."""
        rows = [self.scorer.added(self.gp, weights) for weights in groups]
        some = [row for row in rows if row is not None]
        return torch.stack(some) if len(some) == len(rows) else None

    def combine_and_offer(
        self, parts: Tensor | None, tile: slice, groups: Sequence[Weights], heaps: Heaps
    ) -> None:
        untouched, nothing = torch.zeros(()), torch.zeros(1, self.n_items)
        for group, weights in enumerate(groups):
            scores = self.scorer.combine(parts, untouched, self.gp[tile], weights)
            scores = scores.expand(len(self.users), tile.stop - tile.start)
            own = slice(group, group + 1)
            self.offer(scores, tile.start, nothing, Heaps(heaps.keys[own], heaps.items[own]))

    def offer(self, tile: Tensor, first: int, added: Tensor, heaps: Heaps) -> None:
        """Take what belongs to the best of each group."""
        scores = (tile.contiguous().numpy(), first, added.numpy())
        if not select(*scores, self.touched.hidden, *self.ties, *heaps):
            raise Problem(dense.NOT_FINITE)

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
    """The best so far, (B, k) each, or (G, B, k) of several groups; see selection.py."""

    keys: np.ndarray
    items: np.ndarray

    @classmethod
    def empty(cls, *shape: int) -> Heaps:
        return cls(np.full(shape, NOTHING), np.full(shape, EMPTY))
