"""Ranking with NCF, where every pair costs a perceptron: top 50 of a sample of users."""

from __future__ import annotations

import itertools

import numpy as np

from bench import data, scoring, training
from bench.targets import Faster
from bench.work import Contender, Prepared, Work
from ppac.layout import Cell

SAMPLE = 256  # users
BLOCK = 8  # users whose scores the peer holds
PAIRS = 2**16  # pairs the peer's layers see at once


def sample(dataset: str) -> np.ndarray:
    n_users = data.train(dataset).n_users
    return np.sort(np.random.default_rng(data.SEED).choice(n_users, SAMPLE, replace=False))


def ours(case: str, threads: int) -> Prepared:
    net = training.untrained(Cell(case, "ncf", "base")).eval()
    ranks, relevant, users = scoring.ranking(case), data.held_out(case), sample(case)
    return Prepared(
        run=lambda: scoring.evaluate(net, {}, ranks, relevant, users), outcome=lambda found: found
    )


def torch_pairs(case: str, threads: int) -> Prepared:
    """The weights of ours as one perceptron over concatenated embeddings."""
    import torch
    from torch import nn

    from bench.peers.plain_ranking import evaluate, perceptron

    model = training.untrained(Cell(case, "ncf", "base")).model
    first = nn.Linear(2 * training.DIM, training.HIDDEN[0])
    with torch.no_grad():
        first.weight.copy_(torch.cat([model.user_half.weight, model.item_half.weight], dim=1))
        first.bias.copy_(model.user_half.bias)
    above = itertools.chain.from_iterable((nn.ReLU(), layer) for layer in model.rest)
    left, right = model.ego()
    score = perceptron(left, right, nn.Sequential(first, *above), PAIRS)
    train, relevant, users = data.train(case), data.held_out(case), sample(case)
    return Prepared(
        run=lambda: evaluate(score, train, relevant, users, BLOCK), outcome=lambda found: found
    )


WORK = Work(
    title=f"Ranking with NCF: top 50 of {SAMPLE} users",
    cases=("gowalla",),
    contenders={
        "ours": Contender(ours),
        "torch": Contender(
            torch_pairs,
            "torch",
            note=f"both embeddings concatenated for every pair, {PAIRS} pairs at once",
        ),
    },
    targets=(Faster("ours", "torch", 3),),
)
