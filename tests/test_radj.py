"""r-AdjNorm: the scaled symmetric graph against the asymmetric one it stands for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import ROOT, popularity_of
from test_models import BASES, batch_of, build

from ppac.core import registry
from ppac.core.config import read_yaml
from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.layout import Cell
from ppac.scoring import trained
from ppac.scoring.method import Shared


@pytest.fixture
def train():
    """Degrees from 0 to large on both sides: the last user has nothing, the last item nobody."""
    rng = np.random.default_rng(3)
    weights = 1 / np.arange(1, 41)
    items = rng.choice(40, size=900, p=weights / weights.sum())
    users = rng.choice(60, size=900, p=np.arange(1, 61) / np.arange(1, 61).sum())
    return Interactions.of(users, items, 61, 41)


def dense_graph(train, r):
    """D^(r-1) A D^-r, users before items."""
    ratings = torch.from_numpy(train.matrix(np.float64).toarray())
    n = train.n_users + train.n_items
    graph = torch.zeros(n, n, dtype=torch.float64)
    graph[: train.n_users, train.n_users :] = ratings
    graph[train.n_users :, : train.n_users] = ratings.T
    degree = graph.sum(1).clamp(min=1)
    return degree[:, None] ** (r - 1) * graph * degree**-r


@pytest.mark.parametrize("r", [0.0, 0.25, 0.5, 0.7, 1.0, 1.5])
def test_it_propagates_as_defined_both_ways(train, r):
    net = build(train, "lightgcn", "r-adj", r=r)
    ego = torch.cat(net.model.ego()).detach().double().requires_grad_()
    graph = dense_graph(train, r)
    assert torch.allclose(graph, graph.T) is (r == 0.5)
    expected = sum(torch.linalg.matrix_power(graph, p) @ ego for p in range(4)) / 4
    got = torch.cat(net.rep())
    torch.testing.assert_close(got.double(), expected, rtol=1e-4, atol=1e-6)
    toward = torch.randn(got.shape, generator=torch.Generator().manual_seed(1))
    (got * toward).sum().backward()
    (expected * toward).sum().backward()
    gradient = torch.cat([net.model.user_table.grad, net.model.item_table.grad])
    torch.testing.assert_close(gradient.double(), ego.grad, rtol=1e-4, atol=1e-5)


def test_r_0_averages_the_neighbours(train):
    net = build(train, "lightgcn", "r-adj", r=0.0)
    net.model.layers = 1
    users, items = net.model.ego()
    item = int(np.flatnonzero(train.item_counts > 0)[-1])
    theirs = users[train.users[train.items == item]].mean(0)
    torch.testing.assert_close(net.rep()[1][item], (items[item] + theirs) / 2)


def test_a_half_is_lightgcn_step_for_step(train):
    nets = build(train, "lightgcn", "r-adj", r=0.5), build(train, "lightgcn", "base")
    optimisers = [torch.optim.Adam(net.parameters(), lr=0.01) for net in nets]
    for size in (64, 32, 100):
        for net, optimiser in zip(nets, optimisers, strict=True):
            optimiser.zero_grad()
            net.loss(batch_of(train, size)).backward()
            optimiser.step()
        for one, other in zip(*(net.parameters() for net in nets), strict=True):
            assert torch.equal(one, other)
    for net in nets:
        net.eval()
    assert torch.equal(*(net.parts(torch.arange(9), slice(None)) for net in nets))


def test_another_r_ranks_with_what_it_was_trained_with(train):
    net = build(train, "lightgcn", "r-adj", r=0.1).eval()
    users, items = net.model.rep()
    with torch.no_grad():
        torch.testing.assert_close(net.parts(torch.arange(9), slice(None)), users[:9] @ items.T)
        plain = build(train, "lightgcn", "base").eval().parts(torch.arange(9), slice(None))
        assert not torch.allclose(net.parts(torch.arange(9), slice(None)), plain, atol=1e-3)


def test_it_adds_nothing_to_a_model_file(train):
    names = [build(train, "lightgcn", method).state_dict().keys() for method in ("r-adj", "base")]
    assert names[0] == names[1]


@pytest.mark.parametrize("base", [base for base in BASES if base != "lightgcn"])
def test_a_base_without_a_graph_is_refused(train, base):
    assert registry.find("methods", "r-adj").NEEDS_GRAPH
    cell = Cell("toy", base, "r-adj")
    settings = trained.settings_of(read_yaml(ROOT / "params.yaml"), cell)
    with pytest.raises(Problem, match=r"needs a base that has one: lightgcn"):
        trained.build(cell, settings, Shared(train, popularity_of(train)))
