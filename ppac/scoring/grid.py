"""Grids of inference-only weights."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from ppac.core.config import FILE
from ppac.core.errors import Problem


def grid_of(
    neutral: Mapping[str, float], values: Mapping[str, Sequence[float]], section: str
) -> list[dict[str, float]]:
    """All combinations of a scorer's weights, its neutral point among them.

    >>> grid_of({"gamma": 0.0}, {"gamma": [0, 1], "c": [0]}, "tune")
    [{'gamma': 0.0}, {'gamma': 1.0}]
    """
    axes = []
    for name, value in neutral.items():
        if not values.get(name):
            raise Problem(f"{FILE}: '{section}.{name}' is missing: a list of values to try.")
        if value not in values[name]:
            raise Problem(f"{FILE}: '{section}.{name}' must contain {value:g}, its neutral value.")
        axes.append(values[name])
    return [
        dict(zip(neutral, map(float, point), strict=True)) for point in itertools.product(*axes)
    ]
