"""MACR's algebra: what must hold whatever was learned."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_models import BASES, batch_of, build
from test_ppac import tops

from ppac.core.interactions import Interactions
from ppac.core.registry import find
from ppac.scoring.method import Batch

softplus = torch.nn.functional.softplus


def first(batch: Batch, size: int) -> Batch:
    return Batch(*(getattr(batch, name)[:size] for name in vars(batch)))


def loudly(net):
    """With heads that differ much between users and between items."""
    with torch.no_grad():
        for head in (net.item_head, net.user_head):
            head.weight.mul_(30)
    return net


@pytest.mark.parametrize("base", BASES)
def test_without_c_the_ranking_is_the_factual_one(train, base):
    net = loudly(build(train, base, "macr"))
    left, right = net.model.rep()
    with torch.no_grad():
        factual = (
            net.model.block(left, right)
            * torch.sigmoid(net.item_head(right)).T
            * torch.sigmoid(net.user_head(left))
        ).numpy()
    best = tops(net, train)
    for user in range(train.n_users):
        listed = best[user][best[user] >= 0]
        others = np.setdiff1d(np.arange(40), [*listed, *train.items[train.users == user]])
        assert (np.diff(factual[user][listed]) <= 1e-6).all()
        assert len(others) == 0 or factual[user][others].max() <= factual[user][listed].min() + 1e-6


@pytest.mark.parametrize("c", [0.0, 0.3, 40.0])
def test_the_user_head_never_changes_a_list(train, c):
    net = loudly(build(train, "bprmf", "macr"))
    best = tops(net, train, k=50, c=c)
    logits = net.user_head(net.model.user_table)
    assert logits.std() > 1
    net.user_head.forward = lambda users: torch.full((len(users), 1), torch.inf)  # sigma is 1
    assert (tops(net, train, k=50, c=c) == best).all()


def test_a_large_c_ranks_by_the_item_head_ascending(train):
    net = loudly(build(train, "bprmf", "macr"))
    best = tops(net, train, c=1e6)
    with torch.no_grad():
        logits = net.item_head(net.model.item_table).squeeze(-1).numpy()
    for listed in best:
        assert (np.diff(logits[listed[listed >= 0]]) >= 0).all()
    assert not (tops(net, train) == best).all()


def test_both_pairings_are_one_on_a_single_pair(train):
    batch = batch_of(train)
    nets = [loudly(build(train, "bprmf", "macr", pairing=p)) for p in ("elementwise", "batch")]
    alone = [net.loss(first(batch, 1)) for net in nets]
    torch.testing.assert_close(*alone, rtol=1e-6, atol=0)
    together = [net.loss(batch) for net in nets]
    assert not torch.allclose(*together, rtol=1e-4)


def by_hand(net, batch, pairs):
    """The loss with ``pairs`` of (whose score, whose heads) within the batch."""
    users, items = (table.detach() for table in net.model.ego())
    w_i, w_u = net.item_head.weight[0], net.user_head.weight[0]
    fused, of_items, of_users = [], [], []
    for column, sign in ((batch.positives, -1), (batch.negatives, 1)):
        for b, a in pairs:
            score = (users[batch.users[b]] * items[column[b]]).sum()
            y_i, y_u = items[column[a]] @ w_i, users[batch.users[a]] @ w_u
            fused.append(softplus(sign * score / (1 + (-y_i).exp()) / (1 + (-y_u).exp())))
            of_items.append(softplus(sign * y_i))
            of_users.append(softplus(sign * y_u))
    fused, of_items, of_users = (2 * torch.stack(x).mean() for x in (fused, of_items, of_users))
    return fused + 0.5 * of_items + 0.25 * of_users + net.regulariser(net.rows(batch)[1])


@pytest.mark.parametrize("pairing", ["elementwise", "batch"])
def test_the_loss_by_hand(train, pairing):
    net = loudly(build(train, "bprmf", "macr", item_weight=0.5, user_weight=0.25, pairing=pairing))
    batch = batch_of(train, size=4)
    everyone = [(b, a) for b in range(4) for a in range(4)]
    pairs = everyone if pairing == "batch" else [(b, b) for b in range(4)]
    torch.testing.assert_close(net.loss(batch), by_hand(net, batch, pairs), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("base", BASES)
def test_without_heads_it_is_cross_entropy_of_a_quarter_of_the_score(train, base):
    net = build(train, base, "macr", item_weight=0, user_weight=0)
    with torch.no_grad():
        for head in (net.item_head, net.user_head):
            head.weight.zero_()
    batch = batch_of(train)
    rep, ego = net.rows(batch)
    positive, negative = net.model.pair(rep.users, rep.items) / 4
    expected = softplus(-positive).mean() + softplus(negative).mean() + net.regulariser(ego)
    torch.testing.assert_close(net.loss(batch), expected, rtol=1e-6, atol=1e-7)


def test_heads_read_what_is_scored(train):
    """Propagated representations under LightGCN, not its embeddings."""
    net = loudly(build(train, "lightgcn", "macr"))
    left, right = net.model.rep()
    factor = net.parts(torch.arange(5), slice(3, 9))[1]
    expected = torch.sigmoid(net.user_head(left[:5])) * torch.sigmoid(net.item_head(right[3:9])).T
    torch.testing.assert_close(factor, expected)


def test_scores_of_pairs_combine_as_blocks_do(train):
    net = loudly(build(train, "bprmf", "macr"))
    nothing = torch.zeros(())
    with torch.no_grad():
        parts = net.parts(torch.arange(6), slice(None))
        assert parts.shape == (2, 6, 40)
        block = net.combine(parts, nothing, nothing, {"c": 2.0})
        pairs = net.combine(parts[:, [1, 4], [7, 9]], nothing, nothing, {"c": 2.0})
    torch.testing.assert_close(pairs, block[[1, 4], [7, 9]])


def test_one_number_per_pair_is_insisted_on(train):
    net = build(train, "bprmf", "macr")
    net.model.pair = lambda users, items: (users * items).sum(-1, keepdim=True)
    with pytest.raises(ValueError, match="must be"):
        net.loss(batch_of(train))


@pytest.mark.parametrize("pairing", ["elementwise", "batch"])
def test_extremes_stay_finite(pairing):
    """Saturated heads, huge scores, and items nobody has."""
    few = Interactions.of(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0]), 3, 5)
    net = build(few, "bprmf", "macr", pairing=pairing)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(1e4)
    loss = net.loss(batch_of(few, size=8))
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in net.parameters())
    for c in (0.0, 60.0, 1e6):
        assert tops(net, few, k=3, c=c).shape == (3, 3)


def test_cross_entropy_by_hand():
    bce = find("methods", "macr").bce
    positive, negative = torch.tensor([1.0, 0.0]), torch.tensor([2.0, 2.0])
    expected = (np.log1p(np.exp(-1)) + np.log(2)) / 2 + np.log1p(np.exp(2))
    assert bce(positive, negative).item() == pytest.approx(expected, rel=1e-6)
