"""Whether contenders that should give the same result do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.data import CACHE
from ppac.core.files import new_file


def outcome_file(work: str, contender: str, case: str) -> Path:
    return CACHE / "outcomes" / f"{work}-{case}-{contender}.npz".replace("/", "-")


def keep(path: Path, outcome: Mapping[str, np.ndarray]) -> None:
    """Write down what a contender arrived at."""
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in outcome.items()}
    with new_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)


def differences(path: Path, reference: Path) -> dict[str, float | str]:
    """The largest difference of each array that both outcomes have.

    They are compared as they come: a work hands in sorted scores rather than ids, which
    equal scores may swap.
    """
    if path == reference or not (path.exists() and reference.exists()):
        return {}
    with np.load(path) as mine, np.load(reference) as theirs:
        common = [name for name in theirs.files if name in mine.files]
        return {name: difference(mine[name], theirs[name]) for name in common}


def difference(one: np.ndarray, other: np.ndarray) -> float | str:
    """The largest, or the shapes where they cannot be compared.

    >>> difference(np.array([1.0, -np.inf]), np.array([1.5, -np.inf]))
    0.5
    >>> difference(np.zeros(2), np.zeros(3))
    'shapes (2,) and (3,)'
    """
    if one.shape != other.shape:
        return f"shapes {one.shape} and {other.shape}"
    finite = np.isfinite(one) & np.isfinite(other)
    if not np.array_equal(one[~finite], other[~finite]):
        return "different places are not finite"
    gap = np.abs(one[finite].astype(np.float64) - other[finite])
    return float(f"{gap.max(initial=0.0):.3g}")
