"""Personal popularity of every user: each item counted among the 30 nearest users."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bench import data
from bench.targets import Faster, Within
from bench.work import Contender, Prepared, Work


def ours(case: str, threads: int) -> Prepared:
    from ppac.counting.popularity import popularity

    train, table = data.train(case), data.neighbours(case)
    return Prepared(
        run=lambda: popularity(train, table, data.K, "fraction"),
        outcome=lambda popular: summary(popular.counts),
    )


def scipy_product(case: str, threads: int) -> Prepared:
    train, table = data.train(case), data.neighbours(case)
    ratings = train.matrix()
    users, others = table["user"].to_numpy(), table["neighbour"].to_numpy()

    def run() -> sp.csr_matrix:
        ones = np.ones(len(users), dtype=np.int32)
        chosen = sp.csr_matrix((ones, (users, others)), (train.n_users, train.n_users))
        return chosen @ ratings

    return Prepared(run=run, outcome=summary)


def summary(counts: Any) -> dict[str, np.ndarray]:
    """Per user: how many items, and the counts projected on a random direction of the items."""
    matrix = sp.csr_matrix(counts)
    direction = np.random.default_rng(data.SEED).random(matrix.shape[1])
    return {"counts": matrix @ direction, "numbers of items": np.diff(matrix.indptr)}


WORK = Work(
    title="Personal popularity of all users, k = 30",
    cases=("gowalla", "yelp2018", "ml-20m-like"),
    contenders={
        "ours": Contender(ours),
        "scipy": Contender(scipy_product, "scipy", note="S @ X with S built from the table"),
    },
    targets=(Faster("ours", "scipy", 1), Within("ours", 512, beyond_result=True)),
)
