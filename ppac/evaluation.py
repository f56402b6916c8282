"""From a scorer to metrics: rank everything once, then count."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
import torch
from pydantic import Field

from ppac.core import registry
from ppac.core.config import FILE, Section
from ppac.core.errors import Problem
from ppac.core.files import read_table
from ppac.core.interactions import Interactions
from ppac.progress import bar
from ppac.scoring.lists import Lists, hits_of
from ppac.scoring.ranking import Ranking, TieOrder
from ppac.scoring.scorer import Scorer


class EvaluateConfig(Section):
    metrics: list[str]
    cutoffs: list[Annotated[int, Field(gt=0)]] = Field(min_length=1)
    popularity_cutoff: int = Field(gt=0)
    head_items: float = Field(gt=0, lt=1)
    tail_interactions: float = Field(gt=0, lt=1)
    ties: Literal["chance", "lower_id", "higher_id"]

    def tie_order(self, n_users: int, n_items: int, seed: int, dataset: str) -> TieOrder:
        if self.ties == "chance":
            return TieOrder.seeded(n_users, n_items, seed, dataset)
        return TieOrder.by_id(n_users, n_items, self.ties == "lower_id")

    def headline(self) -> list[str]:
        """The metrics worth a stage's closing line."""
        k = self.popularity_cutoff
        return [f"recall_at_{k}", f"ndcg_at_{k}", f"random_ndcg_at_{k}"]


class Forced(Section):
    """Inference-only weights named at the top of params.yaml."""

    gamma: float | Literal["tuned"]
    beta: float | Literal["tuned"]

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Forced:
        for name in cls.model_fields:
            value = params.get(name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if value != "tuned" and not (number and math.isfinite(float(value or 0))):
                raise Problem(f"{FILE}: '{name}' is {value!r}: it must be a number or 'tuned'.")
        return cls.check({name: params[name] for name in cls.model_fields}, FILE)

    def over(self, tuned: Mapping[str, float]) -> dict[str, float]:
        """The tuned weights, with what is forced in their place."""
        forced = {k: v for k, v in self.model_dump().items() if k in tuned and v != "tuned"}
        return {**tuned, **forced}


@dataclass(frozen=True)
class Evaluation:
    metrics: dict[str, float]
    per_user: pl.DataFrame  # user (dense) and a column for each per-user metric
    top: pl.DataFrame  # user, item (dense), rank, score, pp, gp


def evaluate(
    scorer: Scorer,
    weights: Mapping[str, float],
    ranking: Ranking,
    test: Interactions,
    random_test: Interactions,
    config: EvaluateConfig,
) -> Evaluation:
    """Score every user's ranking on both tests; popularity metrics are over all users."""
    everyone = np.arange(test.n_users)
    depth = max([*config.cutoffs, config.popularity_cutoff])
    items, scores = rank(scorer, weights, ranking, everyone, depth)
    lists, at_random = (
        Lists(
            users=everyone,
            items=items,
            relevant=relevant.user_counts,
            hits=hits_of(everyone, items, relevant),
            popularity=ranking.popularity,
            head_items=config.head_items,
            tail_interactions=config.tail_interactions,
        )
        for relevant in (test, random_test)
    )

    columns: dict[str, np.ndarray] = {"user": everyone}
    metrics: dict[str, float] = {}
    for name in config.metrics:
        kind = registry.find("metrics", name).KIND
        cutoffs = config.cutoffs if kind == "accuracy" else [config.popularity_cutoff]
        for k in cutoffs:
            add(metrics, columns, f"{name}_at_{k}", name, lists, k)
            if kind == "accuracy":
                add(metrics, columns, f"random_{name}_at_{k}", name, at_random, k)
    top = top_table(lists, scores, config.popularity_cutoff)
    return Evaluation(metrics, pl.DataFrame(columns, nan_to_null=True), top)


def rank(
    scorer: Scorer, weights: Mapping[str, float], ranking: Ranking, users: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The best ``k`` items of each user, and their scores."""
    # Filled in place: small results kept between large temporaries would fragment the heap.
    items = np.full((len(users), k), -1, dtype=np.int32)
    scores = np.full((len(users), k), -np.inf, dtype=np.float32)
    done = 0
    with torch.inference_mode(), bar(total=len(users), desc="ranking", unit="user") as progress:
        for top in ranking.top(scorer, users, [weights], k):
            rows, width = slice(done, done + len(top.users)), top.items.shape[1]
            items[rows, :width], scores[rows, :width] = top.items, top.scores
            done += len(top.users)
            progress.update(len(top.users))
    return items, scores


def add(
    metrics: dict[str, float],
    columns: dict[str, np.ndarray],
    label: str,
    name: str,
    lists: Lists,
    k: int,
) -> None:
    """Compute one metric: its mean, and where it has one its value per user."""
    module = registry.find("metrics", name)
    accuracy = module.KIND == "accuracy"
    where = lists.relevant > 0 if accuracy else np.ones(len(lists.users), dtype=bool)
    if not where.any():
        return
    value = module.score(lists.rows(where), k)
    if isinstance(value, float):
        metrics[label] = round(value, 6)
        return
    if value.shape != (where.sum(),):
        raise ValueError(f"metric {name} must give one value per user, not {value.shape}")
    metrics[label] = round(float(value.mean()), 6)
    columns[label] = np.full(len(where), np.nan)
    columns[label][where] = value


def top_table(lists: Lists, scores: np.ndarray, k: int) -> pl.DataFrame:
    """The first ``k`` of every list as rows."""
    items = lists.items[:, :k]
    n, width = items.shape
    table = pl.DataFrame(
        {
            "user": np.repeat(lists.users, width).astype(np.int32),
            "rank": np.tile(np.arange(1, width + 1, dtype=np.int16), n),
            "item": items.ravel().astype(np.int32),
            "score": scores[:, :k].ravel(),
            "pp": lists.pp[:, :k].ravel(),
            "gp": lists.gp[items.ravel()],
        }
    )
    return table.filter(pl.col("item") >= 0)


def with_source_ids(table: pl.DataFrame, split: Path) -> pl.DataFrame:
    """Dense user and item numbers replaced by the source's own ids."""
    for name in ("user", "item"):
        if name in table.columns:
            ids = read_table(split / f"{name}s.parquet")["id"]
            table = table.with_columns(ids.gather(table[name]).alias(name))
    return table
