"""Every base model, alone and under every method, on data whose answer is known."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from conftest import ROOT, checkerboard, popularity_of

from ppac.core import registry
from ppac.core.config import read_yaml
from ppac.core.interactions import Interactions
from ppac.core.seeds import rng
from ppac.layout import Cell
from ppac.scoring import trained
from ppac.scoring.method import Batch, Method, Shared, bpr
from ppac.scoring.propagation import Graph
from ppac.scoring.ranking import Ranking, TieOrder
from ppac.scoring.sampling import sample_negatives
from ppac.training.checkpoints import Checkpoint
from ppac.training.loop import TrainConfig, fit

BASES = registry.names("models")
METHODS = registry.names("methods")
CPU = torch.device("cpu")


def build(train: Interactions, base: str, method: str, **changes: object) -> Method:
    settings = trained.settings_of(read_yaml(ROOT / "params.yaml"), Cell("toy", base, method))
    settings[method] |= changes
    if needs_graph(method) and not hasattr(build(train, base, "base").model, "graph"):
        pytest.skip(f"{method} needs a graph, and {base} has none")
    torch.manual_seed(0)
    return trained.build(
        Cell("toy", base, method), settings, Shared(train, popularity_of(train)), l2=1e-4
    )


def needs_graph(method: str) -> bool:
    return getattr(registry.find("methods", method), "NEEDS_GRAPH", False)


def batch_of(train: Interactions, size: int = 64) -> Batch:
    stream = rng(1, "batch")
    pairs = stream.integers(len(train), size=size)
    users, positives = train.users[pairs], train.items[pairs]
    negatives = sample_negatives(train, users, stream)
    columns = (users, positives, negatives, pairs)
    return Batch(*(torch.from_numpy(column.astype(np.int64)) for column in columns))


def ranker_of(train: Interactions) -> Ranking:
    ties = TieOrder.seeded(train.n_users, train.n_items, 0, "toy")
    return Ranking(train, popularity_of(train), ties, CPU, memory_mb=64)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("base", BASES)
def test_the_checkerboard(base, method, tmp_path):
    """Half the items are the user's kind and one of them is missing: it must come first."""
    train = checkerboard(50)
    # A mean of the weights: those of one epoch swing, and on every kind of processor otherwise.
    config = TrainConfig(
        lr=0.01, batch=512, l2=0, average=0.9, epochs=300, patience=99, validate_every=300,
        validate_users=99, checkpoint_seconds=99,
    )  # fmt: skip
    missing = Interactions.of(np.arange(50), np.arange(50), 50, 50)
    net = build(train, base, method)
    checkpoint = Checkpoint("x", 99, tmp_path)
    state = fit(net, train, missing, ranker_of(train), config, partial(rng, 0), checkpoint)
    assert state.curve[-1]["recall_at_50"] == 1
    net.load_state_dict(state.weights)
    net.eval()
    for top in ranker_of(train).top(net, np.arange(50), [net.neutral], 1):
        assert (top.items[:, 0] == top.users).mean() > 0.9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("base", BASES)
def test_block_scores_equal_pair_scores(board, base, method):
    """The fast path over all items has the slow one, pair by pair, as its twin."""
    net = build(board, base, method)
    users, items = torch.arange(7), torch.arange(board.n_items)
    with torch.no_grad():
        left, right = net.model.rep()
        block = net.model.block(left[users], right)
        for row, user in enumerate(users):
            pair = net.model.pair(left[user].expand(len(items), -1), right)
            torch.testing.assert_close(block[row], pair, rtol=1e-4, atol=1e-5)
        assert net.parts(users, slice(None)).shape[-2:] == (7, board.n_items)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("base", BASES)
def test_the_loss_is_one_finite_number_and_reaches_every_parameter(board, base, method):
    net = build(board, base, method)
    loss = net.loss(batch_of(board))
    assert loss.shape == ()
    assert torch.isfinite(loss)
    loss.backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        last_bias = (base, name) == ("ncf", "model.rest.1.bias")  # cancels in BPR of plain scores
        if not (last_bias and method in ("base", "base-with-ci")):
            assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("base", BASES)
def test_extreme_scores_stay_finite(board, base, method):
    net = build(board, base, method)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(30)
    loss = net.loss(batch_of(board))
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in net.parameters())


def test_scores_of_pairs_must_be_one_dimensional():
    with pytest.raises(ValueError, match="must be"):
        bpr(torch.zeros(4, 1), torch.zeros(4))


def test_bpr_by_hand():
    value = bpr(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 0.0]))
    assert value.item() == pytest.approx((np.log1p(np.exp(-1)) + np.log(2)) / 2, rel=1e-6)


def test_the_regulariser_by_hand(board):
    net = build(board, "bprmf", "base")
    batch = batch_of(board, size=3)
    users, items = (table.detach().numpy() for table in net.model.ego())
    expected = np.mean(
        [
            (users[u] ** 2).sum() + (items[i] ** 2).sum() + (items[j] ** 2).sum()
            for u, i, j in zip(batch.users, batch.positives, batch.negatives, strict=True)
        ]
    )
    assert net.regulariser(net.rows(batch)[1]).item() == pytest.approx(
        1e-4 * 0.5 * expected, rel=1e-5
    )


def test_lightgcn_without_layers_is_bprmf(board):
    settings = {
        "lightgcn": {"dim": 64, "layers": 0},
        "base": {"squash": False},
        "bprmf": {"dim": 64},
    }
    shared = Shared(board, popularity_of(board))
    nets = []
    for base in ("lightgcn", "bprmf"):
        torch.manual_seed(0)
        nets.append(trained.build(Cell("toy", base, "base"), settings, shared, l2=1e-4))
    gradients = []
    for net in nets:
        net.loss(batch_of(board)).backward()
        gradients.append([p.grad for p in net.parameters()])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-7)


def test_lightgcn_propagates_as_defined(board):
    """z = mean of E, AE, A²E, A³E with A = D^-1/2 (R, R^T) D^-1/2, densely."""
    net = build(board, "lightgcn", "base")
    ratings = torch.from_numpy(board.matrix(np.float32).toarray())
    n = len(ratings)
    graph = torch.zeros(2 * n, 2 * n)
    graph[:n, n:], graph[n:, :n] = ratings, ratings.T
    scale = graph.sum(1).clamp(min=1).rsqrt()
    graph = scale[:, None] * graph * scale
    table = torch.cat(net.model.ego())
    expected = sum(torch.linalg.matrix_power(graph, p) @ table for p in range(4)) / 4
    got = torch.cat(net.model.rep())
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
    ours, theirs = (
        torch.autograd.grad(z.square().sum(), net.model.user_table, retain_graph=True)[0]
        for z in (got, expected)
    )
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", [5, 32, 70, 100])
def test_columns_are_propagated_alike_in_tables_of_any_width(board, width):
    graph = Graph(board)
    users, items = torch.randn(2, 50, 128, generator=torch.manual_seed(0))
    wide = graph.propagate(users, items, 3)
    narrow = graph.propagate(users[:, :width], items[:, :width], 3)
    for one, other in zip(wide, narrow, strict=True):
        torch.testing.assert_close(one[:, :width], other, rtol=1e-5, atol=1e-6)


def test_items_nobody_has_can_be_ranked():
    train = Interactions.of(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0]), 3, 5)
    for base in BASES:
        net = build(train, base, "base")
        with torch.inference_mode():
            assert torch.isfinite(net.parts(torch.arange(3), slice(None))).all()
