"""What personal popularity's second edition costs: docs/ppac-plus.md."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench import data, scoring
from bench.work import Contender, Prepared, Work
from ppac.core.config import read_params

PAPER, PLUS = "ppgp", "pp-plus"  # rankers: nothing but popularity


def paper(case: str, threads: int) -> Prepared:
    from ppac.counting.popularity import popularity
    from ppac.neighbours import nearest_users

    train = data.train(case)
    return Prepared(lambda: popularity(train, nearest_users(train, data.K), data.K, "fraction"))


def plus(case: str, threads: int) -> Prepared:
    from ppac.counting.plus import PlusConfig, popularity_plus

    train, config = data.train(case), PlusConfig.read(read_params(data.ROOT), PLUS)
    return Prepared(lambda: popularity_plus(train, config, "fraction"))


def paper_ranking(case: str, threads: int) -> Prepared:
    return ranking(case, PAPER, {"gamma": 1.0, "beta": -1.0})


def plus_ranking(case: str, threads: int) -> Prepared:
    return ranking(case, PLUS, {"gamma": 1.0, "beta": -1.0, "delta": 0.5})


def ranking(case: str, name: str, weights: dict[str, float]) -> Prepared:
    """All users with something to find in validation, ranked once."""
    from ppac.core import registry
    from ppac.scoring.method import Shared

    kind: Any = registry.find("rankers", name).Ranker
    config = kind.Config.read(read_params(data.ROOT), name)
    scorer = kind(Shared(data.train(case), data.popular(case)), config)
    ranks, valid = scoring.ranking(case), data.valid(case)
    users = np.flatnonzero(valid.user_counts)
    return Prepared(lambda: scoring.evaluate(scorer, weights, ranks, valid, users))


WORK = Work(
    title="Personal popularity, second edition",
    cases=("gowalla", "yelp2018"),
    contenders={
        "paper": Contender(paper, note="30 neighbours by Jaccard and what they have, all users"),
        "plus": Contender(plus, note="the same with the 200 neighbours and weights of pp-plus"),
        "paper-ranking": Contender(
            paper_ranking,
            against="paper-ranking",
            note="validation ranked by ppgp once, neighbours and counts being there",
        ),
        "plus-ranking": Contender(
            plus_ranking, against="paper-ranking", note="the same by pp-plus"
        ),
    },
)
