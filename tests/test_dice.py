"""DICE: its loss by hand, what it becomes at its limits, its sampler and its distance."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import popularity_of
from hypothesis import given, settings
from hypothesis import strategies as st
from test_models import BASES, batch_of, build

from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.core.seeds import rng
from ppac.ingredients.distance_correlation import distance_correlation
from ppac.ingredients.popularity_sampling import PopularitySampler
from ppac.methods import dice
from ppac.models import bprmf
from ppac.scoring.method import Batch, Shared
from ppac.scoring.sampling import trainable_pairs


def b(x: np.ndarray) -> np.ndarray:
    return np.log1p(np.exp(-x))


def scores(model, users, items):
    left, right = model.rep()
    return model.pair(left[users], right[items]).detach().numpy().astype(float)


@pytest.mark.parametrize("base", BASES)
def test_the_loss_by_hand(train, base):
    """Every term triple by triple, with a negative more, less and as popular."""
    net = build(train, base, "dice", distance="l2", rows=8)
    net.start_epoch(3)
    counts = train.item_counts
    i, j = np.flatnonzero(counts == counts[39])[:2]
    users, positives, negatives = [0, 1, 2], [1, 30, i], [30, 1, j]
    assert np.sign(counts[negatives] - counts[positives]).tolist() == [-1, 1, 0]
    batch = Batch(*map(torch.tensor, (users, positives, negatives, [0, 0, 0])))

    d_int, d_con = (
        scores(model, users, positives) - scores(model, users, negatives)
        for model in (net.model, net.conformity)
    )
    alpha = 0.1 * 0.9**2
    expected = b(d_int + d_con).mean()
    expected += alpha * b(d_int)[1] / 3
    expected += alpha * (b(-d_con)[1] + b(d_con)[0]) / 3
    for side, rows in ((0, [0, 1, 2]), (1, [1, 30, i, j])):
        x, y = (model.rep()[side][rows].detach() for model in (net.model, net.conformity))
        expected -= 0.01 * ((x - y) ** 2).mean().item()
    for model in (net.model, net.conformity):
        left, right = (table.detach().numpy().astype(float) for table in model.ego())
        rows = (left[users], right[positives], right[negatives])
        expected += 1e-4 / 2 * sum((row**2).sum() for row in rows) / 3
    assert net.loss(batch).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("base", BASES)
def test_without_conformity_and_further_terms_it_is_base(train, base):
    plain = build(train, base, "base")
    net = build(train, base, "dice", dims="double", alpha=0, independence=0)
    with torch.no_grad():
        for parameter in net.conformity.parameters():
            parameter.zero_()
    losses = [one.loss(batch_of(train)) for one in (plain, net)]
    torch.testing.assert_close(*losses, rtol=1e-6, atol=1e-6)
    for loss in losses:
        loss.backward()
    for one, other in zip(plain.model.parameters(), net.model.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-6, atol=1e-6)


def test_reversed_popularity_swaps_the_kinds_of_triples(train):
    net = build(train, "bprmf", "dice")
    batch = batch_of(train)
    interest, conformity = torch.randn(2, 2, 64, generator=torch.manual_seed(1))
    of_interest, of_conformity = torch.zeros_like(interest), torch.zeros_like(conformity)
    more = net.counts[batch.negatives] > net.counts[batch.positives]
    less = net.counts[batch.negatives] < net.counts[batch.positives]
    assert 0 < more.sum() < 64
    assert 0 < less.sum() < 64

    def terms():
        only_interest = net._causes(batch, interest, of_conformity)
        only_conformity = net._causes(batch, of_interest, conformity)
        return only_interest - net._causes(batch, of_interest, of_conformity), only_conformity

    def expected(against, along):
        zero, d_int, d_con = np.log(2), interest[0] - interest[1], conformity[0] - conformity[1]
        b_int, b_up, b_down = (torch.nn.functional.softplus(-d) for d in (d_int, -d_con, d_con))
        first = (against * (b_int - zero)).mean()
        return first, (against * zero + against * b_up + along * b_down).mean()

    torch.testing.assert_close(terms(), expected(more, less))
    net.counts = -net.counts
    torch.testing.assert_close(terms(), expected(less, more))


def test_margin_and_weights_fade_by_the_number_of_the_epoch_alone(train):
    net = build(train, "bprmf", "dice")
    assert (net.margin, net.alpha) == (40, 0.1)
    for epoch in (8, 1, 4):  # in any order: a resumed training starts anywhere
        net.start_epoch(epoch)
        assert net.margin == pytest.approx(40 * 0.9 ** (epoch - 1))
        assert net.alpha == pytest.approx(0.1 * 0.9 ** (epoch - 1))


@pytest.mark.parametrize("base", BASES)
def test_ranking_by_both_or_by_interest(train, base):
    both, interest = (build(train, base, "dice", rank_by=by).eval() for by in ("both", "interest"))
    users, items = torch.arange(5), torch.arange(40)
    with torch.inference_mode():
        for net, models in ((both, (both.model, both.conformity)), (interest, (interest.model,))):
            expected = [sum(scores(m, u.expand(40), items) for m in models) for u in users]
            got = net.parts(users, slice(None)).numpy()
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_ranking_follows_the_weights(train):
    """Representations are kept between blocks of users, not over a step of training."""
    net = build(train, "lightgcn", "dice").eval()
    with torch.inference_mode():
        before = net.parts(torch.arange(3), slice(None))
    with torch.no_grad():
        net.conformity.user_table.mul_(2)
    net.train()
    net.eval()
    with torch.inference_mode():
        assert not torch.equal(net.parts(torch.arange(3), slice(None)), before)


@pytest.mark.parametrize("base", BASES)
def test_copies_have_weights_of_their_own(train, base):
    halves, double = (build(train, base, "dice", dims=dims) for dims in ("halves", "double"))
    assert [halves.model.dim, halves.conformity.dim] == [32, 32]
    assert [double.model.dim, double.conformity.dim] == [64, 64]
    for one, other in zip(halves.model.parameters(), halves.conformity.parameters(), strict=True):
        assert not torch.equal(one, other)
    if base == "lightgcn":
        assert halves.model.graph is halves.conformity.graph


def test_an_odd_dim_has_no_halves(train):
    config = build(train, "bprmf", "dice").config
    model = bprmf.Net(train, bprmf.Config(dim=5))
    with pytest.raises(Problem, match="halves of a 'dim' of 5"):
        dice.Net(model, Shared(train, popularity_of(train)), 0.0, config)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("kind", ["more", "less", "same"])
def test_one_kind_of_triples_only(train, base, kind):
    net = build(train, base, "dice")
    order = np.argsort(train.item_counts)
    rare, popular = (torch.from_numpy(part.copy()) for part in (order[:8], order[-8:]))
    positives = popular if kind == "less" else rare
    negatives = {"more": popular, "less": rare, "same": rare}[kind]
    batch = Batch(torch.arange(8), positives, negatives, torch.arange(8))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(30)
    loss = net.loss(batch)
    loss.backward()
    assert loss.shape == ()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(parameter.grad).all() for parameter in net.parameters())


# The distance between the copies.


def slowly(x: np.ndarray, y: np.ndarray) -> float:
    """Distance correlation by its definition, in double precision."""

    def centred(x):
        a = np.sqrt(((x[:, None] - x) ** 2).sum(-1))
        return a - a.mean(0) - a.mean(1)[:, None] + a.mean()

    A, B = centred(x.astype(float)), centred(y.astype(float))
    return np.sqrt((A * B).mean() / np.sqrt((A * A).mean() * (B * B).mean()))


@pytest.mark.parametrize("offset", [0, 10])
@pytest.mark.parametrize("scale", [0.01, 0.1, 3])
def test_distance_correlation_as_defined(scale, offset):
    generator = torch.manual_seed(0)
    x, noise = (torch.randn(60, 7, generator=generator) * scale for _ in range(2))
    y = (x + noise)[:, :5] + offset * scale
    assert distance_correlation(x, y).item() == pytest.approx(slowly(x.numpy(), y.numpy()), 1e-4)


def test_its_gradient_is_that_of_finite_differences():
    generator = torch.manual_seed(0)
    x, y = (torch.randn(12, d, generator=generator, dtype=torch.float64) for d in (3, 4))
    assert torch.autograd.gradcheck(distance_correlation, (x.requires_grad_(), y.requires_grad_()))


def test_distance_correlation_of_the_same_and_of_independent_rows():
    generator = torch.manual_seed(0)
    x = torch.randn(200, 8, generator=generator)
    assert distance_correlation(x, x).item() == pytest.approx(1, abs=1e-5)
    turned = torch.linalg.qr(torch.randn(8, 8, generator=generator))[0]
    assert distance_correlation(x, 5 * x @ turned + 1).item() == pytest.approx(1, abs=1e-4)
    values = [
        distance_correlation(*torch.randn(2, n, 2, generator=generator)).item()
        for n in (50, 400, 3000)
    ]
    assert values[0] > values[1] > values[2]
    assert values[2] < 0.1


@pytest.mark.parametrize("rows", ["duplicates", "constant", "zero", "one", "nearly"])
def test_distance_correlation_stays_finite(rows):
    x = torch.randn(20, 4, generator=torch.manual_seed(0))
    other = x.flip(1).clone()
    made = {
        "duplicates": x[torch.arange(20) // 2],
        "constant": x[:1].expand(20, 4).clone(),
        "zero": torch.zeros(20, 4),
        "one": x[:1],
        "nearly": x[torch.arange(20) // 2] + 1e-7 * other,
    }[rows].requires_grad_()
    other = other[: len(made)].requires_grad_()
    value = distance_correlation(made, other)
    value.backward()
    assert 0 <= value.item() <= 1 + 1e-5
    assert torch.isfinite(made.grad).all()
    assert torch.isfinite(other.grad).all()
    assert made.grad.abs().max() < 1


def test_other_distances_are_to_grow():
    x, y = torch.tensor([[0.0, 1.0]]), torch.tensor([[2.0, 4.0]])
    assert dice.dependence("l2", x, y).item() == -(4 + 9) / 2
    assert dice.dependence("l1", x, y).item() == -(2 + 3) / 2


def test_each_row_is_taken_once_and_at_most_so_many(train, monkeypatch):
    assert dice.once(torch.tensor([5, 2, 5, 2, 9])).tolist() == [1, 0, 4]
    net = build(train, "bprmf", "dice", rows=10)
    seen = []
    monkeypatch.setattr(
        dice, "dependence", lambda distance, x, y: seen.append((x, y)) or x.sum() * 0
    )
    batch = batch_of(train)
    net.loss(batch)
    users, items = net.model.ego()
    wanted_users = batch.users[:10].unique()
    wanted_items = torch.cat([batch.positives[:5], batch.negatives[:5]]).unique()
    assert len(seen) == 2
    torch.testing.assert_close(seen[0][0], users[wanted_users])
    torch.testing.assert_close(seen[1][0], items[wanted_items])
    torch.testing.assert_close(seen[1][1], net.conformity.ego()[1][wanted_items])


# The sampler.


def pools(train: Interactions, user: int, positive: int, margin: float) -> tuple[set, set]:
    n = train.item_counts
    lacking = [j for j in range(train.n_items) if not train.contains(*np.array([[user], [j]]))[0]]
    popular = {j for j in lacking if n[j] > n[positive] + margin}
    return popular, {j for j in lacking if n[j] < n[positive] / 2}


def allowed(train: Interactions, user: int, positive: int, margin: float, pool: int) -> set:
    """The items that may be drawn, by the words of the definition."""
    popular, rare = pools(train, user, positive, margin)
    if len(popular) < pool:
        chosen = rare
    elif len(rare) < pool:
        chosen = popular
    else:
        chosen = popular | rare
        if not popular or not rare:  # only if no items are enough of a pool
            chosen = set()
    lacking = set(range(train.n_items)) - set(train.items[train.users == user].tolist())
    return chosen or lacking


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.sampled_from([0, 0.5, 2.0]), st.integers(0, 3))
def test_negatives_come_from_their_pool_and_never_from_train(seed, rows, margin, pool):
    chance = np.random.default_rng(seed)
    train = Interactions.of(
        chance.integers(6, size=rows), (9 * chance.random(rows) ** 2).astype(int), 6, 9
    )
    pairs = np.tile(trainable_pairs(train), 3)
    users, positives = train.users[pairs], train.items[pairs]
    drawn = PopularitySampler(train).sample(users, positives, margin, pool, chance)
    assert drawn.dtype == np.int32
    assert not train.contains(users, drawn).any()
    for user, positive, negative in zip(users, positives, drawn, strict=True):
        assert negative in allowed(train, user, positive, margin, pool)


def counted(train, user, positive, margin, pool, draws=20000):
    of = [np.full(draws, value, np.int32) for value in (user, positive)]
    drawn = PopularitySampler(train).sample(*of, margin, pool, rng(1, "dice"))
    return np.bincount(drawn, minlength=train.n_items)


def is_uniform(counts: np.ndarray) -> bool:
    """Chi-square within four standard deviations of what chance gives."""
    free = len(counts) - 1
    chi = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    return chi < free + 4 * np.sqrt(2 * free)


def test_a_fair_coin_between_the_pools_and_uniform_inside(train):
    user, positive = next(
        (user, item)
        for user, item in zip(train.users, train.items, strict=True)
        if min(map(len, pools(train, user, item, 2))) >= 5
    )
    popular, rare = (sorted(pool) for pool in pools(train, user, positive, 2))
    counts = counted(train, user, positive, margin=2, pool=5)
    assert counts[popular].sum() + counts[rare].sum() == 20000
    assert abs(counts[popular].sum() - 10000) < 4 * np.sqrt(5000)
    assert is_uniform(counts[popular])
    assert is_uniform(counts[rare])


def test_a_pool_too_small_leaves_it_to_the_other_and_an_empty_one_to_all(train):
    most = int(train.item_counts.argmax())
    user = train.users[train.items == most][0]
    popular, rare = pools(train, user, most, 0)
    assert not popular
    counts = counted(train, user, most, margin=0, pool=1)
    assert set(np.flatnonzero(counts)) == rare
    least = int(train.item_counts.argmin())
    user = train.users[train.items == least][0]
    popular, rare = pools(train, user, least, 3)
    assert not rare
    counts = counted(train, user, least, margin=3, pool=1)
    assert set(np.flatnonzero(counts)) == popular
    counts = counted(train, user, least, margin=3, pool=len(popular) + 1)
    lacking = set(range(40)) - set(train.items[train.users == user].tolist())
    assert set(np.flatnonzero(counts)) == lacking
    assert is_uniform(counts[sorted(lacking)])


def test_the_same_generator_gives_the_same_negatives_and_the_margin_decides(train):
    net = build(train, "bprmf", "dice", margin=30, pool=1)
    users, positives = train.users, train.items

    def drawn(seed):
        return net.negatives(train, users, positives, rng(seed))

    first = drawn(1)
    assert np.array_equal(first, drawn(1))
    assert not np.array_equal(first, drawn(2))
    n = train.item_counts
    between = (n[first] > n[positives]) & (n[first] <= n[positives] + 30)
    wide = between.mean()
    net.start_epoch(40)
    later = drawn(1)
    assert ((n[later] > n[positives]) & (n[later] <= n[positives] + 30)).mean() > wide + 0.1
