from __future__ import annotations

import numpy as np
import pytest
from conftest import popularity_of, run_script
from hypothesis import given, settings
from hypothesis import strategies as st

from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.core.popularity import read_popularity, write_popularity
from ppac.counting.popularity import check_k, popularity
from ppac.neighbours import nearest_users
from ppac.neighbours.search import search


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
    assert nearest_users(train, k).rows() == slow_neighbours(train, k)


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


def matrix_neighbours(train: Interactions, k: int) -> list[tuple[int, int, int, float]]:
    """The definition by dense matrices: fast enough for thousands of users."""
    matrix = train.matrix(np.float64).toarray()
    common = matrix @ matrix.T
    sizes = train.user_counts
    union = sizes[:, None] + sizes - common
    similarity = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    np.fill_diagonal(similarity, 0)
    rows = []
    for u, row in enumerate(similarity):
        order = np.lexsort((-np.arange(len(row)), -row))[:k]
        rows += [(u, r, int(v), row[v]) for r, v in enumerate(order, start=1) if row[v] > 0]
    return rows


def skewed(n_users: int, n_items: int, n: int, seed: int = 0) -> Interactions:
    """Some users and items have most of the interactions, one user nothing, one everything."""
    rng = np.random.default_rng(seed)
    users = (n_users * rng.random(n) ** 3).astype(int)
    items = (n_items * rng.random(n) ** 3).astype(int)
    users[users == 1] = 2
    users = np.concatenate([users, np.full(n_items, 0)])
    items = np.concatenate([items, np.arange(n_items)])
    return Interactions.of(users, items, n_users, n_items)


@pytest.mark.parametrize(
    ("n_users", "n_items", "n"),
    [
        (1500, 60, 20_000),  # frequent items: bit planes
        (1500, 4000, 20_000),  # rare ones: lists
        (1200, 300, 60_000),  # both, and users of very different size
    ],
)
def test_equals_dense_matrices_in_any_tiling(n_users, n_items, n):
    train = skewed(n_users, n_items, n)
    expected = matrix_neighbours(train, 20)
    assert nearest_users(train, 20).rows() == expected
    tiled = search(train.indptr, train.items, train.n_items, 20, tile=512)
    whole = search(train.indptr, train.items, train.n_items, 20)
    for one, other in zip(tiled, whole, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(5))
def test_a_tile_may_bring_what_earlier_ones_left_open(seed):
    """Few candidates in a user's own tile: the bar must not rise above what is to come."""
    rng = np.random.default_rng(seed)
    users = rng.integers(1100, size=1600)
    train = Interactions.of(users, rng.integers(400, size=1600), 1100, 400)
    found = search(train.indptr, train.items, train.n_items, 30, tile=512)
    expected = matrix_neighbours(train, 30)
    counts = np.bincount([row[0] for row in expected], minlength=1100)
    np.testing.assert_array_equal(found.held, counts)
    there = np.arange(30) < found.held[:, None]
    assert found.user[there].tolist() == [row[2] for row in expected]


def test_one_item_for_everyone():
    train = Interactions.of(np.arange(700), np.zeros(700, dtype=int), 700, 3)
    near = nearest_users(train, 2)
    assert near["similarity"].unique().to_list() == [1.0]
    assert near.filter(near["user"] == 5)["neighbour"].to_list() == [699, 698]


def test_counts_beyond_255_and_two_hundred_neighbours():
    """A user of 3,000 items overlaps with others in hundreds."""
    rng = np.random.default_rng(1)
    rows = [rng.choice(4000, size, replace=False) for size in rng.integers(1, 3000, size=250)]
    users = np.repeat(np.arange(250), [len(row) for row in rows])
    train = Interactions.of(users, np.concatenate(rows), 250, 4000)
    assert nearest_users(train, 200).rows() == matrix_neighbours(train, 200)


@pytest.mark.parametrize("size", [254, 255, 256, 257, 512])
def test_a_byte_does_not_overflow(size):
    """Twins whose rare items are counted along lists: as many in common as a byte just holds."""
    twins = np.arange(6) // 2
    items = (twins[:, None] * size + np.arange(size)).ravel()
    train = Interactions.of(np.repeat(np.arange(6), size), items, 6, 3 * size)
    twin = [(u, 1, u ^ 1, 1.0) for u in range(6)]
    assert nearest_users(train, 2).rows() == twin


def test_the_search_keeps_to_little_memory():
    """30,000 users with dense overlaps: 450 million pairs; the address space is limited."""
    script = """
import resource, numpy as np
from ppac.core.interactions import Interactions
from ppac.neighbours import nearest_users
rng = np.random.default_rng(0)
n, items = 30_000, 2_000
users = np.repeat(np.arange(n), 40)
train = Interactions.of(users, (items * rng.random(len(users)) ** 3).astype(int), n, items)
small = Interactions.of(users[:4000], train.items[:4000], 100, items)
nearest_users(small, 30)  # compiles
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = size + 300 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
print(len(nearest_users(train, 30)))
"""
    done = run_script(script)
    assert done.stdout.strip() == "900000", done.stderr


def test_sums_that_must_hold():
    """Σ_i p_ui is the mean size of u's neighbours' sets, Σ_i g_i the mean size of all."""
    train = random_train()
    popular = popularity_of(train, k=10)
    near = nearest_users(train, 10)
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
    near = nearest_users(train, 2)
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
