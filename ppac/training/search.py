"""Choosing training settings on validation: the same number of trials for every method.

A trial is the beginning of a training. The chosen one goes on from where its trial stopped, so
that it ends exactly as if its settings had been in params.yaml.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from pydantic import Field

from ppac.core.config import FILE, SEARCH, Section, section
from ppac.core.errors import Problem, nearest

Settings = dict[str, dict[str, Any]]  # sections of params.yaml by name
Grid = dict[str, dict[str, list[Any]]]  # values to try by section and key
METRIC = "ndcg_at_50"


class SearchConfig(Section):
    trials: int = Field(ge=1)
    epochs: int = Field(gt=0)
    weights: dict[str, list[float]]

    def candidates(
        self, settings: Settings, grid: Grid, method: str, rng: np.random.Generator
    ) -> list[Settings]:
        """The configured settings, the method's neutral ones, then others of the grid at random.

        As many as there are trials for. A list of the grid begins at its neutral value, so that
        no method is worse than its base model for want of trying it.
        """
        axes = {
            name: [[(name, key, value) for value in values] for key, values in keys.items()]
            for name, keys in grid.items()
        }
        neutral = changed(settings, tuple(axis[0] for axis in axes[method]))
        points = itertools.product(*(axis for own in axes.values() for axis in own))
        others = [changed(settings, point) for point in points]
        drawn = [settings, neutral, *(others[place] for place in rng.permutation(len(others)))]
        distinct = [point for place, point in enumerate(drawn) if point not in drawn[:place]]
        return distinct[: self.trials]


def grid_of(params: Mapping[str, Any], settings: Settings, cell: Mapping[str, str]) -> Grid:
    """What the sections say under ``search``: for some of their keys, the values to try."""
    grid: Grid = {}
    for name, keys in settings.items():
        grid[name] = section(params, name, cell).get(SEARCH) or {}
        for key, values in grid[name].items():
            where = f"{FILE}: '{name}.{SEARCH}'"
            if key not in keys:
                raise Problem(f"{where} has '{key}', no key of '{name}'; {nearest(key, keys)}.")
            if not isinstance(values, list) or not values:
                raise Problem(f"{where}: '{key}' must be a list of values, not {values!r}.")
    return grid


def changed(settings: Settings, point: tuple[tuple[str, str, Any], ...]) -> Settings:
    """
    >>> changed({"train": {"lr": 0.01, "l2": 0}}, (("train", "lr", 0.1),))
    {'train': {'lr': 0.1, 'l2': 0}}
    """
    result = {name: dict(values) for name, values in settings.items()}
    for name, key, value in point:
        result[name][key] = value
    return result


@dataclass(frozen=True)
class Trial:
    settings: Settings
    epochs: int
    weights: Mapping[str, float]
    score: float


def search(candidates: list[Settings], attempt: Callable[[Settings], Trial]) -> list[Trial]:
    """Every candidate's trial, the best first; among equals the one configured or drawn first."""
    if len(candidates) == 1:
        return []
    return sorted((attempt(settings) for settings in candidates), key=lambda trial: -trial.score)


def table(trials: list[Trial], grid: Grid) -> pl.DataFrame:
    """The trials, best first, with what was varied: what to write as search.csv."""
    rows = []
    for trial in trials:
        varied: dict[str, Any] = {
            f"{name}.{key}": str(trial.settings[name][key]) for name in grid for key in grid[name]
        }
        rows.append({**varied, "epochs": trial.epochs, **trial.weights, METRIC: trial.score})
    return pl.DataFrame(rows)
