"""The figures: the tables behind them, and how they are drawn.

Each figure is a Vega-Lite specification for one panel, small enough for a phone; the page
lays panels side by side. Axes, text and the base model take the colour of the page's text
(``currentColor``), so that one drawing serves a light and a dark page. Sizes are fixed
rather than measured from text: another machine's fonts do not move anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ppac.core.config import FILE
from ppac.core.errors import Problem
from ppac.core.files import read_table
from ppac.layout import Cell, Dataset
from ppac.reporting.results import BASE, KEY, VALIDATED, key, label
from ppac.scoring.lists import head_of

INK = "currentColor"
HEAD, TAIL = "#E69F00", "#56B4E9"
# Okabe and Ito's colours, told apart by colour-blind people; black is left to `base`.
COLOURS = ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
VIRIDIS = ["#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725"]

CURVE = pl.Schema(
    {"cell": pl.String, "epoch": pl.Int64, "loss": pl.Float64, "ndcg_at_50": pl.Float64}
)
SURFACE = pl.Schema(
    [(name, pl.String) for name in KEY]
    + [(name, pl.Float64) for name in ("gamma", "beta", *VALIDATED)]  # and any other weight
)

Spec = dict[str, Any]


def read_columns(path: Path) -> pl.DataFrame:
    try:
        return pl.read_csv(path, infer_schema_length=None)
    except (pl.exceptions.ComputeError, pl.exceptions.NoDataError) as error:
        raise Problem(f"{path} is not a readable CSV file: {error}") from None


def curves(cells: Iterable[Cell]) -> pl.DataFrame:
    """Loss and validation NDCG of every trained cell, at the epochs that were validated."""
    found = [pl.DataFrame(schema=CURVE)]
    for cell in cells:
        if cell.learner == cell:
            rows = read_columns(cell.curve).with_columns(cell=pl.lit(str(cell)))
            found.append(rows.select(CURVE.names()).cast(CURVE).drop_nulls())
    return pl.concat(found)


def surfaces(cells: Iterable[Cell]) -> pl.DataFrame:
    """Validation metrics over the grid of inference-only weights, where a cell has any."""
    found = [pl.DataFrame(schema=SURFACE)]
    for cell in cells:
        grid = read_columns(cell.surface).cast(pl.Float64)
        if set(grid.columns) - set(VALIDATED):
            names = zip(KEY, key(cell), strict=True)
            found.append(grid.select(*(pl.lit(v).alias(n) for n, v in names), pl.all()))
    return pl.concat(found, how="diagonal")


def head_tail(cells: Sequence[Cell], head_items: object) -> pl.DataFrame:
    """The paper's figure 1: how much of train, and of each cell's lists, goes to the head.

    The head is the given share of items that has the most train interactions; the tail
    is every other item. Measured in interactions for train, in places for the lists.
    """
    if not isinstance(head_items, float) or not 0 < head_items < 1:
        raise Problem(f"{FILE}: 'evaluate.head_items' is {head_items!r}: a share of items, 0 to 1.")
    rows = []
    for dataset in dict.fromkeys(cell.dataset for cell in cells):
        place = Dataset(dataset)
        items = read_table(place.popularity / "gp.parquet").sort("item")
        items = items.with_columns(head=pl.Series(head_of(items["count"].to_numpy(), head_items)))
        rows.append((dataset, f"{dataset}/train", share(items["head"], items["count"])))
        ids = items.join(read_table(place.split / "items.parquet"), on="item").select("id", "head")
        for cell in cells:
            if cell.dataset == dataset:
                listed = read_table(cell.top).join(ids, left_on="item", right_on="id", how="left")
                if listed["head"].has_nulls():
                    raise Problem(f"{cell.top} lists items that {place.split} does not know.")
                rows.append((dataset, str(cell), share(listed["head"], None)))
    table = pl.DataFrame(rows, schema=["dataset", "cell", "head"], orient="row")
    return table.with_columns(tail=1 - pl.col("head")).with_columns(pl.col("head", "tail").round(6))


def share(head: pl.Series, counts: pl.Series | None) -> float:
    """How much of the whole is head: of the rows, or of their counts.

    >>> share(pl.Series([True, False, False]), pl.Series([6, 1, 1]))
    0.75
    """
    weights = np.ones(len(head)) if counts is None else counts.to_numpy()
    return float(weights[head.to_numpy()].sum() / max(weights.sum(), 1))


def palette(methods: Sequence[str]) -> dict[str, tuple[str, list[int]]]:
    """A colour and a dash for each method, the same in every panel.

    >>> palette(["base", "ppac"])
    {'base': ('currentColor', [4, 3]), 'ppac': ('#D55E00', [1, 0])}
    """
    styles = {BASE: (INK, [4, 3])} if BASE in methods else {}
    for i, method in enumerate(name for name in methods if name != BASE):
        dash = [[1, 0], [6, 2], [2, 2]][i // len(COLOURS) % 3]
        styles[method] = (COLOURS[i % len(COLOURS)], dash)
    return styles


def panel(width: int, height: int, padding: Mapping[str, int], **body: Any) -> Spec:
    """What all panels share: a fixed size, and the page's ink."""
    axis: Spec = {"labelColor": INK, "titleColor": INK, "tickColor": INK, "domainColor": INK}
    axis |= {"gridColor": INK, "gridOpacity": 0.12, "labelFontSize": 11, "titleFontSize": 12}
    axis |= {"titleFontWeight": "normal", "labelOverlap": False, "labelLimit": 0}
    axis |= {"labelFlush": False, "aria": False}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": width,
        "height": height,
        "padding": dict(padding),
        "autosize": "none",
        "background": None,
        "config": {"view": {"stroke": None}, "axis": axis, "font": "sans-serif"},
        **body,
    }


def extent(size: int) -> dict[str, int]:
    """Room for an axis's labels, whatever their font."""
    return {"minExtent": size, "maxExtent": size}


def lines(rows: pl.DataFrame, y: str, title: str, methods: Sequence[str]) -> Spec:
    """A value over epochs, one line for each method; ``rows`` has method, epoch and ``y``."""
    styles = palette(methods)
    used = [name for name in styles if name in set(rows["method"])]
    colour = {"domain": used, "range": [styles[name][0] for name in used]}
    dash = {"domain": used, "range": [styles[name][1] for name in used]}
    x: Spec = {"field": "epoch", "type": "quantitative", "title": "epoch"}
    x |= {"axis": {"tickCount": 5, "grid": False, "format": "d"}, "scale": {"nice": False}}
    encoding = {
        "x": x,
        "y": {
            "field": y,
            "type": "quantitative",
            "title": title,
            "scale": {"zero": False},
            "axis": {"tickCount": 4, **extent(40)},
        },
        "color": {"field": "method", "type": "nominal", "scale": colour, "legend": None},
        "strokeDash": {"field": "method", "type": "nominal", "scale": dash, "legend": None},
    }
    hover = {"field": "text", "type": "nominal"}
    text = pl.format(f"{{}}, epoch {{}}: {title} {{}}", "method", "epoch", pl.col(y).round(4))
    layers = [
        {"mark": {"type": "line", "strokeWidth": 2, "aria": False}},
        {
            "mark": {"type": "circle", "size": 28, "opacity": 1},
            "encoding": {"description": hover},
        },
    ]
    values = rows.select("method", "epoch", y, text=text).to_dicts()
    room = {"left": 64, "right": 12, "top": 8, "bottom": 40}
    return panel(250, 140, room, data={"values": values}, encoding=encoding, layer=layers)


def heat_map(grid: pl.DataFrame, metric: str, chosen: Mapping[str, float]) -> Spec:
    """A metric over one weight or two, the chosen ones framed; ``chosen`` names the weights."""
    x, *y = chosen
    text = ", ".join(f"{name} {{}}" for name in chosen) + f": {label(metric)} {{}}"
    hover = pl.format(text, *shortest(*chosen), pl.col(metric).round(4))
    at = pl.all_horizontal(pl.col(name) == value for name, value in chosen.items())
    values = grid.select(*chosen, metric, text=hover, chosen=at).to_dicts()
    encoding: Spec = {"x": {"field": x, "type": "ordinal"}}
    encoding["x"]["axis"] = {"labelAngle": 0, "ticks": False}
    for name in y:
        encoding["y"] = {"field": name, "type": "ordinal", "sort": "descending"}
        encoding["y"]["axis"] = {"ticks": False, **extent(40)}
    colour: Spec = {"field": metric, "type": "quantitative", "legend": None}
    colour |= {"scale": {"scheme": "viridis", "zero": False, "nice": False}}
    ring = {"type": "rect", "stroke": "black", "strokeWidth": 2.5, "fillOpacity": 0, "aria": False}
    layers = [
        {
            "mark": {"type": "rect"},
            "encoding": {"color": colour, "description": {"field": "text", "type": "nominal"}},
        },
        {"transform": [{"filter": "datum.chosen"}], "mark": ring},
    ]
    room = {"left": 64, "right": 6, "top": 6, "bottom": 40}
    width, *height = (grid[name].n_unique() for name in chosen)
    size = (27 * width, 17 * height[0] if height else 27)
    return panel(*size, room, data={"values": values}, encoding=encoding, layer=layers)


def shortest(*names: str) -> list[pl.Expr]:
    """Weights without a needless '.0'."""
    return [pl.col(name).map_elements("{:g}".format, return_dtype=pl.String) for name in names]


def bars(rows: pl.DataFrame) -> Spec:
    """Head and tail of one dataset, a bar each for train and every cell."""
    dataset = rows["dataset"][0]
    named = rows.with_columns(name=pl.col("cell").str.strip_prefix(f"{dataset}/"))
    text = pl.format("{}: head {}%, tail {}%", "name", *percent("head", "tail"))
    named = named.with_columns(text=text, percent=pl.format("{}%", *percent("head")))
    order: Spec = {"field": "name", "type": "nominal", "sort": None, "title": None}
    order |= {"axis": {"ticks": False, "domain": False, "labelPadding": 6}}
    train = {"data": {"values": [{"head": named["head"][0]}]}, "encoding": {"x": across("head")}}
    train |= {"mark": {"type": "rule", "strokeDash": [4, 3], "stroke": INK, "aria": False}}
    hover: Spec = {"y": order, "description": {"field": "text", "type": "nominal"}}
    whole: Spec = {"x": {"datum": 0, "type": "quantitative"}, "x2": {"datum": 1}}
    layers = [
        {"mark": {"type": "bar", "color": TAIL, "height": 15}, "encoding": hover | whole},
        {
            "mark": {"type": "bar", "color": HEAD, "height": 15},
            "encoding": hover | {"x": across("head")},
        },
        {
            "mark": {"type": "text", "align": "left", "dx": 4, "color": "black", "aria": False},
            "encoding": {
                "y": order,
                "x": {"datum": 0, "type": "quantitative"},
                "text": {"field": "percent"},
            },
        },
        train,
    ]
    room = {"left": 128, "right": 20, "top": 6, "bottom": 40}
    values = named.select("name", "head", "text", "percent").to_dicts()
    return panel(210, 21 * len(rows), room, data={"values": values}, layer=layers)


def across(field: str) -> dict[str, Any]:
    axis = {"format": "%", "tickCount": 5, "title": "share of train, or of the top-50 places"}
    scale = {"domain": [0, 1]}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": scale, "stack": None}


def percent(*names: str) -> list[pl.Expr]:
    return [(pl.col(name) * 100).round(1) for name in names]
