"""Tuning: a 7 x 7 grid of gamma and beta on validation, against one evaluation of one point."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from bench import data, scoring, training
from bench.targets import Costs
from bench.work import Contender, Prepared, Work
from ppac.layout import Cell

GAMMAS = (0.0, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0)
BETAS = (0.0, -1.0, -4.0, -16.0, -64.0, -256.0, -1024.0)
GRID = [{"gamma": g, "beta": b} for g, b in itertools.product(GAMMAS, BETAS)]
POINT = {"gamma": 16.0, "beta": -16.0}  # of the grid, for one evaluation


def scorer(case: str) -> Any:
    """The trained factors with PPAC's weights: around a bare dot product, or in PPAC itself."""
    dataset, kind = case.split("/")
    ppac = Cell(dataset, "bprmf", "ppac")
    net = training.untrained(ppac) if kind == "ppac" else dot(dataset)
    return scoring.with_factors(net, f"{dataset}/trained")


def dot(dataset: str) -> Any:
    """The base model scored by itself and corrected like PPAC: as little model as there can be."""
    from ppac.methods import base, ppac
    from ppac.scoring.method import Shared

    class Dot(base.Net):
        neutral = ppac.Net.neutral
        personal = ppac.Net.personal
        combine = ppac.Net.combine
        added = ppac.Net.added

    model = training.untrained(Cell(dataset, "bprmf", "base")).model
    shared = Shared(data.train(dataset), data.unpopular(dataset))
    return Dot(model, shared, 0.0, base.Config(squash=False))


def grid(case: str, threads: int) -> Prepared:
    from ppac.scoring.validation import score_grid

    net, dataset = scorer(case), case.split("/")[0]
    ranks, valid = scoring.ranking(dataset), data.valid(dataset)
    at = GRID.index(POINT)
    return Prepared(
        run=lambda: score_grid(net, ranks, valid, GRID),
        outcome=lambda table: {
            name: np.array(table[f"{name}_at_{scoring.TOP}"][at]) for name in ("recall", "ndcg")
        },
    )


def one_point(case: str, threads: int) -> Prepared:
    net, dataset = scorer(case), case.split("/")[0]
    ranks, valid = scoring.ranking(dataset), data.valid(dataset)
    users = np.flatnonzero(valid.user_counts)
    return Prepared(
        run=lambda: scoring.evaluate(net, POINT, ranks, valid, users),
        outcome=lambda found: {name: found[name] for name in ("recall", "ndcg")},
    )


WORK = Work(
    title=f"Tuning: {len(GRID)} points of gamma and beta on validation",
    cases=("gowalla/dot", "gowalla/ppac"),
    contenders={
        "grid": Contender(grid, note="all points in one call"),
        "one-evaluation": Contender(
            one_point,
            note="ranks the same users at one point, recall and NDCG: what a grid costs"
            f" {len(GRID)} times if done point by point",
        ),
    },
    targets=(Costs("grid", "one-evaluation", 4),),
)
