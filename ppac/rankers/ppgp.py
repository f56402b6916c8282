"""PPAC's correction without a model: gamma * personal + beta * global popularity.

How much of PPAC's gain is learned? This control says how much is not."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from ppac.scoring import ranker


class Ranker(ranker.Ranker):
    neutral: Mapping[str, float] = {"gamma": 1.0, "beta": 0.0}
    personal = frozenset({"gamma"})

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        return weights["gamma"] * pp + weights["beta"] * gp
