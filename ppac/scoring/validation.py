"""Scoring on validation, for early stopping and for tuning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import torch

from ppac.core.interactions import Interactions
from ppac.metrics import ndcg, recall
from ppac.progress import bar
from ppac.scoring.block import Hits
from ppac.scoring.lists import Lists
from ppac.scoring.ranking import Ranking
from ppac.scoring.scorer import Scorer
from ppac.scoring.selection import EMPTY

METRICS = {"recall": recall, "ndcg": ndcg}
CUTOFF = 50


def score_grid(
    scorer: Scorer, ranking: Ranking, valid: Interactions, grid: Sequence[Mapping[str, float]]
) -> pl.DataFrame:
    """Mean validation metrics at each point of the grid, one ranking of the model for all."""
    users = np.flatnonzero(valid.user_counts)
    totals = np.zeros((len(grid), len(METRICS)))
    with torch.inference_mode(), bar(total=len(users), desc="validation", unit="user") as progress:
        for found in ranking.hits(scorer, users, grid, CUTOFF, valid):
            totals[found.point] += user_totals(found, valid, ranking)
            progress.update(len(found.users) / len(grid))
    columns = {name: [point[name] for point in grid] for name in scorer.neutral}
    means = {f"{m}_at_{CUTOFF}": totals[:, c] / len(users) for c, m in enumerate(METRICS)}
    return pl.DataFrame(columns | means).with_columns(pl.selectors.contains("_at_").round(6))


def user_totals(found: Hits, valid: Interactions, ranking: Ranking) -> list[float]:
    """Each metric summed over some users' lists; these metrics need the hits alone."""
    lists = Lists(
        users=found.users,
        items=np.broadcast_to(EMPTY, found.hits.shape),
        relevant=valid.user_counts[found.users],
        hits=found.hits,
        popularity=ranking.popularity,
        head_items=0,
        tail_interactions=0,
    )
    return [float(metric.score(lists, CUTOFF).sum()) for metric in METRICS.values()]
