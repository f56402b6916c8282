"""LapDQ: pull the representations of head items and tail items together.

The regulariser is tr(Q^T L_D Q) = sum over pairs of d_ij ||q_i - q_j||^2 (Wasilewski and Hurley,
2016; the groups are those of Abdollahpouri et al., 2017). There is no official code, and which
pairs count as distant is open: those of different groups here, because minimising the distance
within groups would leave head and tail where they are.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor

from ppac.core.config import Section
from ppac.ingredients.groups import Balanced, moments
from ppac.scoring.method import Batch, Shared
from ppac.scoring.model import Model

Form = Literal["cross", "same", "means"]


class Config(Section):
    form: Form
    head: float = Field(gt=0, lt=1)
    weight: float = Field(ge=0)  # 0 is the base model


class Net(Balanced):
    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        super().__init__(model, shared, l2, config.head, config.weight)
        self.form = config.form

    def distance(self, batch: Batch, rep: tuple[Tensor, Tensor], negative: Tensor) -> Tensor:
        return omega(rep[1], self.head, self.form)


def omega(items: Tensor, head: Tensor, form: Form) -> Tensor:
    """The regulariser over all items (I, d), in linear time, divided by its number of pairs.

    The mean squared distance between a head and a tail item is V_H + V_T + ||mu_H - mu_T||^2;
    within groups it is V_H + V_T, up to a factor 2. The means alone are the control: they do
    not shrink the groups as well.
    """
    means, variances = moments(items, head)
    within, apart = variances.sum(), (means[0] - means[1]).square().sum()
    return {"cross": within + apart, "same": within, "means": apart}[form]
