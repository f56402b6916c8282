from __future__ import annotations

import itertools
from unittest.mock import patch

import numpy as np
import pytest
import torch
from conftest import popularity_of, run_script
from hypothesis import given, settings
from hypothesis import strategies as st
from test_models import CPU
from torch import nn

from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.core.registry import find
from ppac.evaluation import rank
from ppac.scoring import dense, perceptron
from ppac.scoring.dense import sort_keys
from ppac.scoring.lists import hits_of
from ppac.scoring.method import Shared
from ppac.scoring.ranking import Ranking, TieOrder
from ppac.scoring.scorer import Scorer
from ppac.scoring.selection import key_of, score_of

USERS = np.arange(9)


class Fixed(Scorer):
    """A scorer that says what it is told, and adds popularity if it has weights."""

    def __init__(self, scores: np.ndarray, weighted: bool = False) -> None:
        self.scores = torch.from_numpy(scores.astype(np.float32))
        if weighted:
            self.neutral = {"gamma": 0.0, "beta": 0.0}
            self.personal = frozenset({"gamma"})

    def parts(self, users, items):
        return self.scores[users][:, items]

    def combine(self, parts, pp, gp, weights):
        if not weights:
            return parts
        return parts + (weights["gamma"] * pp + weights["beta"] * gp)


class Adding(Fixed):
    """The same, saying so."""

    def added(self, gp, weights):
        return weights["beta"] * gp


def ranking(train: Interactions, memory_mb: int = 64, seed: int = 0) -> Ranking:
    ties = TieOrder.seeded(train.n_users, train.n_items, seed, "toy")
    return Ranking(train, popularity_of(train), ties, CPU, memory_mb)


@st.composite
def tables(draw):
    users, items = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    few = st.sampled_from([-np.inf, -2.0, -0.0, 0.0, 1e-30, 1.0, 3e38])
    values = st.lists(few, min_size=users * items, max_size=users * items)
    return np.array(draw(values), dtype=np.float32).reshape(users, items)


@settings(deadline=None)
@given(tables())
def test_sort_keys_order_like_floats_and_are_distinct(scores):
    ties = torch.stack([torch.randperm(scores.shape[1]) for _ in scores])
    keys = sort_keys(torch.from_numpy(scores), ties).numpy()
    for row, key, tie in zip(scores, keys, ties.numpy(), strict=True):
        assert len(set(key.tolist())) == len(key)
        expected = sorted(range(len(row)), key=lambda i: (-row[i], tie[i]))
        assert list(np.argsort(-key, kind="stable")) == expected
        compiled = [key_of(np.float32(s), t) for s, t in zip(row, tie, strict=True)]
        assert compiled == key.tolist()
        assert [score_of(k) for k in compiled] == row.tolist()


def world(rng: np.random.Generator, users: int, items: int, n: int) -> Interactions:
    return Interactions.of(rng.integers(users, size=n), rng.integers(items, size=n), users, items)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 300),
    st.sampled_from([1, 3, 50]),
    st.sampled_from([Fixed, Adding]),
)
def test_equals_ranking_with_torch_alone(seed, n_items, k, kind):
    """Every point of a grid, few distinct scores so that ties abound, several tiles."""
    rng = np.random.default_rng(seed)
    train = world(rng, 9, n_items, 60)
    scores = rng.choice([-1.0, -0.0, 0.0, 0.5, 2.0], size=(9, n_items))
    r = ranking(train)
    scorer = kind(scores, weighted=True)
    values = (0.0, 0.5, 4.0)
    grid = [{"gamma": g, "beta": -b} for g in values for b in values]
    with patch("ppac.scoring.ranking.TILE", 128), patch("ppac.scoring.ranking.BLOCK", 4):
        fast = {(t.point, t.users[0]): (t.items, t.scores) for t in r.top(scorer, USERS, grid, k)}
    for point, users, items, wanted in dense.top(scorer, r, USERS, grid, k):
        rows = [fast[point, start] for start in (0, 4, 8)]
        width = items.shape[1]
        np.testing.assert_array_equal(np.concatenate([row[0] for row in rows])[:, :width], items)
        got = np.concatenate([row[1] for row in rows])[:, :width]
        np.testing.assert_array_equal(got, wanted)
        assert (users == USERS).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 300), st.sampled_from([1, 3, 50]))
def test_hits_are_those_of_the_lists(seed, n_items, k):
    """Ties abound; relevant items are touched, untouched, and some of them masked."""
    rng = np.random.default_rng(seed)
    train, relevant = world(rng, 9, n_items, 60), world(rng, 9, n_items, 90)
    scorer = Fixed(rng.choice([-1.0, -0.0, 0.0, 0.5, 2.0], size=(9, n_items)), weighted=True)
    grid = [{"gamma": g, "beta": -b} for g in (0.0, 0.5, 4.0) for b in (0.0, 1.0)]
    r = ranking(train)
    fast = {(f.point, f.users[0]): f.hits for f in r.hits(scorer, USERS, grid, k, relevant)}
    for point, users, items, _ in dense.top(scorer, r, USERS, grid, k):
        found = np.concatenate([hits for (at, _), hits in sorted(fast.items()) if at == point])
        wanted = hits_of(users, items, relevant)
        np.testing.assert_array_equal(found[:, : items.shape[1]], wanted)
        assert not found[:, items.shape[1] :].any()


@pytest.mark.parametrize("name", ["mostpop", "mostppop", "ppgp"])
def test_rankers_too(name):
    train = world(np.random.default_rng(5), 9, 200, 80)
    r, scorer = ranking(train), find("rankers", name).Ranker(Shared(train, popularity_of(train)))
    grid = [dict(scorer.neutral)]
    fast = np.concatenate([top.items for top in r.top(scorer, USERS, grid, 40)])
    (slow,) = dense.top(scorer, r, USERS, grid, 40)
    np.testing.assert_array_equal(fast, slow[2])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_equals_sorting_everything(seed, k):
    rng = np.random.default_rng(seed)
    train = Interactions.of(rng.integers(9, size=30), rng.integers(12, size=30), 9, 12)
    scores = rng.integers(3, size=(9, 12)).astype(np.float32)
    r = ranking(train)
    items, values = rank(Fixed(scores), {}, r, np.arange(9), k)
    places = (r.ties.place + r.ties.offset[:, None]) % 12
    for u in range(9):
        own = set(train.items[train.indptr[u] : train.indptr[u + 1]].tolist())
        free = [i for i in range(12) if i not in own]
        best = sorted(free, key=lambda i: (-scores[u, i], places[u, i]))[:k]
        best += [-1] * (k - len(best))
        assert items[u].tolist() == best
        assert values[u][items[u] >= 0].tolist() == [scores[u, i] for i in best if i >= 0]


def test_block_size_changes_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    train = world(rng, 50, 20, 300)
    scores = Fixed(rng.normal(size=(50, 20)))
    whole = rank(scores, {}, ranking(train), np.arange(50), 7)
    monkeypatch.setattr("ppac.scoring.ranking.BYTES_PER_SCORE", 2**20)
    assert len(list(ranking(train).top(scores, np.arange(50), [{}], 7))) > 10
    blocks = rank(scores, {}, ranking(train), np.arange(50), 7)
    np.testing.assert_array_equal(whole, blocks)


def test_ties_are_broken_by_chance_not_by_id_and_the_same_way_every_time():
    train = Interactions.of(np.array([0]), np.array([0]), 400, 100)
    flat = Fixed(np.zeros((400, 100)))
    one, same, other = (
        rank(flat, {}, ranking(train, seed=seed), np.arange(400), 10)[0] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    counts = np.bincount(one.ravel(), minlength=100)
    assert counts[1:].min() > 10  # 40 expected: nobody is favoured for their id


@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 70, 149])
def test_diverged_scores_are_a_problem(value, place):
    train = Interactions.of(np.array([0, 1]), np.array([1, 1]), 2, 150)
    scores = np.zeros((2, 150))
    scores[1, place] = value
    with pytest.raises(Problem, match="not finite"):
        rank(Fixed(scores), {}, ranking(train), np.arange(2), 2)


def test_the_memory_budget_is_kept():
    """2,000 users x 60,000 items are 480 MB of scores alone; 64 MB blocks stay far below."""
    script = """
import resource, numpy as np, torch
from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity
from ppac.scoring.ranking import Ranking, TieOrder
from ppac.scoring.scorer import Scorer
from ppac.evaluation import rank
torch.set_num_threads(1)
U, I = 2000, 60000
train = Interactions.of(np.arange(U), np.arange(U), U, I)
gp, unit = np.zeros(I, np.float32), np.ones(U, np.float32)
popular = Popularity(train.item_counts, gp, train.matrix(), unit, 1, "fraction")
users, items = torch.randn(U, 8), torch.randn(I, 8)
class Dot(Scorer):
    def parts(self, some, tile): return users[some] @ items[tile].T
    def combine(self, parts, pp, gp, weights): return parts
ranking = Ranking(train, popular, TieOrder.seeded(U, I, 0, "x"), torch.device("cpu"), 64)
rank(Dot(), {}, ranking, np.arange(50), 50)  # compiles
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rank(Dot(), {}, ranking, np.arange(U), 50)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    done = run_script(script)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 64


@pytest.mark.parametrize("sizes", [[7], [7, 5], [7, 5, 3]])
def test_layers_over_all_pairs_are_those_of_each_pair(sizes):
    """More items than a piece; what is not a number must not be rectified away."""
    rest = [nn.Linear(a, b) for a, b in itertools.pairwise([*sizes, 1])]
    left, right = torch.randn(3, 7), torch.randn(perceptron.PIECE + 5, 7)
    left[1, 2] = torch.nan
    with torch.no_grad():
        slow = torch.stack([perceptron.through(row + right, rest) for row in left])
        fast = perceptron.layers(left, right, rest)
    torch.testing.assert_close(fast, slow, equal_nan=True)
    assert fast[1].isnan().all()


@pytest.mark.parametrize("runs", [0, 0.1, 0.9, 1, 3.2])
def test_hinges_are_the_sum_over_units(runs):
    """Whole runs and a rest, of a table that goes on; what is not a number stays one."""
    left, weight, bias = torch.randn(4, 7), torch.randn(7), torch.randn(1)
    items = int(runs * perceptron.RUN)
    right = torch.randn(7, items + 9)[:, 3 : items + 3]
    left[1, 2] = torch.nan
    slow = bias + (torch.relu(left[:, :, None] + right) * weight[:, None]).sum(1)
    fast = perceptron.hinges(left, right, weight, bias)
    torch.testing.assert_close(fast, slow, equal_nan=True)
    assert fast[1].isnan().all()


@pytest.mark.parametrize(("lower", "expected"), [(True, [0, 1, 2]), (False, [4, 3, 2])])
def test_ties_can_go_by_id(lower, expected):
    nothing = Interactions.of(np.array([], int), np.array([], int), 2, 5)
    ties = TieOrder.by_id(2, 5, lower)
    equal = Ranking(nothing, popularity_of(nothing), ties, CPU, memory_mb=64)
    for top in equal.top(Fixed(np.zeros((2, 5))), np.arange(2), [{}], 3):
        assert top.items.tolist() == [expected] * len(top.users)
