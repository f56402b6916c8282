"""What the second edition gains, part by part, and costs: the tables of docs/ppac-plus.md."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from ppac.core.files import read_json
from ppac.documents.numbers import counted, measured
from ppac.layout import RANKERS
from ppac.reporting import printed
from ppac.reporting.results import KEY, aligned, label

PLUS = "ppac-plus"
COMPARED = {  # the metrics shown, and what each is compared with
    "recall_at_50": ("ppac", "best"),
    "ndcg_at_50": ("ppac", "best"),
    "random_ndcg_at_50": ("ppac", "base"),
}
STEPS = {  # each adds a part to the one before; with a trained model, and with none
    "paper": ("ppac", "ppgp"),
    "more neighbours": ("ppac-plus-weighted", "pp-plus-weighted"),
    "rare items": ("ppac-plus-rare", "pp-plus-rare"),
    "discount": (PLUS, "pp-plus"),
}
COST = {"finding": ("paper", "plus"), "a ranking": ("paper-ranking", "plus-ranking")}
ROUNDED = 2e-6  # metrics are committed with six decimals
BENCH = Path("bench/results.json")


def gains(root: Path, pipeline: str) -> str:
    """ppac-plus on every dataset and base model, and its change against others, as tested."""
    folder = root / "pipelines" / pipeline
    rows = measured(folder, COMPARED)
    columns: dict[str, list[str]] = {"dataset": [], "base": []}
    for row in rows.filter(method=PLUS).iter_rows(named=True):
        place = folder / "report" / row["dataset"] / row["base"] / "significance.csv"
        tests = current(pl.read_csv(place), rows) if place.is_file() else None
        columns["dataset"].append(row["dataset"])
        columns["base"].append(row["base"])
        for metric, opponents in COMPARED.items():
            columns.setdefault(label(metric), []).append(shown(row[metric]))
            for opponent in opponents:
                name = "the best other" if opponent == "best" else opponent
                found = change(tests, metric, opponent)
                columns.setdefault(f"{label(metric)} on {name}", []).append(found)
    return aligned(columns, left=2)


def current(tests: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The tests of ppac-plus whose means are the cells' own: not of an earlier run of one."""
    ours = rows.unpivot([*COMPARED], index=KEY, variable_name="metric", value_name="ours")
    ours = ours.drop_nulls()
    own = tests.filter(method=PLUS).join(ours, on=[*KEY, "metric"])
    beside = own.join(
        ours.rename({"method": "opponent", "ours": "theirs", "base": "of"}),
        on=["dataset", "opponent", "metric"],
    ).filter((pl.col("of") == pl.col("base")) | (pl.col("of") == RANKERS))
    same = [
        (pl.col(mean) - pl.col(committed)).abs() < ROUNDED
        for mean, committed in (("mean_method", "ours"), ("mean_opponent", "theirs"))
    ]
    return beside.filter(same)


def change(tests: pl.DataFrame | None, metric: str, against: str) -> str:
    """A change as a report tested it: bold where significant, with a name for the best other."""
    rows = [] if tests is None else tests.filter(metric=metric, against=against).rows(named=True)
    if not rows:
        return ""
    (row,) = rows
    text = f"{row['relative']:+.1%}"
    if row["verdict"] != "no difference":
        text = f"**{text}**"
    return f"{text} {row['opponent']}" if against == "best" else text


def beyond(root: Path, pipeline: str) -> str:
    """How often what is new reaches the printed PPAC: with a model, and with none."""
    theirs = printed.printed(root, "T2").filter(method="ppac")
    rows = measured(root / "pipelines" / pipeline)
    with_model = rows.filter(method=PLUS).join(theirs, on=KEY[:2])
    alone = rows.filter(method="pp-plus").join(theirs.filter(base="bprmf"), on="dataset")
    return (
        f"- `{PLUS}`, beside PPAC of its base model: {counted(with_model)}\n"
        f"- `pp-plus`, beside PPAC of BPRMF: {counted(alone)}"
    )


def steps(root: Path, pipeline: str, metric: str) -> str:
    """A metric of what lies between ppac and ppac-plus, and between ppgp and pp-plus."""
    rows = measured(root / "pipelines" / pipeline, [metric])
    found = {tuple(row[:3]): row[3] for row in rows.select(*KEY, metric).iter_rows()}
    columns: dict[str, list[str]] = {"dataset": [], "base": [], **{name: [] for name in STEPS}}
    for dataset, base in rows.select(KEY[:2]).unique(maintain_order=True).iter_rows():
        columns["dataset"].append(dataset)
        columns["base"].append("none" if base == RANKERS else base)
        for name, methods in STEPS.items():
            method = methods[base == RANKERS]
            columns[name].append(shown(found.get((dataset, base, method))))
    return aligned(columns, left=2)


def shown(value: float | None) -> str:
    """
    >>> shown(0.12345), shown(118.06), shown(None)
    ('0.1235', '118.1', '')
    """
    if value is None:
        return ""
    return f"{value:.4f}" if abs(value) < 1 else f"{value:.1f}"


def cost(root: Path) -> str:
    """Seconds and memory of the paper's popularity and of the second edition's, as measured."""
    records: list[dict[str, Any]] = read_json(root / BENCH)["plus"]["records"]
    repeats = {(each["case"], each["contender"]): each["repeats"] for each in records}
    columns: dict[str, list[str]] = {"dataset": [], "what": []}
    for dataset in dict.fromkeys(case for case, _ in repeats):
        for what, contenders in COST.items():
            columns["dataset"].append(dataset)
            columns["what"].append(what)
            for name, contender in zip(("paper", "second edition"), contenders, strict=True):
                runs = repeats[dataset, contender]
                seconds = median(run["seconds"] for run in runs)
                most = max(run["peak_mb"] for run in runs)
                columns.setdefault(f"{name}, seconds", []).append(f"{seconds:.2f}")
                columns.setdefault(f"{name}, MB", []).append(f"{most:,.0f}")
    return aligned(columns, left=2)
