"""IPS-C: IPS with capped weights, because the rarest items' would drown all others.

The cap is a quantile of the weights over items; DICE's code takes the median, TIDE a constant.
"""

from __future__ import annotations

from pydantic import Field

from ppac.core.config import Section
from ppac.ingredients.propensity import Weighted, inverse_propensity
from ppac.scoring.method import Shared
from ppac.scoring.model import Model


class Config(Section):
    exponent: float = Field(ge=0)
    cap: float = Field(ge=0, le=1)  # 1 is IPS, 0 the base model


class Net(Weighted):
    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        counts = shared.train.item_counts
        super().__init__(model, l2, inverse_propensity(counts, config.exponent, config.cap))
