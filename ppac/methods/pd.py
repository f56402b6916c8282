"""PD: popularity is a factor of the score in training and left out of the ranking.

Without timestamps this is PDG of the paper: one popularity for all of train. The official code
takes that of the interaction's period, scaled to [0, 1], where the rarest items are exactly 0.
"""

from __future__ import annotations

from pydantic import Field

from ppac.core.config import Section
from ppac.ingredients.deconfounding import Deconfounded
from ppac.scoring.method import Shared
from ppac.scoring.model import Model


class Config(Section):
    power: float = Field(ge=0)


class Net(Deconfounded):
    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        super().__init__(model, shared, l2, config.power)
