"""LapDQ: its linear-time value against the graph Laplacian it is defined by."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_models import BASES, batch_of, build

from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.core.registry import find
from ppac.ingredients.groups import head_items, moments

omega = find("methods", "lapdq").omega
FORMS = ["cross", "same", "means"]


@pytest.fixture
def toy():
    """60 items in 5 dimensions, 12 of them in the head, far from zero."""
    rng = np.random.default_rng(0)
    return torch.from_numpy(rng.normal(3, 1, (60, 5))), head_items(rng.permutation(60), 0.2)


@pytest.fixture
def train():
    rng = np.random.default_rng(3)
    weights = 1 / np.arange(1, 41)
    items = rng.choice(40, size=900, p=weights / weights.sum())
    return Interactions.of(rng.integers(60, size=900), items, 60, 40)


def trace(items, near):
    """tr(Q^T L Q) with the dense Laplacian L of the weights ``near``."""
    laplacian = torch.diag(near.sum(1)) - near
    return torch.trace(items.T @ laplacian @ items)


def dense(items, head, form):
    """The definition of each form, every pair weighted by one over the number of its like."""
    h, t = head.double(), (~head).double()
    if form == "same":
        return trace(items, torch.outer(h, h) / h.sum() ** 2 + torch.outer(t, t) / t.sum() ** 2)
    if form == "cross":
        return trace(items, (torch.outer(h, t) + torch.outer(t, h)) / (h.sum() * t.sum()))
    return (items[head].mean(0) - items[~head].mean(0)).square().sum()


@pytest.mark.parametrize("form", FORMS)
def test_linear_time_equals_the_dense_trace(toy, form):
    items, head = toy
    ours, theirs = items.clone().requires_grad_(), items.clone().requires_grad_()
    value, expected = omega(ours, head, form), dense(theirs, head, form)
    assert value.shape == ()
    assert value.item() == pytest.approx(expected.item(), rel=1e-9)
    value.backward()
    expected.backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_a_translation_of_all_items_changes_nothing(toy, form):
    items, head = toy
    before, after = omega(items, head, form), omega(items + torch.arange(5) * 10, head, form)
    assert after.item() == pytest.approx(before.item(), rel=1e-9)


def test_same_and_cross_pairs_are_all_pairs(toy):
    items, head = toy
    n_head, n_tail = int(head.sum()), int((~head).sum())
    _, variances = moments(items, head)
    same = n_head**2 * variances[0] + n_tail**2 * variances[1]
    cross = n_head * n_tail * omega(items, head, "cross")
    everything = trace(items, torch.ones(60, 60, dtype=torch.float64))
    assert (same + cross).item() == pytest.approx(everything.item(), rel=1e-9)


def test_the_forms_differ_by_the_means(toy):
    cross, same, means = (omega(*toy, form) for form in FORMS)
    assert cross.item() == pytest.approx((same + means).item(), rel=1e-12)
    assert min(same, means) > 0


def test_far_from_zero_single_precision_still_tells_small_variances(toy):
    items, head = toy
    value = omega((items * 1e-3 + 100).float(), head, "same").item()
    assert value == pytest.approx(1e-6 * omega(items, head, "same").item(), rel=0.05)


@pytest.mark.parametrize("share", [0.001, 0.999])
def test_one_group_alone_is_refused(board, share):
    with pytest.raises(Problem, match="one group empty"):
        build(board, "bprmf", "lapdq", head=share)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("base", BASES)
def test_without_weight_it_is_the_base_model(train, base, form):
    ours, plain = build(train, base, "lapdq", form=form, weight=0), build(train, base, "base")
    batch = batch_of(train)
    losses = [net.loss(batch) for net in (ours, plain)]
    torch.testing.assert_close(*losses, rtol=1e-6, atol=1e-6)
    for loss in losses:
        loss.backward()
    for one, other in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("base", BASES)
def test_it_acts_on_what_is_scored(train, base):
    """On a graph those are the propagated items, not the embeddings."""
    ours, plain = build(train, base, "lapdq", weight=2.0), build(train, base, "base")
    batch = batch_of(train)
    head = head_items(train.item_counts, ours.head.float().mean().item())
    extra = ours.loss(batch) - plain.loss(batch)
    expected = 2 * dense(ours.model.rep()[1].double(), head, "cross")
    assert extra.item() == pytest.approx(expected.item(), rel=1e-4)


def test_a_graph_is_propagated_once_a_step(train, monkeypatch):
    net = build(train, "lightgcn", "lapdq")
    rep, calls = net.model.rep, []
    monkeypatch.setattr(net.model, "rep", lambda: calls.append(1) or rep())
    net.loss(batch_of(train))
    assert len(calls) == 1


def test_training_brings_head_and_tail_together(train):
    gaps = []
    for weight in (0.0, 1.0):
        net = build(train, "bprmf", "lapdq", weight=weight)
        optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
        for _ in range(60):
            optimiser.zero_grad()
            net.loss(batch_of(train, size=300)).backward()
            optimiser.step()
        gaps.append(omega(net.model.rep()[1], net.head, "means").item())
    assert gaps[1] < gaps[0] / 4
