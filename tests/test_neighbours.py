from __future__ import annotations

import numpy as np
import pytest
from conftest import popularity_of
from hypothesis import given, settings
from hypothesis import strategies as st

from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.core.popularity import check_k, popularity, read_popularity, write_popularity
from ppac.neighbours import chunks, nearest_users


@st.composite
def interactions(draw) -> Interactions:
    """Any small table: empty users, items nobody has, duplicate rows, one user."""
    n_users, n_items = draw(st.integers(1, 12)), draw(st.integers(1, 9))
    cell = st.tuples(st.integers(0, n_users - 1), st.integers(0, n_items - 1))
    rows = draw(st.lists(cell, max_size=60))
    users, items = np.array(rows or [(0, 0)]).T
    return Interactions.of(users, items, n_users, n_items)


def slow_neighbours(train: Interactions, k: int) -> list[tuple[int, int, int, float]]:
    """The definition, set by set: ties to the larger id, no overlap no neighbour."""
    sets = [
        set(train.items[train.indptr[u] : train.indptr[u + 1]].tolist())
        for u in range(train.n_users)
    ]
    rows = []
    for u, mine in enumerate(sets):
        similar = [
            (len(mine & other) / len(mine | other), v)
            for v, other in enumerate(sets)
            if v != u and mine & other
        ]
        for rank, (similarity, v) in enumerate(sorted(similar, reverse=True)[:k], start=1):
            rows.append((u, rank, v, similarity))
    return rows


@settings(max_examples=150, deadline=None)
@given(interactions(), st.integers(1, 12))
def test_equals_the_definition(train, k):
    assert nearest_users(train, k, memory_mb=64).rows() == slow_neighbours(train, k)


@settings(max_examples=50, deadline=None)
@given(interactions(), st.integers(1, 5))
def test_personal_popularity_equals_the_definition(train, k):
    popular = popularity_of(train, k)
    rows = slow_neighbours(train, k)
    expected = np.zeros((train.n_users, train.n_items))
    for u in range(train.n_users):
        mine = [v for user, _, v, _ in rows if user == u]
        for v in mine:
            expected[u, train.items[train.indptr[v] : train.indptr[v + 1]]] += 1 / len(mine)
    np.testing.assert_allclose(popular.block(np.arange(train.n_users)), expected, atol=1e-6)
    users, items = np.indices(expected.shape).reshape(2, -1)
    np.testing.assert_allclose(popular.lookup(users, items), expected.ravel(), atol=1e-6)


def random_train(n_users: int = 300, n_items: int = 80) -> Interactions:
    rng = np.random.default_rng(0)
    return Interactions.of(
        rng.integers(n_users, size=4000), rng.integers(n_items, size=4000), n_users, n_items
    )


def test_any_chunking_gives_the_same_table(monkeypatch):
    train = random_train()
    whole = nearest_users(train, 20, memory_mb=1024)
    assert len(list(chunks(train, 1024))) == 1
    monkeypatch.setattr("ppac.neighbours.BYTES_PER_OVERLAP", 2**16)
    assert len(list(chunks(train, 1))) > 10
    assert nearest_users(train, 20, memory_mb=1).equals(whole)


def test_sums_that_must_hold():
    """Σ_i p_ui is the mean size of u's neighbours' sets, Σ_i g_i the mean size of all."""
    train = random_train()
    popular = popularity_of(train, k=10)
    near = nearest_users(train, 10, 64)
    sizes = train.user_counts[near["neighbour"].to_numpy()].reshape(-1, 10)
    rows = popular.block(np.arange(train.n_users)).sum(axis=1)
    np.testing.assert_allclose(rows, sizes.mean(axis=1), rtol=1e-5)
    assert popular.gp.sum() == pytest.approx(len(train) / train.n_users, rel=1e-5)


def test_the_released_scale_normalises_rows_and_the_global_vector():
    popular = popularity_of(random_train(), k=10, scale="l2")
    rows = popular.block(np.arange(300))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    assert np.linalg.norm(popular.gp) == pytest.approx(1, rel=1e-5)


def test_both_scales_rank_alike():
    """The release's units: gamma_paper = gamma_code k / ‖c_u‖ gives the same order."""
    train = random_train()
    paper, code = (popularity_of(train, 10, scale) for scale in ("fraction", "l2"))
    u = np.arange(5)
    ratio = (paper.unit / code.unit)[u, None]
    np.testing.assert_allclose(paper.block(u) * ratio, code.block(u), rtol=1e-5)


def test_popularity_survives_its_files(tmp_path):
    popular = popularity_of(random_train(), k=7)
    write_popularity(tmp_path, popular)
    back = read_popularity(tmp_path)
    u = np.arange(300)
    np.testing.assert_array_equal(back.block(u), popular.block(u))
    np.testing.assert_array_equal(back.gp, popular.gp)
    np.testing.assert_array_equal(back.item_counts, popular.item_counts)


def test_fewer_neighbours_than_k_divide_by_what_there_is():
    train = Interactions.of(np.array([0, 1, 1, 2]), np.array([0, 0, 1, 2]), 3, 3)
    near = nearest_users(train, 2, 64)
    assert near.rows() == [(0, 1, 1, 0.5), (1, 1, 0, 0.5)]
    popular = popularity(train, near, 2, "fraction")
    np.testing.assert_array_equal(popular.block(np.array([0, 2])), [[1, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (50, "the dataset has 50 users: at most 49"),
        (41, "above 'neighbours.k_max' 40"),
        (0, "'k' is 0"),
        ("thirty", "'k' is 'thirty'"),
        (True, "'k' is True"),
    ],
)
def test_an_impossible_k_is_refused(k, message):
    with pytest.raises(Problem, match=message):
        check_k(k, k_max=40, n_users=50)
