"""IPS-CN: IPS-C whose weights are normalised to mean 1 within every batch.

DICE's code divides by the largest weight instead, a constant factor that Adam undoes up to L2.
"""

from __future__ import annotations

from pydantic import Field
from torch import Tensor

from ppac.core.config import Section
from ppac.ingredients.propensity import Weighted, inverse_propensity
from ppac.scoring.method import Batch, Shared
from ppac.scoring.model import Model


class Config(Section):
    exponent: float = Field(ge=0)
    cap: float = Field(ge=0, le=1)


class Net(Weighted):
    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        counts = shared.train.item_counts
        super().__init__(model, l2, inverse_propensity(counts, config.exponent, config.cap))

    def weights(self, batch: Batch) -> Tensor:
        weight = super().weights(batch)
        return weight / weight.mean()
