"""Ranking with a dot-product model: top 50 of all users, train masked, recall and NDCG."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench import data, scoring, training
from bench.scoring import TOP
from bench.targets import Faster, Within
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
    },
    targets=(
        Faster("ours", "torch", 2),
        Faster("ours", "implicit", 2),
        Within("ours", 1024),
    ),
    tolerance=1e-4,
)
