"""The numbers of every cell, side by side: the results table and what is read off it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import Field

from ppac.core import registry
from ppac.core.config import FILE, Section
from ppac.core.errors import Problem, nearest
from ppac.core.files import read_json
from ppac.layout import Cell

KEY = ["dataset", "base", "method"]
VALIDATED = ["recall_at_50", "ndcg_at_50"]
RANDOM = "random_"  # a metric on the random test is its name on the intervened one, after this
BASE = "base"  # the method that leaves a base model as it is


class FindingConfig(Section):
    method: str
    metric: str


class ReportConfig(Section):
    metrics: list[str]
    summary: list[str]
    compare: list[str]
    against: list[str] = Field(min_length=1)
    groups: list[int] = Field(min_length=1)
    finding: FindingConfig
    missing: Literal["refuse", "blank"]
    level: float = Field(gt=0, lt=1)
    resamples: int = Field(ge=100)


def with_blanks(table: pl.DataFrame, wanted: Sequence[Cell]) -> pl.DataFrame:
    """A row for every wanted cell, in their order; empty where it was not run."""
    rows = pl.DataFrame([key(cell) for cell in wanted], KEY, orient="row")
    return rows.join(table, on=KEY, how="left", maintain_order="left")


def read_metrics(wanted: Iterable[Cell]) -> pl.DataFrame:
    """All metrics of all cells, a row each; empty where a cell does not have one."""
    rows = [dict(zip(KEY, key(cell), strict=True)) | numbers(cell) for cell in wanted]
    return pl.DataFrame(rows, infer_schema_length=None)


def committed(folder: Path, wanted: Iterable[Cell], metrics: Collection[str]) -> pl.DataFrame:
    """Some metrics of the cells of a pipeline's folder, from Git; empty where one was not run.

    A report knows of the cells there were when it was made; each cell has its own file, always.
    """
    rows = []
    for cell in wanted:
        path = folder / cell.metrics
        found = read_json(path) if path.is_file() else {}
        rows.append((*key(cell), *(found.get(metric) for metric in metrics)))
    schema = dict.fromkeys(KEY, pl.String) | dict.fromkeys(metrics, pl.Float64)
    return pl.DataFrame(rows, schema, orient="row")


def key(cell: Cell) -> tuple[str, str, str]:
    return cell.dataset, cell.base, cell.method


def numbers(cell: Cell) -> dict[str, float]:
    values = read_json(cell.metrics)
    if not isinstance(values, dict) or not all(isinstance(v, int | float) for v in values.values()):
        raise Problem(f"{cell.metrics} must hold names and numbers only.")
    return {name: float(value) for name, value in values.items()}


def select(measured: pl.DataFrame, names: Sequence[str], setting: str) -> pl.DataFrame:
    """The columns called ``names``, which stand in params.yaml under ``setting``.

    A name no cell has is a mistake, but for a metric of the random test: not every
    dataset has one, and then the column is empty.
    """
    columns = check_names(names, set(measured.columns) - set(KEY), setting)
    empty = [pl.lit(None, pl.Float64).alias(name) for name in columns]
    absent = [column for name, column in zip(columns, empty, strict=True) if name not in measured]
    return measured.with_columns(absent).select(*KEY, *columns)


def check_names(names: Sequence[str], known: set[str], setting: str) -> list[str]:
    for name in names:
        if name not in known and name.removeprefix(RANDOM) not in known:
            hint = nearest(name, known)
            raise Problem(f"{FILE}: '{setting}' has '{name}', which no cell has; {hint}.")
    return list(dict.fromkeys(names))


def summary(results: pl.DataFrame) -> dict[str, Any]:
    """The results nested by dataset, base and method: what `dvc metrics diff` compares.

    >>> summary(pl.DataFrame({"dataset": ["d"], "base": ["b"], "method": ["m"], "x": [0.5]}))
    {'d': {'b': {'m': {'x': 0.5}}}}
    """
    nested: dict[str, Any] = {}
    for row in results.iter_rows(named=True):
        dataset, base, method = (row.pop(name) for name in KEY)
        found = {name: value for name, value in row.items() if value is not None}
        if not found:
            continue  # a cell that was not run
        nested.setdefault(dataset, {}).setdefault(base, {})[method] = found
    return nested


def validation(wanted: Sequence[Cell]) -> pl.DataFrame:
    """What each cell reached on validation, beside its base model and its neutral weights.

    A gain here is what tuning could see; whether it holds is for the test to say. The
    weights used on test are beside those chosen, because params.yaml may force them.
    """
    tuned = {key(cell): read_json(cell.tuned) for cell in wanted}
    used = {key(cell): numbers(cell) for cell in wanted}
    weights = dict.fromkeys(name for found in tuned.values() for name in found["weights"])
    rows = []
    for place, found in tuned.items():
        row: dict[str, Any] = dict(zip(KEY, place, strict=True))
        row |= {name: found["weights"].get(name) for name in weights}
        row |= {f"used_{name}": used[place].get(name) for name in weights}
        base = tuned.get((*place[:2], BASE), {}).get("valid", {})
        for metric in VALIDATED:
            own, reference = found["valid"].get(metric), base.get(metric)
            row |= {f"base_{metric}": reference, f"neutral_{metric}": found["neutral"].get(metric)}
            row |= {metric: own, f"gain_{metric}": own / reference - 1 if reference else None}
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame(rows, {name: pl.String if name in KEY else pl.Float64 for name in names})


def label(metric: str) -> str:
    """A metric's name as people write it.

    >>> [label(name) for name in ("ndcg_at_50", "tail_share_at_20", "random_recall_at_5", "gamma")]
    ['NDCG@50', 'Tail share@20', 'random Recall@5', 'gamma']
    """
    if metric.startswith(RANDOM):
        return f"random {label(metric.removeprefix(RANDOM))}"
    stem, at, cutoff = metric.partition("_at_")
    if not at:
        return metric
    known = registry.find("metrics", stem).LABEL if stem in registry.names("metrics") else stem
    return f"{known}@{cutoff}"


def direction(metric: str) -> int:
    """1 where higher is better, -1 where lower is, 0 where neither is.

    >>> direction("random_ndcg_at_50"), direction("gini_at_50"), direction("ppru_at_50")
    (1, -1, 0)
    """
    stem = metric.removeprefix(RANDOM).partition("_at_")[0]
    return int(registry.find("metrics", stem).BETTER) if stem in registry.names("metrics") else 0


def best(results: pl.DataFrame, metric: str) -> float | None:
    """The best value of a metric, or None where nothing is best: no direction, or all equal."""
    values = results[metric].drop_nulls()
    if not direction(metric) or values.is_empty() or (len(values) > 1 == values.n_unique()):
        return None
    return float(values.max() if direction(metric) > 0 else values.min())  # type: ignore[arg-type]


def shown(results: pl.DataFrame, metric: str) -> list[str]:
    """A column's values as text, all with as many decimals as its largest value needs.

    >>> shown(pl.DataFrame({"arp_at_50": [123.456, 7.0, None]}), "arp_at_50")
    ['123.5', '7.0', '-']
    """
    largest = max((abs(value) for value in results[metric].drop_nulls()), default=0.0)
    decimals = 4 if largest < 10 else 2 if largest < 100 else 1
    return ["-" if value is None else f"{value:.{decimals}f}" for value in results[metric]]


def cutoff(metrics: Sequence[str]) -> str | None:
    """The cutoff all metrics share, said once so that columns can be narrow."""
    found = {match[1] if (match := re.search(r"_at_(\d+)$", name)) else None for name in metrics}
    return found.pop() if len(found) == 1 else None


def markdown(results: pl.DataFrame) -> str:
    """The results for a terminal: a table a dataset, aligned, the best of each column bold."""
    metrics = results.columns[len(KEY) :]
    shared = cutoff(metrics)
    sections = []
    for dataset in results["dataset"].unique(maintain_order=True):
        part = results.filter(pl.col("dataset") == dataset)
        columns = {name: part[name].to_list() for name in KEY[1:]}
        for metric in metrics:
            top = best(part, metric)
            texts = zip(part[metric], shown(part, metric), strict=True)
            name = label(metric).removesuffix(f"@{shared}")
            columns[name] = [f"**{t}**" if v is not None and v == top else t for v, t in texts]
        heading = f"## {dataset}" + (f", top {shared}" if shared else "")
        sections.append(f"{heading}\n\n{aligned(columns, left=2)}")
    lower = [label(name).removesuffix(f"@{shared}") for name in metrics if direction(name) < 0]
    note = f" (lowest for {', '.join(lower)})" if lower else ""
    return "\n\n".join([*sections, f"Bold: the best of the table{note}."]) + "\n"


def aligned(columns: Mapping[str, list[str]], left: int) -> str:
    """A Markdown table that also reads as plain text.

    >>> print(aligned({"base": ["ncf"], "NDCG": ["0.1"]}, left=1))
    | base | NDCG |
    |:-----|-----:|
    | ncf  |  0.1 |
    """
    widths = [max(map(len, (name, *texts))) for name, texts in columns.items()]
    lines = []
    for row in [list(columns), *zip(*columns.values(), strict=True)]:
        padded = [
            text.ljust(width) if i < left else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(f"| {' | '.join(padded)} |")
    rules = [f":{'-' * (w + 1)}" if i < left else f"{'-' * (w + 1)}:" for i, w in enumerate(widths)]
    return "\n".join([lines[0], f"|{'|'.join(rules)}|", *lines[1:]])
