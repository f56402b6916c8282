"""Every metric by hand on two users and six items."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from ppac.core.popularity import Popularity
from ppac.core.registry import find, names
from ppac.scoring.lists import Lists
from ppac.scoring.spearman import agreement

LOG3 = np.log2(3)

# Items 0..5 have 8, 4, 2, 1, 1, 0 train interactions. User 0's list is 0, 3, 1 and of its two
# relevant items one is third; user 1's is 5, 4 and then nothing, its only relevant item first.
COUNTS = np.array([8, 4, 2, 1, 1, 0])
LISTS = Lists(
    users=np.array([0, 1]),
    items=np.array([[0, 3, 1], [5, 4, -1]]),
    relevant=np.array([2, 1]),
    hits=np.array([[False, False, True], [True, False, False]]),
    popularity=Popularity(
        item_counts=COUNTS,
        gp=(COUNTS / 8).astype(np.float32),
        counts=sp.csr_matrix(np.array([[1, 3, 0, 2, 0, 0], [0, 0, 0, 0, 1, 2]])),
        unit=np.array([4.0, 2.0], dtype=np.float32),
        k=4,
        scale="fraction",
    ),
    head_items=1 / 6,
    tail_interactions=0.25,
)


@pytest.mark.parametrize(
    ("name", "k", "expected"),
    [
        ("recall", 3, [0.5, 1]),
        ("recall", 2, [0, 1]),
        ("precision", 2, [0, 0.5]),
        ("hit_rate", 2, [0, 1]),
        ("hit_rate", 3, [1, 1]),
        ("ndcg", 3, [0.5 / (1 + 1 / LOG3), 1]),  # third place: 1 / log2(4) = 0.5
        ("arp", 3, [(8 + 1 + 4) / 3, 0.5]),
        ("head_share", 3, [1 / 3, 0]),  # the head is item 0
        ("tail_share", 3, [1 / 3, 1]),  # the tail is 5, 3, 4 and, to 4 of 16, item 2
        ("coverage", 3, 5 / 6),
        ("coverage", 1, 2 / 6),
        # User 0's popularities 8, 1, 4 rank 3, 1, 2: correlation -0.5 with places 1, 2, 3.
        ("pru", 3, [0.5, -1]),
        ("ppru", 3, [-1, 1]),  # 1, 2, 3 quarters; 2, 1 halves
    ],
)
def test_by_hand(name, k, expected):
    assert find("metrics", name).score(LISTS, k) == pytest.approx(np.array(expected), abs=1e-9)


def test_gini_by_hand():
    """Counts 1, 1, 0, 1, 1, 1: sorted 0 1 1 1 1 1 gives 5 / 30."""
    assert find("metrics", "gini").score(LISTS, 3) == pytest.approx(1 / 6)


def test_gini_of_equal_and_of_single():
    gini = find("metrics", "gini").score
    every = np.tile(np.arange(6), (4, 1))
    assert gini(replace(items=every), 6) == pytest.approx(0)
    assert gini(replace(items=np.zeros((4, 1), int)), 1) == pytest.approx(5 / 6)


def replace(items):
    from dataclasses import replace as copy

    n = len(items)
    return copy(LISTS, users=np.zeros(n, int), items=items, relevant=np.ones(n), hits=items >= 0)


def test_every_metric_has_a_kind():
    for name in names("metrics"):
        assert find("metrics", name).KIND in ("accuracy", "popularity")


@given(st.lists(st.integers(0, 4), min_size=2, max_size=9))
def test_agreement_is_minus_spearman(values):
    got = agreement(np.array([values], dtype=float))[0]
    if len(set(values)) == 1:
        assert got == 0
    else:
        expected = -spearmanr(values, np.arange(len(values))).statistic
        assert got == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=9), st.integers(1, 5))
def test_missing_places_do_not_count(values, more):
    padded = np.array([values + [np.nan] * more], dtype=float)
    alone = np.array([values], dtype=float)
    assert agreement(padded)[0] == pytest.approx(agreement(alone)[0], abs=1e-9)


@given(st.integers(0, 10**6))
def test_accuracy_equals_slow_twins(seed):
    rng = np.random.default_rng(seed)
    n, k, items = 5, 6, 12
    lists = np.stack([rng.permutation(items)[:k] for _ in range(n)])
    truth = [set(rng.permutation(items)[: rng.integers(1, 9)].tolist()) for _ in range(n)]
    hits = np.array([[i in t for i in row] for row, t in zip(lists, truth, strict=True)])
    relevant = np.array([len(t) for t in truth])
    from dataclasses import replace as copy

    made = copy(LISTS, users=np.arange(n), items=lists, relevant=relevant, hits=hits)
    for u in range(n):
        found = [place for place, item in enumerate(lists[u]) if item in truth[u]]
        dcg = sum(1 / np.log2(place + 2) for place in found)
        best = sum(1 / np.log2(place + 2) for place in range(min(k, len(truth[u]))))
        assert find("metrics", "ndcg").score(made, k)[u] == pytest.approx(dcg / best)
        assert find("metrics", "recall").score(made, k)[u] == pytest.approx(
            len(found) / len(truth[u])
        )
