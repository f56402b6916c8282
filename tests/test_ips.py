"""Inverse propensity weighting: what its neutral settings give, and its weights by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_models import BASES, batch_of, build

from ppac.ingredients.propensity import inverse_propensity

COUNTS = np.array([1, 2, 4, 8, 1, 4])


def gradients(net, batch) -> list[torch.Tensor]:
    loss = net.loss(batch)
    loss.backward()
    return [loss.detach(), *(parameter.grad for parameter in net.parameters())]


def assert_same(one, other, batch) -> None:
    for mine, theirs in zip(gradients(one, batch), gradients(other, batch), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-6, atol=1e-6)


NEUTRAL = [
    ("ips", {"exponent": 0.0}),
    ("ips-c", {"exponent": 0.0, "cap": 0.5}),
    ("ips-c", {"exponent": 1.0, "cap": 0.0}),
    ("ips-cn", {"exponent": 1.0, "cap": 0.0}),
]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(("method", "settings"), NEUTRAL)
def test_neutral_settings_are_the_base_model(train, base, method, settings):
    batch = batch_of(train)
    assert_same(build(train, base, method, **settings), build(train, base, "base"), batch)


def test_no_cap_is_ips(train):
    batch = batch_of(train)
    capped = build(train, "bprmf", "ips-c", exponent=0.7, cap=1.0)
    assert_same(capped, build(train, "bprmf", "ips", exponent=0.7), batch)


def test_equally_popular_items_are_the_base_model(board):
    """On a checkerboard every item has as many users."""
    batch = batch_of(board)
    assert_same(build(board, "bprmf", "ips"), build(board, "bprmf", "base"), batch)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("cap", [0.0, 0.25, 0.5, 1.0])
def test_weights_have_mean_one_over_train_pairs(exponent, cap):
    weight = inverse_propensity(COUNTS, exponent, cap)
    assert (weight * COUNTS).sum() / COUNTS.sum() == pytest.approx(1, rel=1e-6)
    assert (np.diff(weight[np.argsort(COUNTS, kind="stable")]) <= 1e-7).all()  # rarer, heavier


def test_the_cap_is_a_quantile_over_items():
    """Weights 8, 4, 2, 1, 8, 2 before normalising: their median is 3."""
    weight = inverse_propensity(COUNTS, 1.0, 0.5)
    np.testing.assert_allclose(weight / weight[3], [3, 3, 2, 1, 3, 2], rtol=1e-6)


def test_the_loss_by_hand(train):
    net = build(train, "bprmf", "ips", exponent=1.0)
    batch = batch_of(train, size=4)
    users, items = net.model.ego()
    weight = inverse_propensity(train.item_counts, 1.0)
    terms = []
    for u, i, j in zip(batch.users, batch.positives, batch.negatives, strict=True):
        gap = users[u] @ items[i] - users[u] @ items[j]
        terms.append(float(weight[i]) * torch.log1p(torch.exp(-gap)))
    expected = torch.stack(terms).mean() + net.regulariser(net.rows(batch)[1])
    torch.testing.assert_close(net.loss(batch), expected, rtol=1e-5, atol=1e-7)


def test_within_a_batch_the_weights_of_ips_cn_have_mean_one(train):
    net = build(train, "bprmf", "ips-cn", exponent=1.0, cap=0.9)
    weights = net.weights(batch_of(train, size=16))
    assert weights.shape == (16,)
    assert weights.mean().item() == pytest.approx(1, rel=1e-6)


def test_items_never_seen_weigh_as_the_rarest():
    weight = inverse_propensity(np.array([0, 1, 5]), 1.0)
    assert np.isfinite(weight).all()
    assert weight[0] == weight[1]
