"""Personal popularity, second edition: against its definition, and where it is the paper's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from conftest import ROOT, popularity_of
from hypothesis import given, settings
from hypothesis import strategies as st
from test_models import BASES, build
from test_neighbours import interactions
from test_ppac import tops

from ppac.core.config import read_yaml
from ppac.core.files import read_json
from ppac.core.interactions import Interactions
from ppac.core.registry import find
from ppac.counting.likeness import alike
from ppac.counting.plus import PlusConfig, discounted, popularity_plus
from ppac.neighbours import nearest_users
from ppac.scoring.grid import grid_of
from ppac.scoring.method import Shared
from ppac.tuning import TuneConfig

PAPER = PlusConfig(similarity="jaccard", rarity=0, k=10, power=0)
PLUS = PlusConfig(similarity="cosine", rarity=0.75, k=10, power=1)
kinds = st.sampled_from(["jaccard", "cosine"])
rarities = st.sampled_from([0.0, 0.5, 0.75, 1.0, 2.0])


def sets_of(train: Interactions) -> list[list[int]]:
    return [
        train.items[train.indptr[u] : train.indptr[u + 1]].tolist() for u in range(train.n_users)
    ]


def slowly_alike(train, k, similarity, rarity):
    """The definition, set by set."""
    weight = [max(n, 1.0) ** -rarity for n in train.item_counts.tolist()]
    sets = sets_of(train)
    rows = []
    for u, mine in enumerate(sets):
        found = []
        for v, other in enumerate(sets):
            both = sum(weight[i] for i in mine if i in other)
            if v == u or not both:
                continue
            a, b = (sum(weight[i] for i in some) for some in (mine, other))
            found.append((both / (math.sqrt(a * b) if similarity == "cosine" else a + b - both), v))
        best = sorted(found, reverse=True)[:k]
        rows += [(u, rank, v, s) for rank, (s, v) in enumerate(best, start=1)]
    return rows


@settings(max_examples=150, deadline=None)
@given(interactions(), st.integers(1, 12), kinds, rarities)
def test_alike_equals_the_definition(train, k, similarity, rarity):
    """Similarities up to rounding, which may also decide between neighbours as good as equal."""
    got = alike(train, k, similarity, rarity)
    wanted = slowly_alike(train, k, similarity, rarity)
    assert got.select("user", "rank").rows() == [row[:2] for row in wanted]
    np.testing.assert_allclose(got["similarity"], [row[3] for row in wanted], rtol=1e-12)
    everyone = slowly_alike(train, train.n_users, similarity, rarity)
    exact = {(u, v): s for u, _, v, s in everyone}
    for u, _, v, s in got.rows():
        assert s == pytest.approx(exact[u, v], rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(interactions(), st.integers(1, 12))
def test_jaccard_without_rarity_is_the_papers_table(train, k):
    assert alike(train, k).equals(nearest_users(train, k))


@settings(max_examples=100, deadline=None)
@given(interactions(), kinds, rarities)
def test_similarity_is_symmetric_and_at_most_one(train, similarity, rarity):
    found = {(u, v): s for u, _, v, s in alike(train, train.n_users, similarity, rarity).rows()}
    for (u, v), s in found.items():
        assert found[v, u] == s
        assert 0 < s <= 1 + 1e-12


@settings(max_examples=50, deadline=None)
@given(interactions(), st.integers(1, 5), kinds, rarities, st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_popularity_is_a_weighted_share_of_the_neighbours(train, k, similarity, rarity, power):
    config = PlusConfig(similarity=similarity, rarity=rarity, k=k, power=power)
    popular = popularity_plus(train, config, "fraction")
    near = alike(train, k, similarity, rarity)
    dense = train.matrix(np.float64).toarray()
    for u in range(train.n_users):
        mine = near.filter(user=u)
        weight = mine["similarity"].to_numpy() ** power
        share = weight @ dense[mine["neighbour"].to_numpy()] / max(weight.sum(), 1e-300)
        np.testing.assert_allclose(popular.block(np.array([u]))[0], share, rtol=1e-5, atol=1e-6)
        assert (share <= 1 + 1e-9).all()


def scorers(train, base="bprmf", config=PLUS):
    shared = Shared(train, popularity_of(train))
    net = build(train, base, "ppac").eval()
    variant = find("variants", "ppac-plus").Variant(net, shared, config)
    return net, variant, find("rankers", "pp-plus").Ranker(shared, config)


@pytest.mark.parametrize("scale", ["fraction", "l2"])
def test_as_in_the_paper_its_popularity_is_the_papers(train, scale):
    plus, paper = popularity_plus(train, PAPER, scale), popularity_of(train, 10, scale)
    assert (plus.counts != paper.counts).nnz == 0
    for name in ("item_counts", "gp", "unit"):
        np.testing.assert_array_equal(getattr(plus, name), getattr(paper, name))


@pytest.mark.parametrize("base", BASES)
def test_as_in_the_paper_it_is_ppac(train, base):
    net, variant, ranker = scorers(train, base, PAPER)
    ppgp = find("rankers", "ppgp").Ranker(Shared(train, popularity_of(train)))
    for weights in ({}, {"gamma": 3.0}, {"beta": -2.0}, {"gamma": 30.0, "beta": -5.0}):
        assert (tops(variant, train, **weights) == tops(net, train, **weights)).all()
        assert (tops(ranker, train, **weights) == tops(ppgp, train, **weights)).all()


@pytest.mark.parametrize("base", BASES)
def test_without_gamma_and_beta_the_factual_score_remains(train, base):
    net, variant, _ = scorers(train, base)
    without = find("variants", "ppac-without-ci").Variant(net, Shared(train, popularity_of(train)))
    for delta in (0.0, 0.5, 1.0):
        assert (tops(variant, train, delta=delta) == tops(without, train)).all()


def test_the_ranker_is_the_variant_without_a_model(train):
    _, variant, ranker = scorers(train)
    pp, gp = torch.rand(3, 40), torch.rand(40)
    weights = {"gamma": 7.0, "beta": -3.0, "delta": 0.4}
    expected = variant.combine(torch.zeros(3, 40), pp, gp, weights)
    torch.testing.assert_close(ranker.combine(None, pp, gp, weights), expected)


def test_scores_by_hand(train):
    _, variant, _ = scorers(train)
    parts, pp, gp = torch.randn(3, 40), torch.rand(3, 40), torch.rand(40) + 0.01
    mean = float(train.item_counts.mean() / train.n_users)
    expected = parts + 5 * pp * (mean / gp) ** 0.5 - 2 * gp
    got = variant.combine(parts, pp, gp, {"gamma": 5.0, "beta": -2.0, "delta": 0.5})
    torch.testing.assert_close(got, expected)
    where_nobody = variant.combine(parts, torch.zeros(()), gp, {"gamma": 5, "beta": -2, "delta": 1})
    torch.testing.assert_close(where_nobody, parts + variant.added(gp, {"beta": -2}))


def test_at_delta_one_the_lift_ranks(train):
    """How many times as popular among the neighbours as among everyone."""
    _, _, ranker = scorers(train)
    best = tops(ranker, train, k=5, delta=1.0)
    for user in range(train.n_users):
        lift = ranker.popularity.block(np.array([user]))[0] / np.maximum(ranker.popularity.gp, 1e-9)
        assert (np.diff(lift[best[user]]) <= 1e-4).all()


@pytest.mark.parametrize("step", ["weighted", "rare"])
def test_steps_are_the_same_without_delta(train, step):
    shared, net = Shared(train, popularity_of(train)), build(train, "bprmf", "ppac").eval()
    params = read_yaml(ROOT / "params.yaml")
    config = PlusConfig.read(params, f"ppac-plus-{step}")
    assert config == PlusConfig.read(params, f"pp-plus-{step}")
    weights = {"gamma": 9.0, "beta": -1.0}
    for kind, name, trained in (("variants", "ppac-plus", [net]), ("rankers", "pp-plus", [])):
        whole, part = (
            getattr(find(kind, file), kind.title()[:-1])(*trained, shared, config)
            for file in (name, f"{name}-{step}")
        )
        assert "delta" not in part.neutral
        assert (tops(part, train, **weights) == tops(whole, train, **weights)).all()


def test_stages_run_them(prepared):
    """Tuned and evaluated as the pipeline does it, delta among the weights."""
    cell = ("--dataset", "synthetic", "--base", "bprmf", "--method")
    prepared.ok("train", *cell, "ppac")
    for base, name in (("bprmf", "ppac-plus"), ("rankers", "pp-plus")):
        cell = ("--dataset", "synthetic", "--base", base, "--method", name)
        assert "delta" in prepared.ok("tune", *cell)
        prepared.ok("evaluate", *cell)
        tuned = read_json(prepared.folder / f"runs/synthetic/{base}/{name}/tune/tuned.json")
        assert tuned["valid"]["ndcg_at_50"] >= tuned["neutral"]["ndcg_at_50"]
        metrics = read_json(prepared.folder / f"metrics/synthetic/{base}/{name}.json")
        assert {name: metrics[name] for name in tuned["weights"]} == tuned["weights"]


def test_items_nobody_has_and_users_without_neighbours_are_ranked():
    """Item 3 is nobody's, users 2 and 3 share nothing with anyone, and 3 has nothing at all."""
    train = Interactions.of(np.array([0, 0, 1, 2]), np.array([0, 1, 0, 2]), 4, 4)
    ranker = find("rankers", "pp-plus").Ranker(Shared(train, popularity_of(train, 2)), PLUS)
    assert ranker.popularity.unit.tolist()[2:] == [1, 1]
    for delta in (0.0, 0.5, 1.0, 1.5):
        best = tops(ranker, train, k=4, delta=delta)
        assert best[1][0] == 1
        assert sorted(best[3]) == [0, 1, 2, 3]
    gp = torch.tensor([0.0, 0.5])
    found = discounted(torch.tensor([0.0, 1.0]), gp, usual=0.25, delta=1.5)
    assert found.isfinite().all()
    assert found[0] == 0


def test_grids_hold_the_paper_and_are_of_a_size_to_run():
    params = read_yaml(ROOT / "params.yaml")
    for name, kind in (("ppac-plus", "variants"), ("pp-plus", "rankers")):
        made = getattr(find(kind, name), kind.title()[:-1])
        config = TuneConfig.read(params, "tune", dataset="ml-1m", base="bprmf", method=name)
        grid = config.grid(made.neutral)
        assert grid == grid_of(made.neutral, config.__pydantic_extra__, "tune")
        assert dict(made.neutral) in grid
        assert len(grid) <= 1000
        assert made.Config.read(params, name)
