"""Ranking with a dot-product model: top 50 of all users, train masked, recall and NDCG."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bench import data, scoring, training
from bench.scoring import TOP
from bench.targets import Faster, Record, Within, by_case, typical
from bench.work import Contender, Prepared, Work
from ppac.layout import Cell

BLOCK = 2048  # users that the peers with a choice rank at once


def ours(case: str, threads: int) -> Prepared:
    dataset = case.split("/")[0]
    net = scoring.with_factors(training.untrained(Cell(dataset, "bprmf", "base")), case)
    ranks, relevant = scoring.ranking(dataset), data.held_out(dataset)
    users = np.arange(relevant.n_users)
    return Prepared(
        run=lambda: scoring.evaluate(net, {}, ranks, relevant, users), outcome=lambda found: found
    )


def torch_blocks(case: str, threads: int) -> Prepared:
    from bench.peers.plain_ranking import dot, evaluate

    dataset = case.split("/")[0]
    score = dot(*scoring.factors(case))
    train, relevant = data.train(dataset), data.held_out(dataset)
    users = np.arange(train.n_users)
    return Prepared(
        run=lambda: evaluate(score, train, relevant, users, BLOCK), outcome=lambda found: found
    )


def recbole(case: str, threads: int) -> Prepared:
    import torch

    from bench.peers.recbole import recbole

    dataset = case.split("/")[0]
    n_items = data.train(dataset).n_items
    it = recbole(
        "BPR",
        dataset,
        threads,
        eval_batch_size=BLOCK * (n_items + 1),  # it counts pairs; the default is one user
        metric_decimal_place=7,
    )
    users, items = scoring.factors(case)
    with torch.no_grad():
        it.model.user_embedding.weight[it.users] = torch.from_numpy(users)
        it.model.item_embedding.weight[it.items] = torch.from_numpy(items)
    return Prepared(
        run=lambda: it.trainer.evaluate(it.test, load_best_model=False),
        outcome=lambda found: {
            name: np.array(found[f"{name}@{TOP}"]) for name in ("recall", "ndcg")
        },
    )


def implicit(case: str, threads: int) -> Prepared:
    from implicit.cpu.bpr import BayesianPersonalizedRanking
    from implicit.evaluation import ranking_metrics_at_k

    dataset = case.split("/")[0]
    model: Any = BayesianPersonalizedRanking(factors=training.DIM, num_threads=threads)
    model.user_factors, model.item_factors = scoring.factors(case)
    train, relevant = (part(dataset).matrix(np.float32) for part in (data.train, data.held_out))
    return Prepared(
        run=lambda: ranking_metrics_at_k(
            model, train, relevant, K=TOP, show_progress=False, num_threads=threads
        ),
        outcome=lambda found: {"ndcg": np.array(found["ndcg"])},
    )


def products(case: str, threads: int) -> Prepared:
    """The matrix products of ours and nothing else: a thread for some users, as there."""
    import torch

    from ppac.scoring.ranking import BLOCK, TILE

    users, items = (torch.from_numpy(table) for table in scoring.factors(case))
    torch.set_num_threads(1)
    tiles = items.split(TILE)

    def work(some: torch.Tensor) -> None:
        with torch.inference_mode():
            for tile in tiles:
                some @ tile.T

    def run() -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, users.split(BLOCK)))

    return Prepared(run)


def where_time_goes(records: Sequence[Record]) -> list[str]:
    """What no ranking of all items gets around, and what was tried."""
    whole, alone = by_case(records, "ours"), by_case(records, "products")
    lines = [
        f"On {case}, the products alone take {typical(alone[case]) / typical(whole[case]):.0%} of"
        " our time."
        for case in whole
        if case in alone
    ]
    tried = (
        "Tried and left: tiles of a quarter to twice the items, with a quarter to four times the"
        " users at once. Fewer users at once are slower; more, by turns, were within the noise."
    )
    return [*lines, "", tried]


WORK = Work(
    title="Ranking with a dot product: top 50 of all users, recall and NDCG",
    cases=("gowalla/random", "gowalla/trained"),
    contenders={
        "ours": Contender(ours, note="ties broken by a seeded permutation, with real popularity"),
        "torch": Contender(torch_blocks, "torch", note=f"blocks of {BLOCK} users, topk"),
        "implicit": Contender(
            implicit,
            "implicit",
            env={"OPENBLAS_NUM_THREADS": "1"},  # as it asks for: it has threads of its own
            note="ranking_metrics_at_k",
        ),
        "recbole": Contender(
            recbole, "recbole", note=f"full-sort evaluation, {BLOCK} users at once"
        ),
        "products": Contender(
            products, "torch", note="of ours: the matrix products by torch, and nothing else"
        ),
    },
    targets=(
        Faster("ours", "torch", 2),
        Faster("ours", "implicit", 2),
        Within("ours", 1024),
    ),
    tolerance=1e-4,
    closing=where_time_goes,
)
