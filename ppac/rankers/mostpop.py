"""Everyone gets the items with the highest global popularity."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor


class Ranker:
    neutral: Mapping[str, float] = {}

    def parts(self, users: Tensor) -> None:
        return None

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        return gp.expand_as(pp)
