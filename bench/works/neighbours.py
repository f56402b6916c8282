"""Exact Jaccard top-30 of every user, the user excluded."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from bench import data
from bench.targets import Faster, Within
from bench.work import Contender, Prepared, Work
from ppac.core.interactions import Interactions

K = data.K
LARGE = "ml-20m-like"
SAMPLE = 500  # users of the large one that scipy compares with all
CHUNK = 500  # users whose overlaps scipy holds at once


def ours(case: str, threads: int) -> Prepared:
    from ppac.neighbours import nearest_users

    train = data.train(case)
    return Prepared(
        run=lambda: nearest_users(train, K),
        outcome=lambda table: {"similarity": of_table(table, train.n_users)},
    )


def similaripy(case: str, threads: int) -> Prepared:
    from similaripy import jaccard

    ratings = data.train(case).matrix(np.float32)
    return Prepared(
        run=lambda: jaccard(
            ratings, k=K + 1, num_threads=threads, verbose=False, format_output="csr"
        ),
        outcome=lambda found: {"similarity": of_matrix(found)},
    )


def sparse_dot_topn(case: str, threads: int) -> Prepared:
    from sparse_dot_topn import sp_matmul_topn

    ratings = data.train(case).matrix(np.float32)
    return Prepared(
        run=lambda: sp_matmul_topn(ratings, ratings.T.tocsr(), K + 1, n_threads=threads)
    )


def scipy_chunks(case: str, threads: int) -> Prepared:
    train = data.train(case)
    users = np.arange(train.n_users)
    if case != LARGE:
        return Prepared(
            run=lambda: overlaps_in_chunks(train, users),
            outcome=lambda found: {"similarity": found},
        )
    sample = np.sort(np.random.default_rng(data.SEED).choice(users, SAMPLE, replace=False))
    # Users differ in how many others they meet, so the share is one of meetings.
    met = np.bincount(train.users, weights=train.item_counts[train.items])
    return Prepared(
        run=lambda: overlaps_in_chunks(train, sample),
        scale=float(met.sum() / met[sample].sum()),
        share=f"{SAMPLE} users, scaled by their share of all pairs of users who share an item",
    )


def overlaps_in_chunks(train: Interactions, users: np.ndarray) -> np.ndarray:
    """The best similarities of ``users``, (n, K), descending; 0 where there are no more."""
    ratings = train.matrix(np.float32)
    transposed = ratings.T.tocsr()
    best = np.zeros((len(users), K))
    for start in range(0, len(users), CHUNK):
        some = users[start : start + CHUNK]
        overlap = (ratings[some] @ transposed).tocsr()
        for row, user in enumerate(some):
            of_row = slice(overlap.indptr[row], overlap.indptr[row + 1])
            others, common = overlap.indices[of_row], overlap.data[of_row]
            union = train.user_counts[user] + train.user_counts[others] - common
            similarity = (common / union)[others != user]
            if len(similarity) > K:
                similarity = np.partition(similarity, len(similarity) - K)[-K:]
            best[start + row, : len(similarity)] = np.sort(similarity)[::-1]
    return best


def of_table(table: pl.DataFrame, n_users: int) -> np.ndarray:
    """The similarities of ours as (users, K), descending; 0 where there are no more."""
    best = np.zeros((n_users, K))
    best[table["user"].to_numpy(), table["rank"].to_numpy() - 1] = table["similarity"].to_numpy()
    return best


def of_matrix(found: Any) -> np.ndarray:
    """The same of a similarity matrix whose rows include the user."""
    entries = sp.coo_matrix(found)
    keep = entries.row != entries.col
    rows, values = entries.row[keep], entries.data[keep]
    order = np.lexsort((-values, rows))
    rows, values = rows[order], values[order]
    place = np.arange(len(rows)) - np.searchsorted(rows, rows)
    best = np.zeros((found.shape[0], K))
    first = place < K  # who has K equals may have been crowded out of the own list
    best[rows[first], place[first]] = values[first]
    return best


WORK = Work(
    title="Neighbours: exact Jaccard top 30 of all users",
    cases=("ml-1m", "gowalla", "yelp2018", LARGE),
    contenders={
        "ours": Contender(ours),
        "similaripy": Contender(similaripy, "similaripy", once=[LARGE]),
        "scipy": Contender(
            scipy_chunks, "scipy", once=[LARGE], note="chunks of sparse rows, one thread"
        ),
        "sparse_dot_topn": Contender(
            sparse_dot_topn,
            "sparse_dot_topn",
            once=[LARGE],
            note="the bare product: numbers of common items, not Jaccard",
        ),
    },
    targets=(Faster("ours", "similaripy", 2), Within("ours", 2048, cases=[LARGE])),
)
