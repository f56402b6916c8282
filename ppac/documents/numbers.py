"""Our numbers beside the paper's: the tables of docs/numbers.md, from committed files alone."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ppac.core.config import read_params, read_yaml
from ppac.layout import RANKERS, Cell
from ppac.pipelines import DIFFERENCES
from ppac.reporting import printed
from ppac.reporting.cells import configured
from ppac.reporting.printed import METRICS, number
from ppac.reporting.results import BASE, KEY, aligned, committed, label

AXES = ("datasets", "bases", "methods", "variants", "rankers")


def cells_of(folder: Path) -> list[Cell]:
    params = read_params(folder)
    return configured(**{axis: params[axis] for axis in AXES})


def measured(folder: Path, metrics: Collection[str] = METRICS.values()) -> pl.DataFrame:
    """Every cell of a pipeline with its two numbers, or others; empty where it was not run."""
    return committed(folder, cells_of(folder), metrics)


def both(root: Path, table: str, pipeline: str) -> pl.DataFrame:
    rows = measured(root / "pipelines" / pipeline)
    return printed.beside(rows, printed.printed(root, table))


def printed_table(root: Path, table: str, pipeline: str) -> str:
    return printed.tables(both(root, table, pipeline))


def measured_table(root: Path, pipeline: str) -> str:
    """A table a dataset, for a pipeline that nothing printed is comparable with."""
    sections = []
    rows = measured(root / "pipelines" / pipeline)
    for (dataset,), part in rows.group_by("dataset", maintain_order=True):
        columns = {name: part[name].to_list() for name in KEY[1:]}
        columns |= {label(m): [number(value) for value in part[m]] for m in METRICS.values()}
        sections.append(f"**{dataset}**\n\n{aligned(columns, left=2)}")
    return "\n\n".join(sections)


def reached(root: Path, pipeline: str) -> str:
    """For base and ppac, in how many of the printed numbers ours are at least as high."""
    rows = both(root, "T2", pipeline)
    return "\n".join(f"- `{name}`: {counted(rows.filter(method=name))}" for name in (BASE, "ppac"))


def counted(rows: pl.DataFrame) -> str:
    """Of rows of ours beside printed numbers: how many were run and reached, and by how much."""
    pairs = [pair for m in METRICS.values() for pair in rows.select(m, f"printed_{m}").rows()]
    run = [(ours, theirs) for ours, theirs in pairs if ours is not None]
    high = sum(round(ours, 4) >= theirs for ours, theirs in run)
    share = [ours / theirs - 1 for ours, theirs in run]
    mean = f", {sum(share) / len(share):+.1%} on average" if share else ""
    return f"{len(run)} of {len(pairs)} printed numbers were run, {high} are reached{mean}."


def trained(root: Path, pipeline: str) -> str:
    """What ppac gains over its base model, and what part of it without its inference.

    The printed numbers of base and ppac are table 2's, which the paper gives for both.
    """
    rows = both(root, "T2", pipeline).iter_rows(named=True)
    found = {tuple(row[name] for name in KEY): row for row in rows}
    names = ["gain, printed", "of it trained, printed", "gain, ours", "of it trained, ours"]
    columns: dict[str, list[str]] = {name: [] for name in (*KEY[:2], "metric", *names)}
    without = both(root, "T3", pipeline).filter(method="ppac-without-ci")
    for row in without.iter_rows(named=True):
        dataset, base = row["dataset"], row["base"]
        low, high = (found[dataset, base, method] for method in (BASE, "ppac"))
        for metric in METRICS.values():
            sources = (f"printed_{metric}", metric)
            texts = [gain_and_share(low[name], row[name], high[name]) for name in sources]
            values = [dataset, base, label(metric), *itertools.chain(*texts)]
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
    return aligned(columns, left=3)


def gain_and_share(low: float | None, middle: float | None, high: float | None) -> tuple[str, str]:
    """How far it is from low to high, and how much of the way the middle is.

    >>> gain_and_share(0.2, 0.21, 0.24), gain_and_share(0.2, None, 0.24)
    (('+20.0%', '25%'), ('+20.0%', ''))
    >>> gain_and_share(0.2, 0.3, None), gain_and_share(0.2, 0.3, 0.2)
    (('', ''), ('+0.0%', ''))
    """
    if not low or not high:
        return "", ""
    way = high - low
    return f"{way / low:+.1%}", f"{(middle - low) / way:.0%}" if middle and way else ""


def controls(root: Path, pipeline: str) -> str:
    """The best ranker of each dataset as a share of ppac, which learns, on each base."""
    rows = measured(root / "pipelines" / pipeline)
    columns: dict[str, list[str]] = {name: [] for name in ("dataset", "base", "ranker")}
    columns |= {label(metric): [] for metric in METRICS.values()}
    metrics = list(METRICS.values())
    for dataset, base, *own in rows.filter(method="ppac").select(*KEY[:2], *metrics).rows():
        for ranker in rows.filter(dataset=dataset, base=RANKERS).iter_rows(named=True):
            columns["dataset"].append(dataset)
            columns["base"].append(base)
            columns["ranker"].append(ranker["method"])
            for metric, value in zip(metrics, own, strict=True):
                there = value and ranker[metric] is not None
                columns[label(metric)].append(f"{ranker[metric] / value:.0%}" if there else "")
    return aligned(columns, left=3)


def switched(root: Path) -> str:
    """The cells of release-differences beside the same cells of `released`."""
    columns: dict[str, list[str]] = {"switched on": [], "cell": []}
    for metric in METRICS.values():
        columns |= {label(metric): [], f"{label(metric)}, switched": []}
    plain = measured(root / "pipelines/released")
    for name in read_yaml(root / DIFFERENCES):
        there = measured((root / DIFFERENCES).parent / name)
        pairs = there.join(plain, on=KEY, how="left", suffix="_plain", maintain_order="left")
        for row in pairs.iter_rows(named=True):
            columns["switched on"].append(name)
            columns["cell"].append(f"{row['base']}/{row['method']}")
            for metric in METRICS.values():
                columns[label(metric)].append(number(row[f"{metric}_plain"]))
                columns[f"{label(metric)}, switched"].append(number(row[metric]))
    return aligned(columns, left=2)


def tried(root: Path, pipeline: str) -> str:
    """The best, second and last of a search's trials on each dataset and base model."""
    folder = root / "pipelines" / pipeline
    params = read_params(folder)
    rows, absent = [], []
    for own in itertools.product(params["datasets"], params["bases"], params["methods"]):
        cell = Cell(*own)
        if not (folder / cell.trials).is_file():
            absent.append(f"- {cell.dataset}, {cell.base}")
            continue
        trials = pl.read_csv(folder / cell.trials)
        settings = [name for name in trials.columns if "." in name]  # best first
        ends = (trials.row(place, named=True) for place in (0, 1, -1))
        shown = [text for trial in ends for text in tried_text(trial, settings)]
        rows.append([cell.dataset, cell.base, str(len(trials)), *shown])
    names = [*KEY[:2], "trials"]
    names += [name for end in ("best", "second", "last") for name in (end, f"{end}, NDCG@50")]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    missing = "\n".join(["Not run:\n", *absent])
    return "\n\n".join([aligned(columns, left=2)] * bool(rows) + [missing] * bool(absent))


def tried_text(trial: Mapping[str, Any], settings: Sequence[str]) -> tuple[str, str]:
    """
    >>> tried_text({"train.lr": 0.01, "train.l2": 1e-4, "ndcg_at_50": 0.25}, ["train.lr"])
    ('lr 0.01', '0.2500')
    """
    texts = [f"{name.partition('.')[2]} {trial[name]:g}" for name in settings]
    return ", ".join(texts), number(trial["ndcg_at_50"])


def view(root: Path, name: str) -> str:
    """What a view wrote, and its figures."""
    place = root / "pipelines" / name / "report"
    if not (place / "results.md").is_file():
        return f"Not run: `dvc --cd pipelines/{name} repro`."
    text = (place / "results.md").read_text(encoding="utf-8").rstrip("\n")
    figures = [path.name for path in sorted(place.glob("figures/*.svg"))]
    lines = [f"![{n[:-4]}](../pipelines/{name}/report/figures/{n})" for n in figures]
    return "\n".join([text, *([""] if lines else []), *lines])


def missing(root: Path, pipeline: str) -> str:
    """The cells that were not run, and the command that runs the first of them."""
    rows = measured(root / "pipelines" / pipeline)
    absent = rows.filter(pl.col("recall_at_50").is_null())
    if absent.is_empty():
        return printed.blanks(rows)
    dataset, base, method = absent.select(KEY).row(0)
    cell = Cell(dataset, base, method)
    kind = "evaluate" if cell.learner == cell else "evaluate-variants"
    stage = f"{kind}@{dataset}-{base}-{method}"
    if base == RANKERS:
        stage = f"evaluate-rankers@{dataset}-{method}"
    command = f"dvc --cd pipelines/{pipeline} repro {base}/evaluate/dvc.yaml:{stage}"
    return f"{printed.blanks(rows)}\n\nThe first of them:\n\n```sh\n{command}\n```"
