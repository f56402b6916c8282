"""The finding in words: what the numbers say, whether one likes it or not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import polars as pl

from ppac.core.config import FILE
from ppac.core.errors import Problem
from ppac.reporting.results import RANDOM, ReportConfig, best, direction, label
from ppac.reporting.significance import BEST, SAME

DETAILS = 6  # comparisons a sentence can list; more are counted

Rows = Sequence[dict[str, Any]]


def findings(
    tested: pl.DataFrame, results: pl.DataFrame, config: ReportConfig, protocol: str
) -> list[str]:
    """The headline first; then its price on the random test, and who is best of all.

    A pipeline without the headline's method, or without `base`, has only the last to say.
    """
    method, metric = config.finding.method, config.finding.metric
    if metric not in config.compare or metric not in results.columns:
        raise Problem(
            f"{FILE}: 'report.finding.metric' is '{metric}': it must be one of "
            "'report.compare' and of 'report.metrics'."
        )
    first = tested.filter(against=config.against[0])
    told = [comparison(first, method, name, protocol) for name in (metric, RANDOM + metric)]
    told.append(hardest(tested.filter(against=BEST), method, metric, protocol))
    return [text for text in (*told, leaders(results, metric, protocol)) if text]


def comparison(tested: pl.DataFrame, method: str, metric: str, protocol: str) -> str | None:
    """What the method does to the metric, in a sentence; None where it was not compared."""
    rows = tested.filter(pl.col("method") == method, pl.col("metric") == metric).to_dicts()
    if not rows:
        return None
    name = on_test(metric, protocol)
    if len(rows) > DETAILS:
        datasets, bases = ({row[axis] for row in rows} for axis in ("dataset", "base"))
        where = f"{number(datasets, 'dataset')} and {number(bases, 'base model')}"
        return f"Over {where}, {method} {clauses(rows, name, many=True)}."
    texts = []
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        own = [row for row in rows if row["dataset"] == dataset]
        texts.append(f"on {dataset}, {method} {clauses(own, name)}")
    text = "; ".join(texts)
    return f"{text[0].upper()}{text[1:]}."


def hardest(tested: pl.DataFrame, method: str, metric: str, protocol: str) -> str | None:
    """How the method stands against the best other one on each base, in a sentence."""
    rows = tested.filter(method=method, metric=metric).to_dicts()
    if not rows:
        return None
    words = {"better": "significantly", "worse": "significantly"}
    texts = [
        f"{change(row)} against {row['opponent']} on {row['dataset']}, {row['base']} "
        f"({words.get(row['verdict'], 'not significant')})"
        for row in rows
    ]
    return f"{method} and the best other method in {on_test(metric, protocol)}: {joined(texts)}."


def leaders(results: pl.DataFrame, metric: str, protocol: str) -> str:
    """The best cell of each dataset, rankers included: they cost nothing to train."""
    parts = []
    for dataset in results["dataset"].unique(maintain_order=True):
        part = results.filter(pl.col("dataset") == dataset)
        top = best(part, metric)
        if top is not None:
            first = part.filter(pl.col(metric) == top).row(0, named=True)
            parts.append(f"{first['base']}/{first['method']} on {dataset} ({top:.4f})")
    most = "highest" if direction(metric) > 0 else "lowest"
    if not parts:
        return f"No cell stands out in {on_test(metric, protocol)}."
    return f"The {most} {on_test(metric, protocol)}: {joined(parts)}."


def on_test(metric: str, protocol: str) -> str:
    """
    >>> on_test("ndcg_at_50", "balanced"), on_test("random_ndcg_at_50", "balanced")
    ('NDCG@50 on the intervened test', 'NDCG@50 on the random test')
    """
    of_protocol = {"random": "random", "temporal": "temporal"}.get(protocol, "intervened")
    kind = "random" if metric.startswith(RANDOM) else of_protocol
    return f"{label(metric.removeprefix(RANDOM))} on the {kind} test"


def clauses(rows: Rows, name: str, many: bool = False) -> str:
    """The rows by outcome. The metric is named once; after that it is 'it'.

    >>> up = {"verdict": "better", "difference": 0.02, "relative": 0.2, "base": "bprmf"}
    >>> down = {"verdict": "worse", "difference": -0.01, "relative": -0.1, "base": "ncf"}
    >>> clauses([up, down], "NDCG@50")
    'significantly raises NDCG@50 by 20.0% on bprmf, and significantly lowers it by 10.0% on ncf'
    """
    moved = [row for row in rows if row["verdict"] != SAME]
    outcomes = {
        "significantly raises": [row for row in moved if row["difference"] > 0],
        "significantly lowers": [row for row in moved if row["difference"] < 0],
        "does not significantly change": [row for row in rows if row["verdict"] == SAME],
    }
    parts: list[str] = []
    for verb, found in outcomes.items():
        if found:
            what = counted(found, len(rows)) if many else listed(found)
            parts.append(f"{verb} {'it' if parts else name} {what}")
    return ", and ".join(parts)


def listed(rows: Rows) -> str:
    """Base by base. The verb says which way it went, unless nothing is significant."""
    if rows[0]["verdict"] == SAME:
        return "on " + joined(f"{row['base']} ({change(row)})" for row in rows)
    return "by " + joined(f"{change(row)[1:]} on {row['base']}" for row in rows)


def counted(rows: Rows, total: int) -> str:
    """In how many of all comparisons, and from what to what."""
    ordered = [change(row) for row in sorted(rows, key=lambda row: row["relative"] or 0.0)]
    span = ordered[0] if len(rows) == 1 else f"{ordered[0]} to {ordered[-1]}"
    return f"in {len(rows)} of {total} ({span})"


def number(things: Collection[str], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def change(row: dict[str, Any]) -> str:
    """The relative change with its sign, or the plain one where base had nothing."""
    relative = row["relative"]
    return f"{row['difference']:+.4f}" if relative is None else f"{relative:+.1%}"


def joined(parts: Iterable[str]) -> str:
    """
    >>> joined(["a", "b", "c"]), joined(["a"])
    ('a, b and c', 'a')
    """
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
