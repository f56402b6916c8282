"""The sections of the page that show pictures and lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import polars as pl

from ppac.layout import Cell
from ppac.reporting import figures, tradeoff
from ppac.reporting.commands import experiment
from ppac.reporting.drawing import HEAD, TAIL, palette
from ppac.reporting.gallery import Figure
from ppac.reporting.markup import chart, figure, legend, link, linked, ramp, table
from ppac.reporting.results import BASE, KEY, label, shown
from ppac.reporting.tradeoff import ACCURACY, METRICS, POPULARITY, titled


def weights(front: pl.DataFrame, up: str) -> Iterable[str]:
    """Which gamma?"""
    charts = tradeoff.by_base(front)
    if not charts:
        return
    yield "<h2 id='weights'>Which gamma?</h2>"
    yield "<p class='dim'>Accuracy against popularity. Diamonds are methods and rankers as they "
    yield "were run. Dots are a method at other weights, which need no training: a line is one "
    yield f"gamma, along beta; those with less than {tradeoff.WORTH:.0%} of the best NDCG are left "
    yield "out. Rings: no other dot is better in both. Take a dot for the command "
    yield "that applies it. This is the test: a weight taken from here suits a decision, and not a "
    yield "claim about the same test, for which validation chose.</p><div>"
    yield "<p class='controls' hidden>"
    for name, metrics in (("upwards", ACCURACY), ("across", POPULARITY)):
        options = "".join(f"<option value='{m}'>{escape(titled(m))}</option>" for m in metrics)
        yield f"<label>{name} <select>{options}</select></label>"
    yield "</p><div class='panels'>"
    for dataset, base, rows in charts:
        line = "<p class='command dim'></p>"
        drawn = chart(tradeoff.chart(rows))
        yield figure(f"{dataset}, {base}", drawn, line, source="plots/front.csv")
    yield "</div></div>"
    for dataset, part in by_dataset(front):
        yield from choices(dataset, part, up)


def choices(dataset: str, rows: pl.DataFrame, up: str) -> Iterable[str]:
    """The few points that most people want, with their commands."""
    swept = rows.filter(kind="weights").select("base", "method").unique(maintain_order=True)
    found = [tradeoff.choices(rows.filter(base=b, method=m)) for b, m in swept.iter_rows()]
    if not found:
        return
    table_rows = pl.concat(found)
    names = table_rows.select(pl.format("{}/{}", "base", "method")).to_series()
    columns = {"model": [escape(text) for text in names]}
    columns["for"] = [escape(text) for text in table_rows["purpose"]]
    weights = table_rows.select("gamma", "beta").to_dicts()
    commands = [experiment(**pair) for pair in weights]
    columns["command"] = [f"<code>{escape(text)}</code>" for text in commands]
    files = []
    for base, method, kind in table_rows.select("base", "method", "kind").iter_rows():
        cell = Cell(dataset, base, method)
        files.append(f"{up}{cell.front if kind == 'weights' else cell.metrics}")
    for metric in METRICS:
        columns[label(metric)] = linked(shown(table_rows, metric), files)
    yield "<p class='dim'>A command sets the weights of every base model, whose scores differ in "
    yield "scale: add <code>-S 'bases=[...]'</code> to run one of them alone.</p>"
    yield table(columns, left=3, caption=f"{escape(dataset)}: what to choose")


def lists(examples: pl.DataFrame) -> Iterable[str]:
    """Somebody's list before and after."""
    if examples.is_empty():
        return
    after = next(name for name in examples["method"] if name != BASE)
    yield "<h2 id='lists'>Lists before and after</h2>"
    yield f"<p class='dim'>The first places of users' lists, by the base model and by {after}; "
    yield "beside an item, how many users have it in train. The users were drawn by chance. "
    yield "<span class='found'>✓</span> is in the user's test; "
    yield f"<span class='gone'>grey</span> is in both lists. All: {link('plots/examples.csv')}.</p>"
    first = True
    for (dataset, base), part in examples.group_by("dataset", "base", maintain_order=True):
        yield f"<details{' open' if first else ''}><summary>{dataset}, {base}</summary>"
        yield "<div class='panels'>"
        for (user,), rows in part.group_by("user", maintain_order=True):
            yield list_of(str(user), rows, after)
        yield "</div></details>"
        first = False


def list_of(user: str, rows: pl.DataFrame, after: str) -> str:
    places = range(1, 1 + max(rows["rank"].to_list()))
    columns = {"": [str(rank) for rank in places]}
    for method in (BASE, after):
        own = {row["rank"]: row for row in rows.filter(method=method).iter_rows(named=True)}
        columns[method] = [title_of(own[rank]) if rank in own else "" for rank in places]
    return table(columns, left=3, caption=f"user {escape(user)}")


def title_of(row: dict[str, Any]) -> str:
    mark = "<span class='found'>✓</span> " if row["found"] else ""
    kind = "wide gone" if row["stays"] else "wide"
    title, users = escape(row["title"]), link("plots/examples.csv", f"{row['users']:,}")
    shown = f"{mark}<span>{title}</span> <small>{users}</small>"
    return f"<div class='{kind}' title='{title}'>{shown}</div>"


def validation(tuned: pl.DataFrame) -> Iterable[str]:
    yield "<h2 id='tuning'>What tuning saw</h2>"
    yield "<p class='dim'>NDCG@50 on validation: of the base model, of the method with neutral "
    yield "inference weights, and with the chosen ones. The test had no part in the choice. "
    yield f"All digits: {link('validation.csv')}.</p>"
    columns = {}
    for name in weights_of(tuned):
        columns[name] = filled(tuned[name], "{:g}")
        if not tuned[name].equals(tuned[f"used_{name}"]):
            columns[f"{name} on test"] = filled(tuned[f"used_{name}"], "{:g}")
    columns["base model"] = filled(tuned["base_ndcg_at_50"], "{:.4f}")
    columns["neutral weights"] = filled(tuned["neutral_ndcg_at_50"], "{:.4f}")
    columns["chosen weights"] = filled(tuned["ndcg_at_50"], "{:.4f}")
    columns["gain over base"] = filled(tuned["gain_ndcg_at_50"], "{:+.1%}")
    files = ["validation.csv"] * len(tuned)
    numbers = {name: linked(texts, files) for name, texts in columns.items()}
    named = {name: [escape(text) for text in tuned[name]] for name in KEY}
    yield table(named | numbers, left=len(KEY))


def weights_of(validation: pl.DataFrame) -> list[str]:
    return [name for name in validation.columns if f"used_{name}" in validation.columns]


def filled(values: pl.Series, form: str) -> list[str]:
    return ["-" if value is None else form.format(value) for value in values]


def curves(rows: pl.DataFrame) -> Iterable[str]:
    if rows.is_empty():
        return
    names = pl.col("cell").str.extract_groups(r"^(?<dataset>.+)/(?<base>[^/]+)/(?<method>[^/]+)$")
    rows = rows.with_columns(names.alias("names")).unnest("names")
    methods = rows["method"].unique(maintain_order=True).to_list()
    yield "<h2>Training</h2>"
    yield legend(palette(methods))
    yield "<div class='panels'>"
    for (dataset, base), part in rows.group_by("dataset", "base", maintain_order=True):
        ndcg = figures.lines(part, "ndcg_at_50", "validation NDCG@50", methods)
        loss = figures.lines(part, "loss", "training loss", methods)
        drawn = chart(ndcg), chart(loss)
        yield figure(f"{dataset}, {base}", *drawn, source="plots/curves.csv")
    yield "</div>"


def surfaces(grids: pl.DataFrame, validation: pl.DataFrame) -> Iterable[str]:
    panels = []
    for place, grid in grids.group_by(*KEY, maintain_order=True):
        same = [pl.col(name) == value for name, value in zip(KEY, place, strict=True)]
        row = validation.filter(*same).row(0, named=True)
        chosen = {name: row[name] for name in weights_of(validation) if row[name] is not None}
        if len(chosen) in (1, 2):
            drawn = chart(figures.heat_map(grid, "ndcg_at_50", chosen))
            at = ", ".join(f"{name} {value:g}" for name, value in chosen.items())
            key = ramp(grid["ndcg_at_50"].min(), grid["ndcg_at_50"].max())
            caption = f"{', '.join(map(str, place))}: {at}"
            panels.append(figure(caption, drawn, key, source="plots/surface.csv"))
    if panels:
        yield "<h2>Inference weights</h2>"
        yield "<p class='dim'>Validation NDCG@50 over the whole grid of weights that only "
        yield "inference uses. The frame marks the chosen ones.</p><div class='panels'>"
        yield from panels
        yield "</div>"


def head_tail(shares: pl.DataFrame) -> Iterable[str]:
    yield "<h2 id='items'>Head and tail</h2>"
    yield "<p class='dim'>How much goes to the most popular items (head) and to all others "
    yield "(tail), in train and in the lists of all users: the paper's figure 1. Lists that reach "
    yield "beyond the dashed line are more concentrated than what people did.</p>"
    yield legend({"head": (HEAD, [1, 0]), "tail": (TAIL, [1, 0])})
    yield "<div class='panels'>"
    for dataset, part in by_dataset(shares):
        yield figure(dataset, chart(figures.bars(part)), source="tables/head_tail.csv")
    yield "</div>"


def gallery(shown: Sequence[Figure]) -> Iterable[str]:
    """The other figures, under the heading that the first of a kind brings."""
    for heading in dict.fromkeys(one.heading for one in shown):
        yield f"<h2>{escape(heading)}</h2><div class='panels'>"
        for one in shown:
            if one.heading == heading:
                yield figure(one.caption, chart(one.spec, one.svg), source=one.source)
        yield "</div>"


def by_dataset(rows: pl.DataFrame) -> Iterable[tuple[str, pl.DataFrame]]:
    for dataset in rows["dataset"].unique(maintain_order=True):
        yield dataset, rows.filter(pl.col("dataset") == dataset)
