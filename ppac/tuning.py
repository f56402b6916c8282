"""Choosing inference-only weights on validation: the whole grid in one pass over the users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from pydantic import ConfigDict

from ppac.core.config import FILE, Section
from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.scoring.grid import grid_of
from ppac.scoring.ranking import Ranking
from ppac.scoring.scorer import Scorer
from ppac.scoring.validation import CUTOFF, METRICS, score_grid


class TuneConfig(Section):
    """The metric to choose by, and a grid for every weight a method may have."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, list[float]]

    metric: str

    def grid(self, neutral: Mapping[str, float]) -> list[dict[str, float]]:
        """All combinations of the scorer's weights, its neutral point among them."""
        return grid_of(neutral, self.__pydantic_extra__ or {}, "tune")


def tune(
    scorer: Scorer, ranking: Ranking, valid: Interactions, config: TuneConfig
) -> tuple[dict[str, Any], pl.DataFrame]:
    """What to write as tuned.json, and the surface: a row of the grid with its metrics."""
    grid = config.grid(scorer.neutral)
    surface = score_grid(scorer, ranking, valid, grid)
    if config.metric not in surface.columns:
        known = [f"{name}_at_{CUTOFF}" for name in METRICS]
        raise Problem(f"{FILE}: 'tune.metric' is {config.metric!r}: one of {', '.join(known)}.")
    # Among equals the first wins: grids begin at their neutral values.
    best = int(surface[config.metric].arg_max() or 0)
    at_neutral = grid.index(dict(scorer.neutral))
    result = {
        "weights": grid[best],
        "valid": metrics_of(surface, best),
        "neutral": metrics_of(surface, at_neutral),
        "chosen_by": config.metric,
        "points": len(grid),
    }
    return result, surface


def metrics_of(surface: pl.DataFrame, row: int) -> dict[str, float]:
    return surface.select(pl.selectors.contains("_at_")).row(row, named=True)
