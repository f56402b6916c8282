"""User-based nearest neighbours: each neighbour counts by their Jaccard similarity.

The control that the paper lacks: what mostppop would be in any textbook.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from ppac.core.config import Section
from ppac.core.files import read_table
from ppac.counting.popularity import popularity
from ppac.scoring import ranker
from ppac.scoring.method import Shared


class Ranker(ranker.Ranker):
    def __init__(self, shared: Shared, config: Section | None = None) -> None:
        super().__init__(shared, config)
        assert shared.neighbours
        near = read_table(shared.neighbours)
        self.popularity = popularity(shared.train, near, shared.popularity.k, "fraction", power=1.0)

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        return pp
