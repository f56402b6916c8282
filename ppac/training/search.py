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

from ppac.core.config import FILE, Section
from ppac.core.errors import Problem

Settings = dict[str, dict[str, Any]]  # sections of params.yaml by name
METRIC = "ndcg_at_50"


class SearchConfig(Section):
    trials: int = Field(ge=1)
    epochs: int = Field(gt=0)
    weights: dict[str, list[float]]
    grid: dict[str, dict[str, list[Any]]]

    def candidates(
        self, settings: Settings, method: str, rng: np.random.Generator
    ) -> list[Settings]:
        """The configured settings, the method's neutral ones, then others of the grid at random.

        As many as there are trials for. A list of the grid begins at its neutral value, so that
        no method is worse than its base model for want of trying it.
        """
        axes = {
            section: [
                [(section, key, value) for value in values]
                for key, values in self.grid.get(section, {}).items()
            ]
            for section in settings
        }
        for section, key, _ in (axis[0] for own in axes.values() for axis in own):
            if key not in settings[section]:
                raise Problem(
                    f"{FILE}: 'search.grid.{section}' has '{key}', no key of '{section}'."
                )
        neutral = changed(settings, tuple(axis[0] for axis in axes[method]))
        points = itertools.product(*(axis for own in axes.values() for axis in own))
        others = [changed(settings, point) for point in points]
        drawn = [settings, neutral, *(others[place] for place in rng.permutation(len(others)))]
        distinct = [point for place, point in enumerate(drawn) if point not in drawn[:place]]
        return distinct[: self.trials]


def changed(settings: Settings, point: tuple[tuple[str, str, Any], ...]) -> Settings:
    """
    >>> changed({"train": {"lr": 0.01, "l2": 0}}, (("train", "lr", 0.1),))
    {'train': {'lr': 0.1, 'l2': 0}}
    """
    result = {section: dict(values) for section, values in settings.items()}
    for section, key, value in point:
        result[section][key] = value
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


def table(trials: list[Trial], grid: Mapping[str, Mapping[str, Any]]) -> pl.DataFrame:
    """The trials, best first, with what was varied: what to write as search.csv."""
    rows = []
    for trial in trials:
        varied: dict[str, Any] = {
            f"{section}.{key}": str(trial.settings[section][key])
            for section in trial.settings
            for key in grid.get(section, {})
        }
        rows.append({**varied, "epochs": trial.epochs, **trial.weights, METRIC: trial.score})
    return pl.DataFrame(rows)
