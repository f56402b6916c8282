"""What inference weights do on both tests: one at a time (the paper's figure 7), and together.

Nothing is chosen here. The model is the one that was trained; another k changes the personal
popularity that is added at inference, not the one that was regressed on in training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import torch
from pydantic import Field

from ppac.core import registry
from ppac.core.config import Section
from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity
from ppac.evaluation import EvaluateConfig, add, evaluate
from ppac.progress import bar
from ppac.scoring.grid import grid_of
from ppac.scoring.lists import Lists, hits_of
from ppac.scoring.ranking import Ranking
from ppac.scoring.scorer import Scorer

METRICS = ["recall", "ndcg", "arp", "tail_share", "coverage", "gini", "pru", "ppru"]
WEIGHTS = ("gamma", "beta")

Weights = Mapping[str, float]


class SweepConfig(Section):
    gamma: list[float]
    beta: list[float]
    k: list[int] = Field(min_length=1)

    def grid(self, tuned: Weights) -> list[dict[str, float]]:
        """Every gamma with every beta, zero and the chosen ones among them.

        >>> config = SweepConfig(gamma=[0, 8], beta=[0, -4], k=[5])
        >>> [tuple(point.values()) for point in config.grid({"gamma": 8.0, "beta": -2.0})]
        [(0.0, 0.0), (0.0, -4.0), (8.0, 0.0), (8.0, -4.0), (8.0, -2.0)]
        """
        wanted = {name: getattr(self, name) for name in WEIGHTS if name in tuned}
        neutral = {name: 0.0 if name in wanted else value for name, value in tuned.items()}
        values = {name: wanted.get(name, [value]) for name, value in tuned.items()}
        points = grid_of(neutral, values, "sweep")
        return [*points, *([dict(tuned)] if dict(tuned) not in points else [])]


@dataclass(frozen=True)
class Against:
    """What lists are held against, and how."""

    test: Interactions
    random: Interactions
    how: EvaluateConfig

    def measure(self, items: np.ndarray, popularity: Popularity) -> dict[str, float]:
        """The metrics of everyone's list, as `evaluate` computes them of its own."""
        everyone, k = np.arange(len(items)), self.how.popularity_cutoff
        found: dict[str, float] = {}
        for prefix, relevant in (("", self.test), ("random_", self.random)):
            lists = Lists(
                users=everyone,
                items=items,
                relevant=relevant.user_counts,
                hits=hits_of(everyone, items, relevant),
                popularity=popularity,
                head_items=self.how.head_items,
                tail_interactions=self.how.tail_interactions,
            )
            for name in METRICS:
                if not prefix or registry.find("metrics", name).KIND == "accuracy":
                    add(found, {}, f"{prefix}{name}_at_{k}", name, lists, k)
        return found


def together(
    scorer: Scorer, grid: Sequence[Weights], ranking: Ranking, tests: Against
) -> pl.DataFrame:
    """Metrics of both tests at every point of the grid, a row each."""
    n, k = tests.test.n_users, tests.how.popularity_cutoff
    at_once = max(1, ranking.memory_mb * 2**20 // (4 * n * k))  # points whose lists fit
    rows = []
    with torch.inference_mode(), bar(total=len(grid), desc="weights", unit="point") as progress:
        for start in range(0, len(grid), at_once):
            points = grid[start : start + at_once]
            items = np.full((len(points), n, k), -1, dtype=np.int32)
            for top in ranking.top(scorer, np.arange(n), points, k):
                items[top.point, top.users, : top.items.shape[1]] = top.items
            for weights, listed in zip(points, items, strict=True):
                rows.append({**weights, **tests.measure(listed, ranking.popularity)})
                progress.update()
    return pl.DataFrame(rows)


def one_by_one(
    measured: pl.DataFrame, config: SweepConfig, tuned: Weights, at_k: Callable[[int], Weights]
) -> pl.DataFrame:
    """Figure 7: each weight with the other at zero, out of the grid, and k at the chosen ones."""
    varied = [name for name in WEIGHTS if name in tuned]
    rows = []
    for name in varied:
        others = [pl.col(other) == 0 for other in varied if other != name]
        for value in getattr(config, name):
            found = measured.filter(pl.col(name) == value, *others).row(0, named=True)
            rows.append({"varied": name, "value": float(value)} | found)
    rows += [{"varied": "k", "value": float(k), **at_k(k)} for k in config.k]
    return pl.DataFrame([{name: row[name] for name in rows[-1]} for row in rows])


def sweep(
    scorer: Scorer,
    tuned: Weights,
    ranking: Ranking,
    tests: Against,
    popularity_at: Callable[[int], Popularity],
    config: SweepConfig,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """One at a time, and all together."""
    cutoff = tests.how.popularity_cutoff
    narrow = tests.how.model_copy(update={"metrics": METRICS, "cutoffs": [cutoff]})
    here = ranking.popularity.k

    grid = config.grid(tuned)
    measured = together(scorer, grid, ranking, tests)

    def at_k(k: int) -> Weights:
        if k == here:
            return measured.drop(tuned).row(grid.index(dict(tuned)), named=True)
        at = replace(ranking, popularity=popularity_at(k))
        return evaluate(scorer, tuned, at, tests.test, tests.random, narrow).metrics

    return one_by_one(measured, config, tuned, at_k), measured
