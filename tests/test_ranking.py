from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

import numpy as np
import pytest
import torch
from conftest import ROOT, popularity_of
from hypothesis import given, settings
from hypothesis import strategies as st
from test_models import CPU

from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.evaluation import rank
from ppac.scoring.ranking import Ranking, TieOrder, sort_keys


class Fixed:
    """A scorer that says what it is told."""

    neutral: Mapping[str, float] = {}

    def __init__(self, scores: np.ndarray) -> None:
        self.scores = torch.from_numpy(scores.astype(np.float32))

    def parts(self, users):
        return self.scores[users]

    def combine(self, parts, pp, gp, weights):
        return parts


def ranking(train: Interactions, memory_mb: int = 64, seed: int = 0) -> Ranking:
    ties = TieOrder.seeded(train.n_users, train.n_items, seed, "toy")
    return Ranking(train, popularity_of(train), ties, CPU, memory_mb)


@st.composite
def tables(draw):
    users, items = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    few = st.sampled_from([-np.inf, -2.0, -0.0, 0.0, 1e-30, 1.0, 3e38])
    values = st.lists(few, min_size=users * items, max_size=users * items)
    return np.array(draw(values), dtype=np.float32).reshape(users, items)


@given(tables())
def test_sort_keys_order_like_floats_and_are_distinct(scores):
    ties = torch.stack([torch.randperm(scores.shape[1]) for _ in scores])
    keys = sort_keys(torch.from_numpy(scores), ties).numpy()
    for row, key, tie in zip(scores, keys, ties.numpy(), strict=True):
        assert len(set(key.tolist())) == len(key)
        expected = sorted(range(len(row)), key=lambda i: (-row[i], tie[i]))
        assert list(np.argsort(-key, kind="stable")) == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_equals_sorting_everything(seed, k):
    rng = np.random.default_rng(seed)
    train = Interactions.of(rng.integers(9, size=30), rng.integers(12, size=30), 9, 12)
    scores = rng.integers(3, size=(9, 12)).astype(np.float32)
    r = ranking(train)
    items, values = rank(Fixed(scores), {}, r, np.arange(9), k)
    places = r.ties.of(torch.arange(9)).numpy()
    for u in range(9):
        own = set(train.items[train.indptr[u] : train.indptr[u + 1]].tolist())
        free = [i for i in range(12) if i not in own]
        best = sorted(free, key=lambda i: (-scores[u, i], places[u, i]))[:k]
        best += [-1] * (k - len(best))
        assert items[u].tolist() == best
        assert values[u][items[u] >= 0].tolist() == [scores[u, i] for i in best if i >= 0]


def test_block_size_changes_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    train = Interactions.of(rng.integers(50, size=300), rng.integers(20, size=300), 50, 20)
    scores = Fixed(rng.normal(size=(50, 20)))
    whole = rank(scores, {}, ranking(train), np.arange(50), 7)
    monkeypatch.setattr("ppac.scoring.ranking.BYTES_PER_SCORE", 2**20)
    assert len(list(ranking(train, memory_mb=60).blocks(np.arange(50)))) > 10
    blocks = rank(scores, {}, ranking(train, memory_mb=60), np.arange(50), 7)
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


def test_diverged_scores_are_a_problem():
    train = Interactions.of(np.array([0, 1]), np.array([0, 1]), 2, 3)
    with pytest.raises(Problem, match="not finite"):
        rank(Fixed(np.full((2, 3), np.nan)), {}, ranking(train), np.arange(2), 2)


def test_the_memory_budget_is_kept():
    """2,000 users x 60,000 items are 480 MB of scores alone; 64 MB blocks stay far below."""
    script = """
import resource, numpy as np, torch
from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity
from ppac.scoring.ranking import Ranking, TieOrder
from ppac.evaluation import rank
torch.set_num_threads(1)
U, I = 2000, 60000
train = Interactions.of(np.arange(U), np.arange(U), U, I)
gp, unit = np.zeros(I, np.float32), np.ones(U, np.float32)
popular = Popularity(train.item_counts, gp, train.matrix(), unit)
users, items = torch.randn(U, 8), torch.randn(I, 8)
class Dot:
    neutral = {}
    def parts(self, some): return users[some] @ items.T
    def combine(self, parts, pp, gp, weights): return parts
ranking = Ranking(train, popular, TieOrder.seeded(U, I, 0, "x"), torch.device("cpu"), 64)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rank(Dot(), {}, ranking, np.arange(U), 50)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 200
