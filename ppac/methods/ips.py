"""IPS: the loss of each pair weighted by the inverse propensity of its positive.

Weights are DICE's form, 1 / (n_i / max n), to a power and normalised to mean 1. Other codebases
divide scores by the propensity, or weight a squared error of positives and negatives.
"""

from __future__ import annotations

from pydantic import Field

from ppac.core.config import Section
from ppac.ingredients.propensity import Weighted, inverse_propensity
from ppac.scoring.method import Shared
from ppac.scoring.model import Model


class Config(Section):
    exponent: float = Field(ge=0)  # 0 is the base model


class Net(Weighted):
    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        counts = shared.train.item_counts
        super().__init__(model, l2, inverse_propensity(counts, config.exponent))
