"""PPAC without personal popularity (the paper's table 3): y = sigma(f_GP) r, then + beta g."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from ppac.ingredients.factors import FactorConfig, Factored


class Config(FactorConfig):
    pass


class Net(Factored):
    factors = frozenset({"global"})
    neutral: Mapping[str, float] = {"beta": 0.0}

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        assert parts is not None
        return parts + weights["beta"] * gp

    def added(self, gp: Tensor, weights: Mapping[str, float]) -> Tensor:
        return weights["beta"] * gp
