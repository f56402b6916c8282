"""Anything that can rank all items for a user: a trained method, or a learning-free ranker.

A scorer says in two steps how it scores. ``parts`` is what needs the model and does not
depend on inference-only weights; it is computed once for a block of users. ``combine`` turns
parts and popularity into scores at given weights, so that sweeping a grid of weights never
runs the model again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from torch import Tensor


class Scorer(Protocol):
    neutral: Mapping[str, float]
    """The inference-only weights and the values at which they have no effect."""

    def parts(self, users: Tensor) -> Tensor | None:
        """What the model says of ``users`` (B,) and all items, (B, I); None without a model."""

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        """Scores (B, I) from the parts, pp (B, I), gp (I,) and the weights."""
