"""What PPAC is without one of its parts, with observed popularity, and as released."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import popularity_of
from test_models import BASES, batch_of, build
from test_ppac import tops
from torch.nn.functional import softplus

from ppac.core.registry import find
from ppac.scoring.method import Shared

USERS = torch.arange(10)


def variant(name, trained, train):
    return find("variants", name).Variant(trained.eval(), Shared(train, popularity_of(train)))


@pytest.mark.parametrize("base", BASES)
def test_without_ci_is_ppac_at_neutral_weights(train, base):
    net = build(train, base, "ppac")
    other = variant("ppac-without-ci", net, train)
    assert other.neutral == {}
    assert (tops(other, train) == tops(net, train)).all()


@pytest.mark.parametrize(
    ("name", "kept"), [("ppac-without-pp", "f_gp"), ("ppac-without-gp", "f_pp")]
)
@pytest.mark.parametrize("base", BASES)
def test_a_factor_left_out_is_one(train, base, name, kept):
    """PPAC whose other head says 1 scores the same, and the other head is not there to learn."""
    net, whole = build(train, base, name), build(train, base, "ppac")
    whole.load_state_dict(net.state_dict(), strict=False)
    with torch.no_grad():
        gone = whole.f_pp if kept == "f_gp" else whole.f_gp
        for parameter in gone.parameters():
            parameter.zero_()
        list(gone.parameters())[-1].fill_(40.0)  # sigma(40) is 1
        torch.testing.assert_close(
            net.eval().parts(USERS, slice(None)), whole.eval().parts(USERS, slice(None)),
            rtol=1e-4, atol=1e-6,
        )  # fmt: skip
    names = {name.split(".")[0] for name, _ in net.named_parameters()}
    assert names == {"model", kept}


@pytest.mark.parametrize("base", BASES)
def test_base_with_ci_trains_as_base_and_ranks_as_ppac(train, base):
    """Of PPAC it has the inference alone: heads that say nothing but 1 leave the same ranking."""
    net, plain, batch = (
        build(train, base, "base-with-ci"),
        build(train, base, "base"),
        batch_of(train),
    )
    for one in (net, plain):
        one.loss(batch).backward()
    for one, other in zip(net.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=0, atol=0)
    assert (tops(net, train) == tops(plain, train)).all()
    whole = build(train, base, "ppac")
    whole.load_state_dict(net.state_dict(), strict=False)
    with torch.no_grad():
        for head in (whole.f_pp, whole.f_gp):
            for parameter in head.parameters():
                parameter.zero_()
            list(head.parameters())[-1].fill_(40.0)  # sigma(40) is 1
    weights = {"gamma": 3.0, "beta": -2.0}
    assert (tops(net, train, **weights) == tops(whole, train, **weights)).all()


def test_without_gp_a_large_gamma_gives_mostppop(train):
    best = tops(build(train, "bprmf", "ppac-without-gp"), train, gamma=1e4)
    popular = popularity_of(train)
    for user in range(train.n_users):
        p = popular.block(np.array([user]))[0][best[user]]
        assert (np.diff(p) <= 1e-6).all()


def test_without_pp_a_large_negative_beta_gives_the_rarest_first(train):
    best = tops(build(train, "bprmf", "ppac-without-pp"), train, beta=-1e6)
    assert (np.diff(train.item_counts[best], axis=1) >= 0).all()


@pytest.mark.parametrize("base", BASES)
def test_pred_adds_what_the_heads_learned(train, base):
    net = build(train, base, "ppac").eval()
    pred = variant("ppac-pred", net, train)
    weights = {"gamma": 3.0, "beta": -2.0}
    with torch.no_grad():
        parts = pred.parts(USERS, slice(None))
        got = pred.combine(parts, torch.rand(10, 40), torch.rand(40), weights)
        left, right = net.model.rep()
        expected = net.parts(USERS, slice(None))
        side = net.f_pp.items_side(right)
        expected = expected + 3 * torch.sigmoid(net.f_pp.block(left[USERS], side))
        expected = expected - 2 * torch.sigmoid(net.f_gp(right))
    torch.testing.assert_close(got, expected)
    assert (tops(pred, train) == tops(variant("ppac-without-ci", net, train), train)).all()


def test_observed_popularity_is_the_factor(train):
    net = build(train, "bprmf", "ppac-obs", floor=0.0)
    pp, gp, r = torch.rand(3, 40), torch.rand(40), torch.randn(3, 40)
    weights = {"gamma": 5.0, "beta": -1.0}
    torch.testing.assert_close(net.combine(r, pp, gp, weights), pp * gp * r + 5 * pp - gp)
    smooth = build(train, "bprmf", "ppac-obs", form="sigmoid")
    expected = torch.sigmoid(pp) * torch.sigmoid(gp) * r
    torch.testing.assert_close(smooth.combine(r, pp, gp, smooth.neutral), expected)


def test_observed_loss_by_hand(train):
    net = build(train, "bprmf", "ppac-obs", floor=0.1)
    batch = batch_of(train, size=6)
    users, items = net.model.ego()
    popular = popularity_of(train)
    terms = []
    for u, i, j in zip(batch.users, batch.positives, batch.negatives, strict=True):
        scores = []
        for item in (i, j):
            p = float(popular.lookup(u.numpy()[None], item.numpy()[None])[0])
            scores.append(max(p, 0.1) * float(popular.gp[item]) * (users[u] @ items[item]))
        terms.append(softplus(scores[1] - scores[0]))
    expected = torch.stack(terms).mean() + net.regulariser(net.rows(batch)[1])
    torch.testing.assert_close(net.loss(batch), expected, rtol=1e-5, atol=1e-7)


def test_observed_pairs_without_neighbours_teach_nothing_unless_floored(train):
    batch = batch_of(train)
    for floor, silent in ((0.0, True), (0.05, False)):
        net = build(train, "bprmf", "ppac-obs", floor=floor)
        net.shared.popularity.counts.data[:] = 0  # nobody's neighbours have anything
        net.p.zero_()
        net.l2 = 0.0
        net.loss(batch).backward()
        assert (net.model.item_table.grad.abs().sum() == 0) == silent


def test_released_popularity_has_length_one(train):
    net = build(train, "bprmf", "ppac-released")
    popular = popularity_of(train, scale="l2")
    everyone = np.arange(train.n_users)
    with torch.no_grad():
        parts = net.eval().parts(torch.from_numpy(everyone), slice(None))
    shared = popularity_of(train)
    pp, gp = torch.from_numpy(shared.block(everyone)), torch.from_numpy(shared.gp)
    got = net.combine(parts, pp, gp, {"gamma": 2.0, "beta": -3.0})
    lengths = torch.from_numpy(popular.block(everyone)), torch.from_numpy(popular.gp)
    expected = parts[0] + 2 * lengths[0] - 3 * lengths[1]
    torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(net.g, lengths[1], rtol=1e-5, atol=1e-6)
    target = torch.from_numpy(popular.lookup(train.users, train.items))
    torch.testing.assert_close(net.p, target, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("base", BASES)
def test_the_released_broadcast_meets_every_score_with_every_factor(train, base):
    one = batch_of(train, size=1)
    losses = [
        build(train, base, "ppac-released", broadcast=flag).loss(one) for flag in (True, False)
    ]
    torch.testing.assert_close(*losses)  # a single pair has only itself to meet


@pytest.mark.parametrize("size", [1, 5, 150])
def test_the_released_broadcast_is_the_mean_over_all_pairs_of_pairs(train, size):
    factor, scores = torch.rand(2, size), torch.randn(2, size)
    terms = [
        softplus(factor[1, b] * scores[1, a] - factor[0, b] * scores[0, a])
        for a in range(size)
        for b in range(size)
    ]
    net = build(train, "ncf", "ppac-released", broadcast=True)
    torch.testing.assert_close(net.rank(factor, scores), torch.stack(terms).mean())


@pytest.mark.parametrize("size", [5, 150])
def test_the_released_broadcast_has_the_gradients_of_its_loss(train, size):
    net = build(train, "ncf", "ppac-released", broadcast=True)
    gradients = []
    for loss in (net.rank, whole_broadcast):
        factor, scores = (value.requires_grad_() for value in two_by(size))
        (3 * loss(factor, scores)).backward()
        gradients.append((factor.grad, scores.grad))
    torch.testing.assert_close(*gradients)


def two_by(size):
    rng = torch.Generator().manual_seed(size)
    return torch.rand(2, size, generator=rng), torch.randn(2, size, generator=rng)


def whole_broadcast(factor, scores):
    positive, negative = factor[:, None, :] * scores[:, :, None]
    return softplus(negative - positive).mean()


def test_released_negatives_may_be_the_users_own(train):
    net = build(train, "bprmf", "ppac-released")
    users = np.zeros(4000, np.int32)
    drawn = net.negatives(train, users, users, np.random.default_rng(0))
    own = train.items[train.indptr[0] : train.indptr[1]]
    assert set(drawn) == set(range(train.n_items))
    assert np.isin(drawn, own).mean() == pytest.approx(len(own) / train.n_items, abs=0.03)


def test_a_squashed_base_has_gradients_of_at_most_a_quarter(train):
    batch = batch_of(train)
    plain, squashed = (build(train, "bprmf", "base", squash=flag) for flag in (False, True))
    for net in (plain, squashed):
        net.l2 = 0.0
    assert squashed.loss(batch).item() >= softplus(torch.tensor(-1.0)).item()
    loss = squashed.loss(batch)
    users, items = squashed.model.ego()
    r = [(users[batch.users] * items[some]).sum(1) for some in (batch.positives, batch.negatives)]
    expected = softplus(torch.sigmoid(r[1]) - torch.sigmoid(r[0])).mean()
    torch.testing.assert_close(loss, expected)


def test_userknn_weights_neighbours_by_similarity(train, tmp_path):
    from ppac.core.files import write_table
    from ppac.neighbours import nearest_users

    near = nearest_users(train, 10)
    write_table(tmp_path / "near.parquet", near)
    shared = Shared(train, popularity_of(train), tmp_path / "near.parquet")
    ranker = find("rankers", "userknn").Ranker(shared)
    dense = train.matrix(np.float64).toarray()
    for user in range(5):
        mine = near.filter(user=user)
        weights, others = mine["similarity"].to_numpy(), mine["neighbour"].to_numpy()
        expected = weights @ dense[others] / weights.sum()
        got = ranker.popularity.block(np.array([user]))[0]
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
        best = tops(ranker, train)[user]  # its own popularity ranks, not the dataset's
        assert (np.diff(expected[best]) <= 1e-6).all()
