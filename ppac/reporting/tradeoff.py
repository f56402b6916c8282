"""Which gamma? Accuracy against popularity: every method, and the swept ones at all weights.

Points of a sweep are measured on test after the choice. They show what a weight would do; a
weight taken from here and reported on the same test has been chosen on test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from ppac.core.config import FILE
from ppac.core.errors import Problem
from ppac.layout import RANKERS, Cell
from ppac.reporting.commands import experiment
from ppac.reporting.drawing import INK, Spec, panel, shortest, told
from ppac.reporting.figures import read_columns
from ppac.reporting.results import KEY, RANDOM, direction, key, label, numbers

AT = "_at_50"
ACCURACY = [f"ndcg{AT}", f"{RANDOM}ndcg{AT}"]  # the upward axis
POPULARITY = [f"arp{AT}", f"tail_share{AT}", f"coverage{AT}"]  # the other
METRICS = [*ACCURACY, *POPULARITY]
WORTH = 0.5  # of the best accuracy: points below are in the table, not in the chart
KEPT = 0.95  # of the best accuracy, where a little of it is given for less popular lists
SCHEMA = pl.Schema(
    {
        **dict.fromkeys((*KEY, "kind"), pl.String),
        **dict.fromkeys(("gamma", "beta", *METRICS), pl.Float64),
    }
)
# From violet to gold: seen on white and on black, lighter step by step for the colour-blind.
GAMMAS = ["#8359c4", "#6874d0", "#3f8ec5", "#22a0a8", "#31b184", "#6fbd58", "#acc23c", "#edb800"]


def front(cells: Sequence[Cell], sweeps: Sequence[Cell]) -> pl.DataFrame:
    """A row for each cell (kind `method`) and for each point of a sweep (kind `weights`)."""
    rows: list[dict[str, Any]] = []
    for cell in cells:
        named = dict(zip(KEY, key(cell), strict=True))
        rows.append({**named, "kind": "method", **numbers(cell)})
        if cell in sweeps:
            points = read_columns(cell.front).to_dicts()
            rows += [{**named, "kind": "weights", **point} for point in points]
    table = pl.DataFrame([{name: row.get(name) for name in SCHEMA} for row in rows], SCHEMA)
    if table[f"arp{AT}"].null_count() or table[ACCURACY[0]].null_count():
        raise Problem(f"{FILE}: 'evaluate' must measure ndcg and arp at 50 for the trade-off.")
    return table


def best(rows: pl.DataFrame, x: str, y: str) -> np.ndarray:
    """Which rows no other row beats in one of two metrics without losing in the other.

    >>> rows = pl.DataFrame({"arp_at_50": [9.0, 5.0, 6.0], "ndcg_at_50": [0.3, 0.2, 0.1]})
    >>> best(rows, "arp_at_50", "ndcg_at_50").tolist()
    [True, True, False]
    """
    values = np.stack(
        [rows[name].fill_null(np.nan).to_numpy() * direction(name) for name in (x, y)]
    )
    found = np.isfinite(values).all(axis=0)
    for i in range(rows.height):
        at = values[:, i, None]
        beaten = (values >= at).all(axis=0) & (values > at).any(axis=0)
        found[i] &= not beaten.any()
    return found


def choices(rows: pl.DataFrame) -> pl.DataFrame:
    """What one may want of a sweep, in few rows: a purpose, and the point that serves it.

    ``rows`` are of one cell: its result, and the points of its sweep.
    """
    points, result = rows.filter(kind="weights"), rows.filter(kind="method")
    accuracy, random, popularity = ACCURACY[0], ACCURACY[1], f"arp{AT}"
    most = points[accuracy].max()
    enough = points.filter(pl.col(accuracy) >= KEPT * float(most or 0))  # type: ignore[arg-type]
    purposes = {
        "as it was run": result,
        "most accurate (intervened)": points.top_k(1, by=accuracy),
        "most accurate (random)": points.filter(pl.col(random).is_not_null()).top_k(1, by=random),
        f"least popular at {KEPT:.0%} of NDCG": enough.bottom_k(1, by=popularity),
        "neither weight": points.filter(gamma=0.0, beta=0.0),
    }
    return pl.concat([found.with_columns(purpose=pl.lit(name)) for name, found in purposes.items()])


def values_of(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of one dataset and base, rankers among them, as the chart reads them."""
    least = WORTH * float(rows[ACCURACY[0]].max() or 0)  # type: ignore[arg-type]
    rows = rows.filter((pl.col("kind") == "method") | (pl.col(ACCURACY[0]) >= least))
    points = rows.filter(kind="weights")
    fronts = {f"{x} {y}": best(points, x, y) for x in POPULARITY for y in ACCURACY}
    at = pl.format("{} at gamma {}, beta {}", "method", *shortest("gamma", "beta"))
    named = rows.with_columns(name=pl.when(kind="weights").then(at).otherwise("method"))
    values = []
    place = 0
    for row in named.to_dicts():
        value = {name: row[name] for name in ("name", "kind", "gamma", "beta", *METRICS)}
        if row["kind"] == "weights":
            value["best"] = [pair for pair, found in fronts.items() if found[place]]
            value["command"] = experiment(gamma=row["gamma"], beta=row["beta"])
            place += 1
        values.append(value)
    return values


def chart(rows: pl.DataFrame) -> Spec:
    """Points of one dataset and base; a line follows beta at one gamma. The page swaps axes."""
    x, y = POPULARITY[0], ACCURACY[0]
    gammas = sorted(rows.filter(kind="weights")["gamma"].unique().drop_nulls())
    places = np.linspace(0, len(GAMMAS) - 1, max(len(gammas), 2)).round().astype(int)
    scale = {"domain": gammas, "range": [GAMMAS[place] for place in places[: len(gammas)]]}
    shade: Spec = {"field": "gamma", "type": "ordinal", "scale": scale}
    legend: Spec = {"orient": "top", "title": "gamma", "labelColor": INK, "titleColor": INK}
    legend |= {"titleOrient": "left", "titleFontWeight": "normal", "symbolOpacity": 1}
    of = {kind: [{"filter": f"datum.kind == '{kind}'"}] for kind in ("weights", "method")}
    front = [*of["weights"], {"filter": f"indexof(datum.best, '{x} {y}') >= 0"}]
    ring = {"type": "point", "size": 110, "color": INK, "strokeWidth": 1.5, "aria": False}
    shade["legend"] = legend if gammas else None
    lines = {"color": shade, "order": {"field": "beta"}}
    dots = {"color": shade, **told("text")}
    text = {"type": "text", "align": "left", "dx": 8, "dy": -6, "color": INK, "aria": False}
    diamond = {"type": "point", "shape": "diamond", "filled": True, "size": 90, "color": INK}
    layers = [
        {"transform": of["weights"], "mark": {"type": "line", "opacity": 0.55, "aria": False},
         "encoding": lines},
        {"transform": of["weights"], "mark": {"type": "circle", "size": 60, "opacity": 1,
         "cursor": "pointer"}, "encoding": dots},
        {"name": "front", "transform": front, "mark": ring},
        {"transform": of["method"], "mark": diamond, "encoding": told("text")},
        {"transform": of["method"], "mark": text, "encoding": {"text": {"field": "name"}}},
    ]  # fmt: skip
    room = {"left": 64, "right": 76, "top": 40 if gammas else 12, "bottom": 44}
    axes = {"x": across(x), "y": across(y)}
    values = [value | {"text": hover(value)} for value in values_of(rows)]
    return panel(360, 270, room, data={"values": values}, encoding=axes, layer=layers)


def hover(value: dict[str, Any]) -> str:
    found = [f"{label(name)} {value[name]:.4g}" for name in METRICS if value[name] is not None]
    return f"{value['name']}: {', '.join(found)}"


def across(metric: str) -> Spec:
    axis = {"tickCount": 5}
    scale = {"zero": False, "nice": True}
    title = titled(metric)
    return {"field": metric, "type": "quantitative", "title": title, "axis": axis, "scale": scale}


def titled(metric: str) -> str:
    """A metric for people who meet it here for the first time.

    >>> titled("arp_at_50"), titled("random_ndcg_at_50")
    ('mean popularity of listed items (ARP@50)', 'NDCG@50, random test')
    """
    words = {
        "ndcg": "{}, intervened test",
        "arp": "mean popularity of listed items ({})",
        "tail_share": "share of tail items in lists ({})",
        "coverage": "share of all items that are on a list ({})",
    }
    if metric.startswith(RANDOM):
        return f"{label(metric.removeprefix(RANDOM))}, random test"
    return words[metric.partition("_at_")[0]].format(label(metric))


def by_base(rows: pl.DataFrame) -> list[tuple[str, str, pl.DataFrame]]:
    """Each dataset's bases with their rows, the rankers' in every one of them."""
    found = []
    for (dataset, base), part in rows.group_by("dataset", "base", maintain_order=True):
        if base != RANKERS:
            rankers = rows.filter(dataset=dataset, base=RANKERS)
            found.append((str(dataset), str(base), pl.concat([part, rankers])))
    return found
