"""PPAC's algebra: what must hold whatever was learned (the paper, section 3)."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from conftest import popularity_of
from test_models import BASES, batch_of, build, ranker_of

from ppac.core.registry import find
from ppac.ingredients.heads import both
from ppac.scoring.method import Shared


def tops(net, train, k=20, **weights):
    weights = {**net.neutral, **weights}
    if isinstance(net, torch.nn.Module):
        net.eval()
    found = ranker_of(train).top(net, np.arange(train.n_users), [weights], k)
    return np.concatenate([top.items for top in found])


@pytest.mark.parametrize("base", BASES)
def test_neutral_weights_leave_the_factual_score(train, base):
    net = build(train, base, "ppac")
    parts = torch.randn(5, 40)
    pp, gp = torch.rand(5, 40), torch.rand(40)
    torch.testing.assert_close(net.combine(parts, pp, gp, net.neutral), parts)


@pytest.mark.parametrize("base", BASES)
def test_constant_heads_give_a_quarter_of_the_base_score(train, base):
    net = build(train, base, "ppac")
    with torch.no_grad():
        for head in (net.f_pp, net.f_gp):
            for parameter in head.parameters():
                parameter.zero_()
        users = torch.arange(10)
        left, right = net.model.rep()
        torch.testing.assert_close(
            net.parts(users, slice(None)), net.model.block(left[users], right) / 4
        )


def test_a_large_gamma_gives_mostppop_with_the_learned_score_between_ties(train):
    net = build(train, "bprmf", "ppac")
    best = tops(net, train, gamma=1e4)
    popular = popularity_of(train)
    with torch.inference_mode():
        parts = net.parts(torch.arange(train.n_users), slice(None)).numpy()
    for user in range(train.n_users):
        p = popular.block(np.array([user]))[0][best[user]]
        assert (np.diff(p) <= 1e-6).all()
        same = np.abs(np.diff(p)) < 1e-6
        assert (np.diff(parts[user][best[user]])[same] <= 1e-2).all()


def test_a_large_negative_beta_gives_the_rarest_first(train):
    best = tops(build(train, "bprmf", "ppac"), train, beta=-1e6)
    counts = train.item_counts[best]
    assert (np.diff(counts, axis=1) >= 0).all()


def test_ppgp_is_ppac_without_a_model(train):
    ranking = find("rankers", "ppgp").Ranker(Shared(train, popularity_of(train)))
    net = build(train, "bprmf", "ppac")
    pp, gp = torch.rand(3, 40), torch.rand(40)
    weights = {"gamma": 7.0, "beta": -3.0}
    nothing = torch.zeros(3, 40)
    torch.testing.assert_close(
        ranking.combine(None, pp, gp, weights), net.combine(nothing, pp, gp, weights)
    )


@pytest.mark.parametrize("head", ["mlp", "towers"])
def test_both_heads_score_blocks_as_pairs(train, head):
    net = build(train, "bprmf", "ppac", head=head)
    users, items = net.model.ego()
    with torch.no_grad():
        block = net.f_pp.block(users[:6], net.f_pp.items_side(items))
        for row in range(6):
            pair = net.f_pp.pair(users[row].expand(len(items), -1), items)
            torch.testing.assert_close(block[row], pair, rtol=1e-4, atol=1e-6)


def test_the_mlp_head_is_a_perceptron_over_both_embeddings(train):
    """Its split first layer equals one layer over the concatenation."""
    net = build(train, "bprmf", "ppac", head="mlp")
    head = net.f_pp
    u, i = torch.randn(9, 64), torch.randn(9, 64)
    weight = torch.cat([head.user_half.weight, head.item_half.weight], dim=1)
    hidden = torch.relu(torch.cat([u, i], dim=1) @ weight.T + head.user_half.bias)
    torch.testing.assert_close(head.pair(u, i), head.last(hidden).squeeze(-1))


def test_the_loss_by_hand(train):
    """BPR of the products, plus alpha times both squared errors, plus the regulariser.

    The error of global popularity is that of the negatives: items drawn uniformly."""
    net = build(train, "bprmf", "ppac", alpha=0.5)
    batch = batch_of(train, size=5)
    popular = popularity_of(train)
    users, items = net.model.ego()
    g_hat = torch.sigmoid(net.f_gp(items))
    bpr_terms, p_terms = [], []
    for u, i, j in zip(batch.users, batch.positives, batch.negatives, strict=True):
        scores = []
        for item in (i, j):
            p_hat = torch.sigmoid(net.f_pp.pair(users[u][None], items[item][None]))[0]
            scores.append(p_hat * g_hat[item] * (users[u] * items[item]).sum())
            if item is i:
                p = popular.lookup(u.numpy()[None], i.numpy()[None])[0]
                p_terms.append((float(p) - p_hat) ** 2)
        bpr_terms.append(torch.log1p(torch.exp(scores[1] - scores[0])))
    off = (torch.from_numpy(popular.gp) - g_hat).square()
    regression = torch.stack(p_terms).mean() + off[batch.negatives].mean()
    expected = (
        torch.stack(bpr_terms).mean() + 0.5 * regression + net.regulariser(net.rows(batch)[1])
    )
    torch.testing.assert_close(net.loss(batch), expected, rtol=1e-5, atol=1e-7)


def test_the_released_regression_averages_positives_and_negatives(train):
    net = build(train, "bprmf", "ppac", regression="sampled")
    batch = batch_of(train)
    p_pos, p_neg, g_hat = torch.rand(64), torch.rand(64), torch.rand(40)
    popular = popularity_of(train)
    g = torch.from_numpy(popular.gp)

    def lookup(items):
        return torch.from_numpy(popular.lookup(batch.users.numpy(), items.numpy()))

    expected = 0.5 * (
        (lookup(batch.positives) - p_pos).square().mean()
        + (lookup(batch.negatives) - p_neg).square().mean()
        + (g - g_hat).square()[batch.positives].mean()
        + (g - g_hat).square()[batch.negatives].mean()
    )
    at = torch.stack([g_hat[batch.positives], g_hat[batch.negatives]])
    got = net.personal_error(batch, torch.stack([p_pos, p_neg])) + net.global_error(batch, at)
    torch.testing.assert_close(got, expected)


def test_ego_inputs_differ_from_reps_on_a_graph_only(train):
    for base, differs in (("bprmf", False), ("lightgcn", True)):
        rep, ego = (
            build(train, base, "ppac", inputs=inputs).parts(torch.arange(3), slice(None))
            for inputs in ("rep", "ego")
        )
        assert torch.allclose(rep, ego) is not differs


@pytest.mark.parametrize("lead", [(), (2,)])
@pytest.mark.parametrize("batch", [1, 3, 64])
def test_both_heads_at_once_are_both_heads(train, lead, batch):
    """As one perceptron, against each head by itself, gradients included."""
    net = build(train, "bprmf", "ppac")
    torch.manual_seed(batch)
    inputs = [torch.randn(batch, 64), torch.randn(*lead, batch, 64)]
    users, items = (value.requires_grad_() for value in inputs)
    wanted = [users, items, *net.f_pp.parameters(), *net.f_gp.parameters()]
    weight = torch.randn(*lead, batch, 2)
    fast = both(net.f_pp, net.f_gp, users, items)
    slow = torch.stack([net.f_pp.pair(users, items), net.f_gp(items)], dim=-1)
    torch.testing.assert_close(fast, slow)
    ours, torchs = (torch.autograd.grad((v * weight).sum(), wanted) for v in (fast, slow))
    for one, other in zip(ours, torchs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_what_ranking_keeps_of_the_items_is_made_anew_after_training(train):
    net = build(train, "bprmf", "ppac").eval()
    users = torch.arange(3)
    with torch.no_grad():
        before = net.parts(users, slice(None))
        net.train()
        net.model.item_table += 1
        after = net.eval().parts(users, slice(None))
        fresh = build(train, "bprmf", "ppac")
        fresh.load_state_dict(net.state_dict())
    assert not torch.equal(before, after)
    torch.testing.assert_close(after, fresh.eval().parts(users, slice(None)))
