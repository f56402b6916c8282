"""What is said about one run in MLflow, as plain values: names, points, texts, tags.

Nothing here knows MLflow; `ppac.tracking.track` writes these values to it.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ppac.core.config import project_root, repository
from ppac.layout import RANKERS, Cell

LONGEST = 6000  # characters MLflow keeps of a parameter

READING = (
    "Sort by `ndcg_at_50` (the intervened test); `random_ndcg_at_50` is its price, `arp_at_50` how "
    "popular lists are. Tick two runs and press Compare; a run named `report` has the page."
)

Points = dict[tuple[str, int], float]  # (metric, step) -> value


@dataclass(frozen=True)
class Record:
    """Everything MLflow shows about one evaluated configuration."""

    cell: Cell
    training: str  # digest of what was trained; empty for rankers
    evaluation: str  # digest of what was evaluated, the training included
    params: Mapping[str, Any]  # may be nested: {"train": {"lr": 0.01}} is shown as train.lr
    metrics: Mapping[str, float]  # on test, named as in the metrics file
    curve: Sequence[Mapping[str, Any]] = ()  # rows of curve.csv
    forced: Mapping[str, float] = field(default_factory=dict)  # weights given, not tuned
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """
        >>> Record(Cell("ml-1m", "bprmf", "ppac"), "t", "e", {}, {}, forced={"gamma": 256}).name
        'bprmf/ppac gamma=256'
        """
        return " ".join([run_name(self.cell), *(f"{k}={v:g}" for k, v in self.forced.items())])

    @property
    def points(self) -> Points:
        """The curve, and each test metric as one value at step 0."""
        return curve_points(self.curve) | {(k, 0): float(v) for k, v in self.metrics.items()}


@dataclass(frozen=True)
class Attempt:
    """A training that is under way: what is known of a run before it is evaluated."""

    cell: Cell
    training: str
    params: Mapping[str, Any]
    tags: Mapping[str, str]
    started: float  # seconds since 1970


def run_name(cell: Cell) -> str:
    return f"{cell.base}/{cell.method}"


def curve_points(rows: Iterable[Mapping[str, Any]]) -> Points:
    """Rows of curve.csv as points: metrics at a cutoff are validation's, the rest training's.

    >>> curve_points([{"epoch": 5, "loss": 0.3, "ndcg_at_50": 0.1, "recall_at_50": None}])
    {('train/loss', 5): 0.3, ('valid/ndcg_at_50', 5): 0.1}
    """
    points: Points = {}
    for row in rows:
        for name, value in row.items():
            if name == "epoch" or value is None:
                continue
            prefix = "valid" if "_at_" in name else "train"
            # MLflow stores an infinity as a huge number, and NaN as NaN.
            points[f"{prefix}/{name}", int(row["epoch"])] = (
                math.nan if math.isinf(value) else float(value)
            )
    return points


def equal(one: float, other: float) -> bool:
    """Equal up to the digits a CSV file may drop; NaN equals NaN."""
    both_nan = math.isnan(one) and math.isnan(other)
    return both_nan or math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-12)


def flat_params(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested settings as dotted names with JSON values, cut to what MLflow keeps.

    >>> flat_params({"train": {"lr": 0.01}, "hidden": [256, 128], "protocol": "balanced"})
    {'train.lr': '0.01', 'hidden': '[256, 128]', 'protocol': 'balanced'}
    """
    result: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            result |= flat_params(value, f"{prefix}{key}.")
        else:
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            result[prefix + key] = text[:LONGEST]
    return result


def joined(*lists: str | None) -> str:
    """Comma-joined names without repeats, in order of appearance.

    >>> joined("tidy-mole,warm-fox", "tidy-mole", None)
    'tidy-mole,warm-fox'
    """
    names = [name for part in lists if part for name in part.split(",")]
    return ",".join(dict.fromkeys(names))


def root() -> Path:
    """The repository's root; for a queued experiment that of the one it was queued from."""
    given = os.environ.get("DVC_ROOT")
    return repository(Path(given)) if given else project_root(Path.cwd())


def stage() -> str:
    """The stage this process runs for, as seen from the repository's root.

    DVC names it as seen from its own project, and there is one store for all of them.
    """
    name, project = os.environ.get("DVC_STAGE", ""), Path(os.environ.get("DVC_ROOT", ""))
    folder = project.relative_to(repository(project))
    if not name or folder == Path():
        return name
    return f"{folder / name}" if ":" in name else f"{folder}/dvc.yaml:{name}"


def dvc_tags() -> dict[str, str]:
    """The stage and the experiment this process runs in, as DVC tells its commands."""
    tags = {"dvc.stage": stage(), "dvc.exp": os.environ.get("DVC_EXP_NAME", "")}
    return {tag: value for tag, value in tags.items() if value}


def commit() -> str:
    """The Git commit the workspace (or the experiment) starts from; empty where there is none."""
    if baseline := os.environ.get("DVC_EXP_BASELINE_REV"):
        return baseline
    command = ["git", "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # no Git here
        return ""


def describe(cell: Cell, metrics: Mapping[str, float] | None = None) -> str:
    """The paragraph above a run in the UI: what it is, what it reached, where its numbers are."""
    if cell.base == RANKERS:
        what = f"The ranker `{cell.method}`, which learns nothing, on `{cell.dataset}`."
        files = f"`{cell.metrics}`"
    else:
        what = f"Method `{cell.method}` on base model `{cell.base}`, dataset `{cell.dataset}`."
        files = f"`{cell.curve}` and `{cell.metrics}`"
    told = ("ndcg_at_50", "random_ndcg_at_50", "arp_at_50")
    found = [f"{name} **{metrics[name]:.4g}**" for name in told if name in (metrics or {})]  # type: ignore[index]
    reached = f" On test: {', '.join(found)}." if found else ""
    return (
        f"{what}{reached} `train/` and `valid/` are curves over epochs; names without a prefix are "
        f"measured on test. Mirrored from {files}, which hold the same numbers."
    )
