"""The report as one HTML file that needs nothing else: no network, no script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import polars as pl

from ppac.reporting import figures
from ppac.reporting.finding import change
from ppac.reporting.gallery import Figure
from ppac.reporting.markup import STYLE, draw, figure, legend, p_value, ramp, table
from ppac.reporting.results import KEY, ReportConfig, best, direction, label, shown

SIGNS = {
    "better": "<span class='better'>▲ better</span>",
    "worse": "<span class='worse'>▼ worse</span>",
}
COMMANDS = """dvc repro                    # run what has changed, and write this page
dvc exp run -S gamma=256     # another weight: evaluation and report only, no training
dvc metrics diff             # what that changed
dvc plots show               # the tables behind these figures, as DVC draws them"""


@dataclass(frozen=True)
class Report:
    """All that the page shows, and what else is written beside it."""

    findings: Sequence[str]
    results: pl.DataFrame
    summary: Mapping[str, Any]
    tested: pl.DataFrame
    validation: pl.DataFrame
    searched: pl.DataFrame
    plots: Mapping[str, pl.DataFrame]  # the tables behind the figures, by name
    figures: Sequence[Figure]
    manifests: Mapping[str, Mapping[str, Any]]
    config: ReportConfig


def html(report: Report) -> str:
    """The page: what was found, the numbers, the pictures, and how to get them again."""
    first, *others = report.findings
    parts = [
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>ppac: {escape(', '.join(report.manifests))}</title>",
        f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(first)}</h1>",
        *(f"<p>{escape(text)}</p>" for text in others),
        *results_section(report.results),
        *significance_section(report.tested, report.config),
        *validation_section(report.validation),
        *curves_section(report.plots["curves"]),
        *surfaces_section(report.plots["surface"], report.validation),
        *head_tail_section(report.plots["head_tail"]),
        *gallery_section(report.figures),
        *origin_section(report.manifests),
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def results_section(results: pl.DataFrame) -> Iterable[str]:
    metrics = results.columns[len(KEY) :]
    lower = [label(name) for name in metrics if direction(name) < 0]
    yield "<h2>Results</h2>"
    yield "<p class='dim'>On the test set. Bold: the best of the dataset"
    yield f"{escape(' (lowest for ' + ', '.join(lower) + ')') if lower else ''}.</p>"
    for dataset, part in by_dataset(results):
        columns = {name: [escape(text) for text in part[name]] for name in KEY}
        for metric in metrics:
            top, texts = best(part, metric), shown(part, metric)
            columns[label(metric)] = [
                f"<b>{text}</b>" if value is not None and value == top else text
                for value, text in zip(part[metric], texts, strict=True)
            ]
        yield table(columns, left=len(KEY), caption=dataset)


def significance_section(tested: pl.DataFrame, config: ReportConfig) -> Iterable[str]:
    yield "<h2>Is it more than luck?</h2>"
    if tested.is_empty():
        yield "<p>Nothing was compared: that takes a method and an opponent.</p>"
        return
    sure = f"{1 - config.level:.0%}"
    yield (
        "<p class='dim'>Each method against its base model, and against the best other method or "
        "ranker, user by user: paired t-test and Wilcoxon's signed-rank test, two-sided, corrected "
        "by Holm's method over all comparisons of the same kind on the same metric. A verdict "
        f"takes both below {config.level:g}. The interval, not corrected, is a {sure} bootstrap of "
        f"the mean difference, {config.resamples:,} resamples of users. "
        "All of it is about one training of each model, not about another seed.</p>"
    )
    rows = tested.to_dicts()
    columns = {name: [escape(row[name]) for row in rows] for name in KEY}
    columns["metric"] = [escape(label(row["metric"])) for row in rows]
    columns["users"] = [f"{row['users']:,}" for row in rows]
    columns["against"] = [escape(row["opponent"]) for row in rows]
    columns["its mean"] = [f"{row['mean_opponent']:.4f}" for row in rows]
    columns["method mean"] = [f"{row['mean_method']:.4f}" for row in rows]
    columns["change"] = [change(row) for row in rows]
    columns[f"{sure} interval"] = [f"{row['low']:+.4f} to {row['high']:+.4f}" for row in rows]
    columns["p (t)"] = [p_value(row["p_t_holm"]) for row in rows]
    columns["p (Wilcoxon)"] = [p_value(row["p_wilcoxon_holm"]) for row in rows]
    columns["verdict"] = [SIGNS.get(row["verdict"], row["verdict"]) for row in rows]
    yield table(columns, left=len(KEY) + 1)


def validation_section(validation: pl.DataFrame) -> Iterable[str]:
    yield "<h2>What tuning saw</h2>"
    yield "<p class='dim'>NDCG@50 on validation: of the base model, of the method with neutral "
    yield "inference weights, and with the chosen ones. The test had no part in the choice.</p>"
    columns = {name: [escape(text) for text in validation[name]] for name in KEY}
    for name in weights_of(validation):
        columns[name] = filled(validation[name], "{:g}")
        if not validation[name].equals(validation[f"used_{name}"]):
            columns[f"{name} on test"] = filled(validation[f"used_{name}"], "{:g}")
    columns["base model"] = filled(validation["base_ndcg_at_50"], "{:.4f}")
    columns["neutral weights"] = filled(validation["neutral_ndcg_at_50"], "{:.4f}")
    columns["chosen weights"] = filled(validation["ndcg_at_50"], "{:.4f}")
    columns["gain over base"] = filled(validation["gain_ndcg_at_50"], "{:+.1%}")
    yield table(columns, left=len(KEY))


def weights_of(validation: pl.DataFrame) -> list[str]:
    return [name for name in validation.columns if f"used_{name}" in validation.columns]


def filled(values: pl.Series, form: str) -> list[str]:
    return ["-" if value is None else form.format(value) for value in values]


def curves_section(curves: pl.DataFrame) -> Iterable[str]:
    if curves.is_empty():
        return
    names = pl.col("cell").str.extract_groups(r"^(?<dataset>.+)/(?<base>[^/]+)/(?<method>[^/]+)$")
    rows = curves.with_columns(names.alias("names")).unnest("names")
    methods = rows["method"].unique(maintain_order=True).to_list()
    yield "<h2>Training</h2>"
    yield legend(figures.palette(methods))
    yield "<div class='panels'>"
    for (dataset, base), part in rows.group_by("dataset", "base", maintain_order=True):
        ndcg = figures.lines(part, "ndcg_at_50", "validation NDCG@50", methods)
        loss = figures.lines(part, "loss", "training loss", methods)
        yield figure(f"{dataset}, {base}", draw(ndcg), draw(loss))
    yield "</div>"


def surfaces_section(surfaces: pl.DataFrame, validation: pl.DataFrame) -> Iterable[str]:
    panels = []
    for place, grid in surfaces.group_by(*KEY, maintain_order=True):
        same = [pl.col(name) == value for name, value in zip(KEY, place, strict=True)]
        row = validation.filter(*same).row(0, named=True)
        chosen = {name: row[name] for name in weights_of(validation) if row[name] is not None}
        if len(chosen) in (1, 2):
            drawn = draw(figures.heat_map(grid, "ndcg_at_50", chosen))
            at = ", ".join(f"{name} {value:g}" for name, value in chosen.items())
            key = ramp(grid["ndcg_at_50"].min(), grid["ndcg_at_50"].max())
            panels.append(figure(f"{', '.join(map(str, place))}: {at}", drawn, key))
    if panels:
        yield "<h2>Inference weights</h2>"
        yield "<p class='dim'>Validation NDCG@50 over the whole grid of weights that only "
        yield "inference uses. The frame marks the chosen ones.</p><div class='panels'>"
        yield from panels
        yield "</div>"


def head_tail_section(shares: pl.DataFrame) -> Iterable[str]:
    yield "<h2>Head and tail</h2>"
    yield "<p class='dim'>How much goes to the most popular items (head) and to all others "
    yield "(tail), in train and in the lists of all users: the paper's figure 1. Lists that reach "
    yield "beyond the dashed line are more concentrated than what people did.</p>"
    yield legend({"head": (figures.HEAD, [1, 0]), "tail": (figures.TAIL, [1, 0])})
    yield "<div class='panels'>"
    for dataset, part in by_dataset(shares):
        yield figure(dataset, draw(figures.bars(part)))
    yield "</div>"


def gallery_section(shown: Sequence[Figure]) -> Iterable[str]:
    """The other figures, under the heading that the first of a kind brings."""
    for heading in dict.fromkeys(one.heading for one in shown):
        yield f"<h2>{escape(heading)}</h2><div class='panels'>"
        yield from (figure(one.caption, one.svg) for one in shown if one.heading == heading)
        yield "</div>"


def origin_section(manifests: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    yield "<h2>How this was made</h2>"
    yield "<p>By a DVC pipeline: download, split, neighbours, popularity, train, tune, evaluate, "
    yield "report. Weights are chosen on validation; the test is read once, by evaluate.</p>"
    facts = ("protocol", "users", "items", "interactions", "train", "valid", "test", "random")
    columns = {"dataset": [escape(name) for name in manifests]}
    for fact in facts:
        values = [found.get(fact) for found in manifests.values()]
        columns[fact] = [f"{v:,}" if isinstance(v, int) else escape(str(v or "-")) for v in values]
    yield table(columns, left=2, caption="Splits, in interactions")
    yield f"<pre>{escape(COMMANDS)}</pre>"


def by_dataset(rows: pl.DataFrame) -> Iterable[tuple[str, pl.DataFrame]]:
    for dataset in rows["dataset"].unique(maintain_order=True):
        yield dataset, rows.filter(pl.col("dataset") == dataset)
