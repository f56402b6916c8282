"""PD and PDA: what must hold whatever was learned."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import popularity_of
from test_models import BASES, batch_of, build
from test_ppac import tops

from ppac.core.interactions import Interactions
from ppac.ingredients.deconfounding import positive, relative_popularity
from ppac.layout import Cell
from ppac.scoring import trained
from ppac.scoring.method import Shared, bpr

BOTH = ("pd", "pda")


def even(n_users: int = 30, n_items: int = 24) -> Interactions:
    """Every item is as popular as every other."""
    users = np.repeat(np.arange(n_users), 4)
    return Interactions.of(users, np.arange(len(users)) % n_items, n_users, n_items)


def test_elu_is_positive_ascending_and_smooth_at_0():
    x = torch.tensor([-200.0, -20.0, -1.0, -1e-3, 0.0, 1e-3, 1.0, 1e6], requires_grad=True)
    y = positive(x)
    assert (y >= 0).all()
    assert (y[1:] > 0).all()
    assert (y.diff() > 0).all()
    torch.testing.assert_close(y[2:4], torch.exp(x[2:4]))
    torch.testing.assert_close(y[4:], x[4:] + 1)
    y.sum().backward()
    torch.testing.assert_close(x.grad, torch.exp(x.detach().clamp(max=0)))


def test_popularity_by_hand():
    np.testing.assert_allclose(relative_popularity(np.array([0, 9, 4])), [0.1, 1, 0.5])


@pytest.mark.parametrize("method", BOTH)
def test_the_loss_by_hand(train, method):
    net = build(train, "bprmf", method, power=0.5)
    with torch.no_grad():
        net.model.user_table.mul_(10)  # scores on both sides of 0
    batch = batch_of(train, size=12)
    users, items = (table.detach().numpy() for table in net.model.ego())
    counts = train.item_counts
    terms, seen = [], set()
    for u, *two in zip(batch.users, batch.positives, batch.negatives, strict=True):
        y = []
        for item in two:
            r = float(users[u] @ items[item])
            seen.add(r > 0)
            elu = r + 1 if r > 0 else np.exp(r)
            y.append(elu * ((counts[item] + 1) / (counts.max() + 1)) ** 0.5)
        terms.append(np.log1p(np.exp(y[1] - y[0])))
    assert seen == {True, False}
    expected = np.mean(terms) + net.regulariser(net.rows(batch)[1]).item()
    assert net.loss(batch).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("base", BASES)
def test_without_popularity_it_is_bpr_on_positive_scores(train, base, method):
    batch = batch_of(train)
    for data, power in ((train, 0.0), (even(60, 40), 0.7)):
        net = build(data, base, method, power=power)
        rep, ego = net.rows(batch)
        scores = positive(net.model.pair(rep.users, rep.items))
        torch.testing.assert_close(
            net.loss(batch), bpr(*scores) + net.regulariser(ego), rtol=1e-6, atol=1e-7
        )


@pytest.mark.parametrize("base", BASES)
def test_pda_without_its_exponent_ranks_as_pd(train, base):
    pd, pda = (build(train, base, method) for method in BOTH)
    pda.load_state_dict(pd.state_dict())
    assert (tops(pda, train, k=50) == tops(pd, train, k=50)).all()
    assert not (tops(pda, train, k=50, exponent=0.24) == tops(pd, train, k=50)).all()


def test_equally_popular_items_rank_as_without_popularity():
    flat = even()
    pd, pda = (build(flat, "bprmf", method) for method in BOTH)
    assert (tops(pda, flat, k=50, exponent=5.0) == tops(pd, flat, k=50)).all()


def test_pd_ranks_by_the_score_itself(train):
    net = build(train, "bprmf", "pd")
    assert net.neutral == {}
    users = torch.arange(5)
    left, right = net.model.ego()
    torch.testing.assert_close(net.parts(users, slice(None)), left[users] @ right.T)


@pytest.mark.parametrize("scale", ["fraction", "l2"])
def test_pda_scores_are_the_logarithm_of_the_product(train, scale):
    """Whatever unit global popularity is in."""
    settings = {"bprmf": {"dim": 64}, "pda": {"power": 0.1}}
    popular = popularity_of(train, scale=scale)
    net = trained.build(Cell("toy", "bprmf", "pda"), settings, Shared(train, popular))
    with torch.no_grad():
        net.model.user_table.mul_(10)
        users, gp = torch.arange(7), torch.from_numpy(popular.gp)
        parts = net.parts(users, slice(None))
        got = net.combine(parts, torch.zeros(()), gp, {"exponent": 0.3})
        left, right = net.model.ego()
        share = torch.from_numpy(relative_popularity(train.item_counts)).float()
        expected = positive(left[users] @ right.T) * share**0.3
    assert got.shape == (7, 40)
    torch.testing.assert_close(got.exp(), expected, rtol=1e-5, atol=1e-6)
    of_pairs = net.combine(parts[[1, 4], [7, 9]], torch.zeros(()), gp[[7, 9]], {"exponent": 0.3})
    torch.testing.assert_close(of_pairs, got[[1, 4], [7, 9]])


def test_a_larger_exponent_lists_more_popular_items():
    rng = np.random.default_rng(5)
    odds = 1 / np.arange(1, 301)
    items = rng.choice(300, size=4000, p=odds / odds.sum())
    many = Interactions.of(rng.integers(80, size=4000), items, 80, 300)
    net = build(many, "bprmf", "pda")
    listed = [tops(net, many, k=50, exponent=e) for e in (0.0, 0.05, 0.1, 0.2, 0.5)]
    means = [many.item_counts[lists].mean() for lists in listed]
    assert (np.diff(means) > 0).all()


def test_far_below_0_scores_still_rank(train):
    """e^-1000 is 0 in any float, yet PDA's order is PD's."""
    pd, pda = (build(train, "bprmf", method) for method in BOTH)
    with torch.no_grad():
        for net in (pd, pda):
            net.model.user_table.abs_().mul_(-1e3)
            net.model.item_table.abs_()
        assert (pd.parts(torch.arange(60), slice(None)) < -150).all()
    assert (tops(pda, train) == tops(pd, train)).all()


@pytest.mark.parametrize("method", BOTH)
@pytest.mark.parametrize("scale", [0.0, 1e3])
def test_extremes_stay_finite(method, scale):
    """Scores that are all 0 or huge, and items nobody has."""
    few = Interactions.of(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0]), 3, 5)
    net = build(few, "bprmf", method, power=3.0)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(scale)
    loss = net.loss(batch_of(few, size=8))
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in net.parameters())
    assert (net.factor > 0).all()
    weights = {"exponent": 0.24} if method == "pda" else {}
    assert tops(net, few, k=3, **weights).shape == (3, 3)
