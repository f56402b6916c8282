"""Is a method better than another, or was it luck? Paired tests over users.

Every method is compared, user by user, with what `report.against` names: with `base` on the same
base model, and with the best other method there or ranker. Which one that is, the test itself
says: it is the hardest opponent, and not of the same family (`ips` and `ips-c` are one).

- Two tests, because each has a weakness: the paired t-test (the paper's) is about the mean
  that the tables show but trusts its normality; Wilcoxon's signed-rank test does not, but
  looks at ranks of the users whose value changed, not at the mean.
- Each test's p-values are corrected by Holm's method over all comparisons of the report on
  the same metric with the same kind of opponent: that is what a reader scans for a star.
- The verdict needs both corrected p-values under the level. Which way it goes is the sign
  of the mean difference.
- The interval of the mean difference is a bootstrap over users (percentiles), uncorrected.

Users are what is resampled. Another training seed is another model, and is not covered.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from ppac.core.errors import Problem
from ppac.core.files import read_table
from ppac.core.seeds import rng
from ppac.layout import RANKERS, Cell
from ppac.reporting.results import BASE, ReportConfig, check_names, direction

SCHEMA = {
    **dict.fromkeys(("dataset", "base", "method", "metric", "against", "opponent"), pl.String),
    "users": pl.Int64,
    **dict.fromkeys(("mean_opponent", "mean_method", "difference", "relative"), pl.Float64),
    **dict.fromkeys(("low", "high", "p_t", "p_wilcoxon"), pl.Float64),
    **dict.fromkeys(("p_t_holm", "p_wilcoxon_holm"), pl.Float64),
    "verdict": pl.String,
}
SAME = "no difference"
BEST = "best"  # as an opponent: the best other method or ranker
DRAWS = 4_000_000  # bootstrap draws held in memory at a time


def significance(cells: Sequence[Cell], config: ReportConfig, seed: int) -> pl.DataFrame:
    """All comparisons of the report. Metrics that a dataset has no test for are left out."""
    tables = {cell: read_table(cell.per_user) for cell in cells}
    known = {name for table in tables.values() for name in table.columns} - {"user"}
    check_names(config.compare, known, "report.compare")
    rows: list[dict[str, Any]] = []
    differences: list[np.ndarray] = []
    methods = [cell for cell in cells if cell.base != RANKERS and cell.method != BASE]
    for against, cell, metric in itertools.product(config.against, methods, config.compare):
        opponent = opponent_of(cell, against, metric, tables)
        if opponent is None:
            continue
        values = paired(tables[opponent], tables[cell], metric, cell)
        if len(values):
            names = {"dataset": cell.dataset, "base": cell.base, "method": cell.method}
            names |= {"metric": metric, "against": against, "opponent": opponent.method}
            differences.append(changes(values))
            rows.append(names | measure(values))
    for row, (low, high) in zip(rows, intervals(differences, config, seed), strict=True):
        row |= {"low": low, "high": high}
    return judged(rows, config)


def opponent_of(
    cell: Cell, against: str, metric: str, tables: Mapping[Cell, pl.DataFrame]
) -> Cell | None:
    """Whom a cell is compared with, if there is such a one in the report."""
    if against != BEST:
        named = Cell(cell.dataset, cell.base, against)
        return named if named in tables and named != cell else None
    family = cell.method.split("-")[0]
    means = {
        other: table[metric].mean()
        for other, table in tables.items()
        if other.dataset == cell.dataset and other.base in (cell.base, RANKERS)
        if other.method.split("-")[0] != family and metric in table.columns
    }
    there = {other: float(mean) for other, mean in means.items() if mean is not None}  # type: ignore[arg-type]
    sign = direction(metric) or 1
    return max(there, key=lambda other: sign * there[other], default=None)


def paired(opponent: pl.DataFrame, method: pl.DataFrame, metric: str, cell: Cell) -> np.ndarray:
    """(n, 2): each user's value under the opponent and under the method.

    Both sides must have the same users, and a user without such test items lacks them on
    both: anything else means that the two were evaluated on different data.

    >>> base = pl.DataFrame({"user": [1, 2], "ndcg_at_50": [0.5, None]})
    >>> method = pl.DataFrame({"user": [2, 1], "ndcg_at_50": [None, 0.75]})
    >>> paired(base, method, "ndcg_at_50", Cell("ml-1m", "ncf", "ppac"))
    array([[0.5 , 0.75]])
    """
    sides = [table for table in (opponent, method) if metric in table.columns]
    if not sides:
        return np.empty((0, 2))
    have = [table.select("user", metric).drop_nulls() for table in sides]
    same = set(opponent["user"]) == set(method["user"])
    if len(have) < 2 or not same or set(have[0]["user"]) != set(have[1]["user"]):
        raise Problem(
            f"{cell.per_user}: its users with {metric} are not those of its opponent: "
            "the two were evaluated on different tests. Run `dvc repro`."
        )
    both = have[0].join(have[1], on="user", suffix="_method").sort("user")
    return both.select(metric, f"{metric}_method").to_numpy().astype(np.float64)


def changes(values: np.ndarray) -> np.ndarray:
    """By how much each user's value differs; equal values do by rounding."""
    return np.round(values[:, 1] - values[:, 0], 12)


def measure(values: np.ndarray) -> dict[str, float | None]:
    """Means, their difference, and both tests, uncorrected."""
    opponent, method = (float(mean) for mean in values.mean(axis=0))
    difference = changes(values)
    return {
        "users": len(values),
        "mean_opponent": opponent,
        "mean_method": method,
        "difference": method - opponent,
        "relative": (method - opponent) / opponent if opponent else None,
        "p_t": paired_t(difference),
        "p_wilcoxon": wilcoxon(difference),
    }


def paired_t(difference: np.ndarray) -> float:
    """Two-sided p; 1 where there is nothing to test: one user, or no user changed.

    >>> paired_t(np.zeros(5)), paired_t(np.array([0.3]))
    (1.0, 1.0)
    """
    if len(difference) < 2 or not difference.any():
        return 1.0
    with warnings.catch_warnings():  # equal differences of everyone: p is 0, rightly
        warnings.simplefilter("ignore", RuntimeWarning)
        return float(stats.ttest_1samp(difference, 0.0).pvalue)


def wilcoxon(difference: np.ndarray) -> float:
    """Two-sided p of the users whose value changed; 1 where none did.

    >>> wilcoxon(np.zeros(5)), wilcoxon(np.array([1.0, 2.0, 0.0]))
    (1.0, 0.5)
    """
    changed = difference[difference != 0]
    return float(stats.wilcoxon(changed).pvalue) if len(changed) else 1.0


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction, in the order given.

    The smallest of three is multiplied by 3, the next by 2, and none may fall below
    one that was smaller before:

    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    order = np.argsort(p, kind="stable")
    scaled = np.asarray(p, dtype=np.float64)[order] * np.arange(len(p), 0, -1)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return [float(value) for value in corrected]


def intervals(
    differences: Sequence[np.ndarray], config: ReportConfig, seed: int
) -> list[tuple[float, float]]:
    """Where each mean lies in all but ``config.level`` of the resamples of users.

    Comparisons over equally many users share their resamples, which depend on nothing else: to
    draw them takes longer than all the means.
    """
    found: dict[int, tuple[float, float]] = {}
    for n in sorted({len(difference) for difference in differences}):
        where = [i for i, difference in enumerate(differences) if len(difference) == n]
        table = np.column_stack([differences[i] for i in where])
        means = resampled_means(table, config.resamples, rng(seed, "report", str(n)))
        bounds = np.quantile(means, [config.level / 2, 1 - config.level / 2], axis=0)
        for i, (low, high) in zip(where, np.round(bounds.T, 12), strict=True):
            found[i] = (float(low), float(high))
    return [found[i] for i in range(len(differences))]


def resampled_means(table: np.ndarray, resamples: int, stream: np.random.Generator) -> np.ndarray:
    """(resamples, columns): means of the rows of a table, drawn with replacement."""
    n = len(table)
    means = np.empty((resamples, table.shape[1]))
    at_once = max(1, DRAWS // n)
    for first in range(0, resamples, at_once):
        some = means[first : first + at_once]
        drawn = stream.integers(0, n, size=(len(some), n))
        drawn += n * np.arange(len(some))[:, None]
        times = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
        some[:] = times @ table / n
    return means


def judged(rows: Sequence[dict[str, Any]], config: ReportConfig) -> pl.DataFrame:
    """The comparisons with corrected p-values and a verdict."""
    for scanned in dict.fromkeys((row["metric"], row["against"]) for row in rows):
        family = [row for row in rows if (row["metric"], row["against"]) == scanned]
        for test in ("p_t", "p_wilcoxon"):
            for row, p in zip(family, holm([row[test] for row in family]), strict=True):
                row[f"{test}_holm"] = p
    for row in rows:
        row["verdict"] = verdict(row, config.level)
    return pl.DataFrame(rows, schema=SCHEMA)


def verdict(row: dict[str, Any], level: float) -> str:
    """better, worse, no difference; higher or lower for a metric that has no better."""
    if max(row["p_t_holm"], row["p_wilcoxon_holm"]) >= level or not row["difference"]:
        return SAME
    rises = row["difference"] > 0
    if not direction(row["metric"]):
        return "higher" if rises else "lower"
    return "better" if rises == (direction(row["metric"]) > 0) else "worse"
