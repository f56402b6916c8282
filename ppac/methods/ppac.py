"""PPAC: personal-popularity-aware counterfactual inference (the paper, section 3).

Training multiplies the base score by learned popularity factors,

    y_ui = sigma(f_PP(u, i)) sigma(f_GP(i)) r_ui,

and regresses the factors on observed popularity (see ``ppac/ingredients/factors.py``). Inference
adds the observed popularity with weights of its own, which training never sees (equation 12):

    s_ui = y_ui + gamma p_ui + beta g_i.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from ppac.ingredients.factors import FactorConfig, Factored


class Config(FactorConfig):
    pass


class Net(Factored):
    neutral: Mapping[str, float] = {"gamma": 0.0, "beta": 0.0}
    personal = frozenset({"gamma"})

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        assert parts is not None
        return parts + (weights["gamma"] * pp + weights["beta"] * gp)

    def added(self, gp: Tensor, weights: Mapping[str, float]) -> Tensor:
        return weights["beta"] * gp
