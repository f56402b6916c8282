"""LightGCN: BPRMF on embeddings averaged over a few graph propagations (He et al., 2020)."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
import torch
from pydantic import Field
from torch import Tensor

from ppac.core.config import Section
from ppac.core.interactions import Interactions
from ppac.scoring.model import Model


class Config(Section):
    dim: int = Field(gt=0)
    layers: int = Field(ge=0)


class Net(Model):
    """z = mean of E, AE, A²E, ..., with A the symmetrically normalised user-item graph."""

    graph: Tensor

    def __init__(self, train: Interactions, config: Config) -> None:
        super().__init__(train, config.dim)
        self.layers = config.layers
        self.register_buffer("graph", adjacency(train), persistent=False)

    def rep(self) -> tuple[Tensor, Tensor]:
        layer = torch.cat(self.ego())
        total = layer
        for _ in range(self.layers):
            layer = Propagate.apply(self.graph, layer)
            total = total + layer
        users, items = (total / (self.layers + 1)).split([len(t) for t in self.ego()])
        return users, items

    def pair(self, users: Tensor, items: Tensor) -> Tensor:
        return (users * items).sum(-1)

    def block(self, users: Tensor, items: Tensor) -> Tensor:
        return users @ items.T


class Propagate(torch.autograd.Function):
    """A @ E. A is symmetric, so the gradient is the same product."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, graph: Tensor, table: Tensor) -> Tensor:
        ctx.graph = graph  # type: ignore[attr-defined]
        return graph @ table

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: Tensor) -> tuple[None, Tensor]:
        return None, ctx.graph @ gradient  # type: ignore[attr-defined]


def adjacency(train: Interactions) -> Tensor:
    """D^-1/2 A D^-1/2 over users and items together, as sparse CSR."""
    ratings = train.matrix(np.float32)
    full = sp.bmat([[None, ratings], [ratings.T, None]], format="csr")
    degree = np.maximum(np.asarray(full.sum(axis=1)).ravel(), 1)
    scale = sp.diags((1 / np.sqrt(degree)).astype(np.float32))
    normal = (scale @ full @ scale).tocsr()
    normal.sort_indices()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            torch.from_numpy(normal.indptr.astype(np.int64)),
            torch.from_numpy(normal.indices.astype(np.int64)),
            torch.from_numpy(normal.data.astype(np.float32)),
            normal.shape,
            check_invariants=False,  # scipy has just built it
        )
