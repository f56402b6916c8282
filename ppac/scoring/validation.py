"""Scoring on validation, for early stopping and for tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import torch

from ppac.core.interactions import Interactions
from ppac.metrics import ndcg, recall
from ppac.progress import bar
from ppac.scoring.lists import Lists, hits_of
from ppac.scoring.ranking import Ranking, Top
from ppac.scoring.scorer import Scorer

METRICS = {"recall": recall, "ndcg": ndcg}
CUTOFF = 50


def score_grid(
    scorer: Scorer, ranking: Ranking, valid: Interactions, grid: Sequence[Mapping[str, float]]
) -> pl.DataFrame:
    """Mean validation metrics at each point of the grid, one ranking of the model for all."""
    users = np.flatnonzero(valid.user_counts)
    totals = np.zeros((len(grid), len(METRICS)))
    with torch.inference_mode(), bar(total=len(users), desc="validation", unit="user") as progress:
        for top in ranking.top(scorer, users, grid, CUTOFF):
            totals[top.point] += user_totals(top, valid, ranking)
            progress.update(len(top.users) / len(grid))
    columns = {name: [point[name] for point in grid] for name in scorer.neutral}
    means = {f"{m}_at_{CUTOFF}": totals[:, c] / len(users) for c, m in enumerate(METRICS)}
    return pl.DataFrame(columns | means).with_columns(pl.selectors.contains("_at_").round(6))


def user_totals(top: Top, valid: Interactions, ranking: Ranking) -> list[float]:
    """Each metric summed over some users' lists."""
    lists = Lists(
        users=top.users,
        items=top.items,
        relevant=valid.user_counts[top.users],
        hits=hits_of(top.users, top.items, valid),
        popularity=ranking.popularity,
        head_items=0,
        tail_interactions=0,
    )
    return [float(metric.score(lists, CUTOFF).sum()) for metric in METRICS.values()]
