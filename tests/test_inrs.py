"""INRS: its term on scores of which everything is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from test_models import BASES, batch_of, build

from ppac.core.interactions import Interactions
from ppac.core.registry import find

inrs = find("methods", "inrs")
TERMS = ["mean", "bhattacharyya"]


@pytest.fixture
def toy():
    """200 scores, of which 50 are of head items and higher."""
    rng = np.random.default_rng(0)
    head = torch.from_numpy(rng.permutation(200) < 50)
    return torch.from_numpy(rng.normal(0, 1, 200)) + 2 * head, head


@pytest.fixture
def train():
    rng = np.random.default_rng(3)
    weights = 1 / np.arange(1, 201)
    items = rng.choice(200, size=2000, p=weights / weights.sum())
    return Interactions.of(rng.integers(60, size=2000), items, 60, 200)


def by_hand(scores, head, term):
    one, other = scores[head].numpy(), scores[~head].numpy()
    apart = (one.mean() - other.mean()) ** 2
    if term == "mean":
        return apart / 2
    v, w = one.var(), other.var()
    return apart / (v + w) / 4 + np.log((v + w) / (2 * np.sqrt(v * w))) / 2


@pytest.mark.parametrize("term", TERMS)
def test_the_term_by_hand(toy, term):
    value = inrs.dependence(*toy, term)
    assert value.shape == ()
    assert value.item() == pytest.approx(by_hand(*toy, term), rel=1e-9)


@pytest.mark.parametrize("term", TERMS)
def test_a_constant_added_to_all_scores_changes_nothing(toy, term):
    scores, head = toy
    shifted = inrs.dependence(scores + 17, head, term)
    assert shifted.item() == pytest.approx(inrs.dependence(scores, head, term).item(), rel=1e-9)


def test_it_is_zero_once_the_difference_is_subtracted(toy):
    scores, head = toy
    difference = scores[head].mean() - scores[~head].mean()
    assert inrs.dependence(scores - difference * head, head, "mean").item() < 1e-25


def test_bhattacharyya_is_zero_between_equal_distributions_only(toy):
    scores, _ = toy
    twice, head = torch.cat([scores, scores]), torch.arange(400) < 200
    assert inrs.dependence(twice, head, "bhattacharyya").item() == pytest.approx(0, abs=1e-12)
    wider = torch.where(head, (twice - scores.mean()) * 3 + scores.mean(), twice)
    assert inrs.dependence(wider, head, "mean").item() == pytest.approx(0, abs=1e-12)
    assert inrs.dependence(wider, head, "bhattacharyya").item() > 0.1


def test_shrinking_all_scores_satisfies_the_means_only(toy):
    scores, head = toy
    for term, factor in (("mean", 0.01), ("bhattacharyya", 1.0)):
        full, shrunk = (inrs.dependence(s, head, term).item() for s in (scores, scores / 10))
        assert shrunk == pytest.approx(full * factor, rel=1e-9)


@pytest.mark.parametrize("term", TERMS)
def test_gradients_by_finite_differences(toy, term):
    scores, head = toy
    scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda s: inrs.dependence(s, head, term), scores)


def test_the_gradient_of_one_head_score_by_hand(toy):
    scores, head = toy
    scores.requires_grad_()
    inrs.dependence(scores, head, "mean").backward()
    gap = (scores[head].mean() - scores[~head].mean()).item()
    np.testing.assert_allclose(scores.grad[head], gap / 50, rtol=1e-9)
    np.testing.assert_allclose(scores.grad[~head], -gap / 150, rtol=1e-9)


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.parametrize("fill", [True, False])
def test_an_empty_group_is_skipped(term, fill):
    assert inrs.dependence(torch.randn(9), torch.full((9,), fill), term).item() == 0


@pytest.mark.parametrize("term", TERMS)
def test_equal_scores_stay_finite(term):
    scores = torch.full((9,), 5.0, requires_grad=True)
    value = inrs.dependence(scores, torch.arange(9) < 3, term)
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(scores.grad).all()


def test_scores_must_be_one_dimensional():
    with pytest.raises(ValueError, match="must be"):
        inrs.dependence(torch.zeros(4, 1), torch.zeros(4, dtype=torch.bool), "mean")


@pytest.mark.parametrize("base", BASES)
def test_without_weight_it_is_the_base_model(train, base):
    ours, plain = build(train, base, "inrs", weight=0), build(train, base, "base")
    batch = batch_of(train)
    losses = [net.loss(batch) for net in (ours, plain)]
    torch.testing.assert_close(*losses, rtol=1e-6, atol=1e-6)
    for loss in losses:
        loss.backward()
    for one, other in zip(ours.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("squash", ["raw", "sigmoid"])
@pytest.mark.parametrize("base", BASES)
def test_with_enough_of_both_groups_it_is_over_the_negatives(train, base, squash):
    ours = build(train, base, "inrs", weight=3.0, scores=squash)
    plain = build(train, base, "base")
    batch = batch_of(train, size=400)
    head = ours.head[batch.negatives]
    assert min(head.sum(), (~head).sum()) >= 32
    with torch.no_grad():
        users, items = ours.model.rep()
        scores = ours.model.pair(users[batch.users], items[batch.negatives])
        scores = scores if squash == "raw" else torch.sigmoid(scores)
        extra = ours.loss(batch) - plain.loss(batch)
    expected = 3 * by_hand(scores.double(), head, "mean")
    assert extra.item() == pytest.approx(expected, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("base", BASES)
def test_a_group_with_few_negatives_gets_further_pairs(train, base):
    """Even if it has none: then the difference of means is still one of both groups."""
    net = build(train, base, "inrs")
    batch = batch_of(train)
    tail = (~net.head).nonzero()[:, 0]
    batch = replace(batch, negatives=tail[torch.arange(64) % len(tail)])
    reps = net.rep()
    scores = net.model.pair(reps[0][batch.users], reps[1][batch.negatives])
    value = net.distance(batch, reps, scores)
    users, items = inrs.draw(batch, net.head, 32)
    more = net.model.pair(reps[0][users], reps[1][items])
    assert value.item() == pytest.approx((more.mean() - scores.mean()).item() ** 2 / 2, rel=1e-4)
    value.backward()
    assert net.model.item_table.grad[net.head].abs().sum() > 0


def test_further_pairs_are_of_the_batch_and_the_group_and_depend_on_nothing_else(train):
    net, batch = build(train, "bprmf", "inrs"), batch_of(train)
    users, items = inrs.draw(batch, net.head, 500)
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    for one, other in zip((users, items), inrs.draw(batch, net.head, 500), strict=True):
        assert torch.equal(one, other)
    assert torch.isin(users, batch.users).all()
    assert net.head[items].all()
    assert set(items.tolist()) == set(net.head.nonzero()[:, 0].tolist())  # all of them, in time
    elsewhere = inrs.draw(replace(batch, pairs=batch.pairs + 1), net.head, 500)
    assert not torch.equal(items, elsewhere[1])


@pytest.mark.parametrize("size", [1, 2, 31])
@pytest.mark.parametrize("term", TERMS)
def test_the_smallest_batches_stay_finite(train, term, size):
    net = build(train, "bprmf", "inrs", term=term)
    loss = net.loss(batch_of(train, size=size))
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in net.parameters())


def test_training_brings_scores_of_head_and_tail_together(train):
    """Where a ranking looks for items: at pairs that are not in train."""
    gaps, new = [], torch.from_numpy(train.matrix(np.float32).toarray() == 0)
    for weight in (0.0, 10.0):
        net = build(train, "bprmf", "inrs", weight=weight)
        optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
        for _ in range(60):
            optimiser.zero_grad()
            net.loss(batch_of(train, size=1000)).backward()
            optimiser.step()
        with torch.no_grad():
            scores = net.parts(torch.arange(60), slice(None))
        of_head, of_tail = (scores[new & group].mean() for group in (net.head, ~net.head))
        gaps.append(abs(of_head - of_tail).item())
    assert gaps[1] < gaps[0] / 3
