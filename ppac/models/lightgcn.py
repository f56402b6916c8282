"""LightGCN: BPRMF on embeddings averaged over a few graph propagations (He et al., 2020)."""

from __future__ import annotations

from pydantic import Field
from torch import Tensor

from ppac.core.config import Section
from ppac.core.interactions import Interactions
from ppac.scoring.gather import dot
from ppac.scoring.model import Model
from ppac.scoring.propagation import Graph


class Config(Section):
    dim: int = Field(gt=0)
    layers: int = Field(ge=0)


class Net(Model):
    """z = mean of E, AE, A²E, ..., with A the symmetrically normalised user-item graph."""

    def __init__(self, train: Interactions, config: Config, graph: Graph | None = None) -> None:
        super().__init__(train, config)
        self.layers = config.layers
        self.graph = graph or Graph(train)

    def another(self, dim: int) -> Net:
        train, config = self.made_of
        return Net(train, config.model_copy(update={"dim": dim}), self.graph)

    def rep(self) -> tuple[Tensor, Tensor]:
        return self.graph.propagate(*self.ego(), self.layers)

    def pair(self, users: Tensor, items: Tensor) -> Tensor:
        return dot(users, items)

    def block(self, users: Tensor, items: Tensor) -> Tensor:
        return users @ items.T
