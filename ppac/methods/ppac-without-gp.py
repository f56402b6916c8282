"""PPAC without global popularity (the paper's table 3): y = sigma(f_PP) r, then + gamma p."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from ppac.ingredients.factors import FactorConfig, Factored


class Config(FactorConfig):
    pass


class Net(Factored):
    factors = frozenset({"personal"})
    neutral: Mapping[str, float] = {"gamma": 0.0}
    personal = frozenset({"gamma"})

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        assert parts is not None
        return parts + weights["gamma"] * pp
