"""The report as one HTML file that needs nothing else: no network, no server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import polars as pl

from ppac.layout import Cell, Dataset
from ppac.reporting import commands, sections
from ppac.reporting.figures import intervals
from ppac.reporting.finding import change
from ppac.reporting.gallery import Figure
from ppac.reporting.markup import beside, chart, figure, link, linked, p_value, script, table
from ppac.reporting.results import KEY, ReportConfig, best, direction, label, shown
from ppac.reporting.sections import by_dataset

SIGNS = {
    "better": "<span class='better'>▲ better</span>",
    "worse": "<span class='worse'>▼ worse</span>",
}
CONTENTS = {
    "results": "Results",
    "weights": "Which gamma?",
    "luck": "More than luck?",
    "lists": "Lists before and after",
    "tuning": "What tuning saw",
    "items": "Popular and rare items",
    "origin": "How this was made",
}


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


def html(report: Report, up: str) -> str:
    """The page: what was found, the numbers, the pictures, and how to get them again.

    The pipeline's folder, where numbers come from, is ``up`` from where the page lies.
    """
    first, *others = report.findings
    contents = " ".join(f"<a href='#{place}'>{name}</a>" for place, name in CONTENTS.items())
    parts = [
        "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>ppac: {escape(', '.join(report.manifests))}</title>",
        f"<style>{beside('page.css')}</style>\n</head>\n<body>\n<h1>{escape(first)}</h1>",
        *results_section(report.results, up),
        *(f"<p>{escape(text)}</p>" for text in others),
        f"<nav>{contents}</nav>",
        *sections.weights(report.plots["front"], up),
        *luck_section(report.tested, report.config),
        *sections.lists(report.plots["examples"]),
        *sections.validation(report.validation),
        *sections.curves(report.plots["curves"]),
        *sections.surfaces(report.plots["surface"], report.validation),
        *sections.head_tail(report.plots["head_tail"]),
        *sections.gallery(report.figures),
        *origin_section(report.manifests, up),
        f"<script>{script()}</script>",
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def results_section(results: pl.DataFrame, up: str) -> Iterable[str]:
    metrics = results.columns[len(KEY) :]
    lower = [label(name) for name in metrics if direction(name) < 0]
    yield "<h2 id='results'>Results</h2>"
    yield "<p class='dim'>On the test set. Bold: the best of the table"
    yield f"{escape(' (lowest for ' + ', '.join(lower) + ')') if lower else ''}. "
    yield f"Each number opens its file; all of them: {link('results.csv')}.</p>"
    for dataset, part in by_dataset(results):
        columns = {name: [escape(text) for text in part[name]] for name in KEY[1:]}
        for metric in metrics:
            files = [f"{up}{Cell(*row).metrics}" for row in part.select(KEY).iter_rows()]
            top, texts = best(part, metric), linked(shown(part, metric), files)
            columns[label(metric)] = [
                f"<b>{text}</b>" if value is not None and value == top else text
                for value, text in zip(part[metric], texts, strict=True)
            ]
        yield table(columns, left=len(KEY) - 1, caption=escape(dataset))


def luck_section(tested: pl.DataFrame, config: ReportConfig) -> Iterable[str]:
    yield "<h2 id='luck'>Is it more than luck?</h2>"
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
        "All of it is about one training of each model, not about another seed. "
        f"All digits: {link('significance.csv')}.</p>"
    )
    yield "<div class='panels'>"
    shown = tested.filter(metric=config.finding.metric, against=config.against[0])
    for dataset, part in by_dataset(shown):
        drawn = chart(intervals(part, f"change of {label(config.finding.metric)}, {sure} interval"))
        yield figure(f"{dataset}, against {config.against[0]}", drawn, source="significance.csv")
    yield "</div>"
    yield "<details><summary>Every comparison</summary>"
    yield comparisons(tested, sure)
    yield "</details>"


def comparisons(tested: pl.DataFrame, sure: str) -> str:
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
    for name in list(columns)[len(KEY) + 3 :]:
        columns[name] = linked(columns[name], ["significance.csv"] * len(rows))
    columns["verdict"] = [SIGNS.get(row["verdict"], row["verdict"]) for row in rows]
    return table(columns, left=len(KEY) + 1)


def origin_section(manifests: Mapping[str, Mapping[str, Any]], up: str) -> Iterable[str]:
    yield "<h2 id='origin'>How this was made</h2>"
    yield "<p>By a DVC pipeline: download, split, neighbours, popularity, train, tune, evaluate, "
    yield "report. Weights are chosen on validation; the test is read once, by evaluate.</p>"
    facts = ("protocol", "users", "items", "interactions", "train", "valid", "test", "random")
    columns = {"dataset": [escape(name) for name in manifests]}
    files = [f"{up}{Dataset(name).split}/manifest.json" for name in manifests]
    for fact in facts:
        values = [found.get(fact) for found in manifests.values()]
        texts = [f"{v:,}" if isinstance(v, int) else escape(str(v or "-")) for v in values]
        columns[fact] = linked(texts, files)
    yield table(columns, left=2, caption="Splits, in interactions")
    yield f"<pre>{escape(commands.usual())}</pre>"
