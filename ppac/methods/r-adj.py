"""r-AdjNorm: LightGCN with the graph normalised as D^(r-1) A D^-r (Zhao et al., 2022).

r = 0.5 is LightGCN. Official code starts from 0.5 too, and one of its adjacencies has loops,
which this has not; the PPAC release only switches to averages over neighbours, r = 0.
"""

from __future__ import annotations

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from ppac.core.config import Section
from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.scoring.method import Batch, Method, Shared, bpr
from ppac.scoring.model import Model
from ppac.scoring.propagation import Graph, Pair

NEEDS_GRAPH = True


class Config(Section):
    r: float = Field(ge=0, le=2)


class Net(Method):
    def __init__(self, model: Model, shared: Shared, l2: float, config: Config) -> None:
        super().__init__(model, l2)
        graph = getattr(model, "graph", None)
        if not isinstance(graph, Graph):
            raise Problem(
                "params.yaml: method 'r-adj' changes how a graph is normalised and needs a base "
                "that has one: lightgcn."
            )
        model.graph = Adjusted(graph, shared.train, config.r)

    def loss(self, batch: Batch) -> Tensor:
        rep, ego = self.rows(batch)
        positive, negative = self.model.pair(rep.users, rep.items)
        return bpr(positive, negative) + self.regulariser(ego)


class Adjusted(nn.Module):
    """A graph normalised as D^(r-1) A D^-r.

    With S = D^-1/2 A D^-1/2, which ``Graph`` knows, that is D^(r-1/2) S D^(1/2-r). In a power
    of it the inner factors cancel, so only the first and the last are left of them.
    """

    def __init__(self, graph: Graph, train: Interactions, r: float) -> None:
        super().__init__()
        self.graph = graph
        self.users = nn.Buffer(scale(train.user_counts, 0.5 - r), persistent=False)
        self.items = nn.Buffer(scale(train.item_counts, 0.5 - r), persistent=False)

    def propagate(self, users: Tensor, items: Tensor, layers: int) -> Pair:
        users, items = self.graph.propagate(users * self.users, items * self.items, layers)
        return users / self.users, items / self.items


def scale(degrees: np.ndarray, power: float) -> Tensor:
    """degrees^power, (n, 1). A node without edges keeps its embedding whatever its scale."""
    return torch.from_numpy(np.maximum(degrees, 1.0) ** power).float()[:, None]
