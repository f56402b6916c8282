"""Anything that can rank all items for a user: a trained method, or a learning-free ranker.

A scorer says in two steps how it scores. ``parts`` is what needs the model and does not
depend on inference-only weights; it is computed once for some users and items. ``combine``
turns parts and popularity into scores at given weights, so that sweeping a grid of weights
never runs the model again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

from torch import Tensor

from ppac.core.popularity import Popularity


class Scorer(ABC):
    neutral: Mapping[str, float] = {}
    """The inference-only weights and the values at which they have no effect."""

    personal: frozenset[str] = frozenset()
    """Those of them that act through personal popularity alone: where it is 0, no effect."""

    popularity: Popularity | None = None
    """A personal popularity of its own, where it ranks by another than the dataset's."""

    def parts(self, users: Tensor, items: slice) -> Tensor | None:
        """What the model says of ``users`` (B,) and ``items``: (B, n), or (c, B, n) if it says
        several things. Nothing, without a model."""
        return None

    def added(self, gp: Tensor, weights: Mapping[str, float]) -> Tensor | None:
        """What ``combine`` adds to parts (B, n) where pp is 0, for each item (n,), if adding is
        all it does: a grid of such weights is then one pass over the parts."""
        return None

    @abstractmethod
    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        """Scores from parts, pp, gp and weights, elementwise.

        Of users against items, (B, n) with gp (n,), and pp (B, n) or a single 0 for all; or of
        pairs, everything (m,). What the shapes broadcast to is the result's.
        """
