"""Ranking and scoring with ours, for every work that needs it.

This is the one place of the benchmark that knows how ppac ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench import data, training
from ppac.core.interactions import Interactions
from ppac.layout import Cell

TOP = 50
MEMORY_MB = 512  # the default of params.yaml
EPOCHS = 10  # enough for norms that follow popularity, as those of trained models do
RATE = 1e-2


def factors(case: str) -> tuple[np.ndarray, np.ndarray]:
    """Users' and items' factors of ``dataset/random`` or ``dataset/trained``."""
    dataset, _, kind = case.partition("/")
    train = data.train(dataset)
    if kind == "random":
        rng = np.random.default_rng(data.SEED)
        sizes = (train.n_users, training.DIM), (train.n_items, training.DIM)
        users, items = (rng.normal(0, 0.1, size).astype(np.float32) for size in sizes)
        return users, items
    kept = data.kept(f"{dataset}-factors.npz", lambda: train_factors(dataset))
    return kept["users"], kept["items"]


def train_factors(dataset: str) -> dict[str, np.ndarray]:
    trained = training.ours(Cell(dataset, "bprmf", "base"), RATE)
    for _ in range(EPOCHS):
        trained.epoch()
    users, items = (table.detach().numpy() for table in trained.net.model.ego())
    return {"users": users, "items": items}


def with_factors(net: Any, case: str) -> Any:
    """A method of ours, ready to rank, its embeddings replaced by the case's factors."""
    import torch

    tables = zip(net.model.ego(), factors(case), strict=True)
    with torch.no_grad():
        for table, values in tables:
            table.copy_(torch.from_numpy(values))
    return net.eval()


def ranking(dataset: str) -> Any:
    """What ranks: train masked, real popularity, seeded ties."""
    import torch

    from ppac.scoring.ranking import Ranking, TieOrder

    train = data.train(dataset)
    ties = TieOrder.seeded(train.n_users, train.n_items, data.SEED, dataset)
    return Ranking(train, data.popular(dataset), ties, torch.device("cpu"), MEMORY_MB)


def evaluate(
    scorer: Any,
    weights: Mapping[str, float],
    ranks: Any,
    relevant: Interactions,
    users: np.ndarray,
) -> dict[str, np.ndarray]:
    """One evaluation: rank all items for the users, then recall and NDCG of their top 50."""
    from ppac.evaluation import rank
    from ppac.metrics import ndcg, recall
    from ppac.scoring.lists import Lists, hits_of

    items, scores = rank(scorer, weights, ranks, users, TOP)
    lists = Lists(
        users=users,
        items=items,
        relevant=relevant.user_counts[users],
        hits=hits_of(users, items, relevant),
        popularity=ranks.popularity,
        head_items=0,
        tail_interactions=0,
    )
    means = {"recall": recall.score(lists, TOP).mean(), "ndcg": ndcg.score(lists, TOP).mean()}
    return {"scores": scores, **{name: np.array(mean) for name, mean in means.items()}}
