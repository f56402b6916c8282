"""What each inference weight does on test, one at a time: the paper's figure 7.

Nothing is chosen here. The model is the one that was trained; another k changes the personal
popularity that is added at inference, not the one that was regressed on in training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import polars as pl
from pydantic import Field

from ppac.core.config import Section
from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity
from ppac.evaluation import EvaluateConfig, evaluate
from ppac.scoring.ranking import Ranking
from ppac.scoring.scorer import Scorer

METRICS = ["recall", "ndcg", "pru", "ppru"]


class SweepConfig(Section):
    gamma: list[float]
    beta: list[float]
    k: list[int] = Field(min_length=1)


def points(
    config: SweepConfig, tuned: Mapping[str, float], k: int
) -> Iterator[tuple[str, float, dict[str, float], int]]:
    """What is varied, its value, the weights and the k to use.

    >>> config = SweepConfig(gamma=[0, 8], beta=[-4], k=[5])
    >>> list(points(config, {"gamma": 8, "beta": -2}, 30))
    ... # doctest: +NORMALIZE_WHITESPACE
    [('gamma', 0.0, {'gamma': 0.0, 'beta': 0.0}, 30),
     ('gamma', 8.0, {'gamma': 8.0, 'beta': 0.0}, 30),
     ('beta', -4.0, {'gamma': 0.0, 'beta': -4.0}, 30),
     ('k', 5, {'gamma': 8, 'beta': -2}, 5)]
    """
    none = dict.fromkeys(tuned, 0.0)
    for name in ("gamma", "beta"):
        if name in tuned:
            for value in getattr(config, name):
                yield name, value, {**none, name: value}, k
    for value in config.k:
        yield "k", value, dict(tuned), value


def sweep(
    scorer: Scorer,
    tuned: Mapping[str, float],
    ranking: Ranking,
    test: Interactions,
    popularity_at: Callable[[int], Popularity],
    config: SweepConfig,
    how: EvaluateConfig,
) -> pl.DataFrame:
    """Test metrics at every point; a row each."""
    narrow = how.model_copy(update={"metrics": METRICS, "cutoffs": [how.popularity_cutoff]})
    here = ranking.popularity.k
    rows = []
    for name, value, weights, k in points(config, tuned, here):
        popular = ranking.popularity if k == here else popularity_at(k)
        at = replace(ranking, popularity=popular)
        measured = evaluate(scorer, weights, at, test, test, narrow).metrics
        own = {key: v for key, v in measured.items() if not key.startswith("random_")}
        rows.append({"varied": name, "value": float(value), **own})
    return pl.DataFrame(rows)
