"""The figures: the tables behind them, and how they are drawn.

Each figure is a Vega-Lite specification for one panel, small enough for a phone; the page
lays panels side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from ppac.core.config import FILE
from ppac.core.errors import Problem
from ppac.core.files import read_table
from ppac.layout import Cell, Dataset
from ppac.reporting.drawing import (
    COLOURS,
    HEAD,
    INK,
    TAIL,
    Spec,
    extent,
    palette,
    panel,
    percent,
    shortest,
    told,
)
from ppac.reporting.results import KEY, VALIDATED, key, label
from ppac.scoring.lists import head_of

CURVE = pl.Schema(
    {"cell": pl.String, "epoch": pl.Int64, "loss": pl.Float64, "ndcg_at_50": pl.Float64}
)
SURFACE = pl.Schema(
    [(name, pl.String) for name in KEY]
    + [(name, pl.Float64) for name in ("gamma", "beta", *VALIDATED)]  # and any other weight
)


def read_columns(path: Path, typed: bool = True) -> pl.DataFrame:
    try:
        return pl.read_csv(path, infer_schema=typed, infer_schema_length=None)
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
            "axis": {"tickCount": 4, **extent(52)},
        },
        "color": {"field": "method", "type": "nominal", "scale": colour, "legend": None},
        "strokeDash": {"field": "method", "type": "nominal", "scale": dash, "legend": None},
    }
    text = pl.format(f"{{}}, epoch {{}}: {title} {{}}", "method", "epoch", pl.col(y).round(4))
    layers = [
        {"mark": {"type": "line", "strokeWidth": 2, "aria": False}},
        {
            "mark": {"type": "circle", "size": 28, "opacity": 1},
            "encoding": told("text"),
        },
    ]
    values = rows.select("method", "epoch", y, text=text).to_dicts()
    room = {"left": 76, "right": 12, "top": 8, "bottom": 40}
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
            "encoding": {"color": colour, **told("text")},
        },
        {"transform": [{"filter": "datum.chosen"}], "mark": ring},
    ]
    room = {"left": 64, "right": 6, "top": 6, "bottom": 40}
    width, *height = (grid[name].n_unique() for name in chosen)
    size = (27 * width, 17 * height[0] if height else 27)
    return panel(*size, room, data={"values": values}, encoding=encoding, layer=layers)


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
    hover: Spec = {"y": order, **told("text")}
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


def across(field: str) -> Spec:
    axis = {"format": "%", "tickCount": 5, "title": "share of train, or of the top-50 places"}
    scale = {"domain": [0, 1]}
    return {"field": field, "type": "quantitative", "axis": axis, "scale": scale, "stack": None}


def intervals(rows: pl.DataFrame, title: str) -> Spec:
    """The mean difference of each comparison with its interval; zero is no difference."""
    name = pl.format("{}/{}", "base", "method")
    text = pl.format(
        "{}: {}, {} to {}", name, *(pl.col(n).round(4) for n in ("difference", "low", "high"))
    )
    values = rows.select("difference", "low", "high", "verdict", name=name, text=text).to_dicts()
    order: Spec = {"field": "name", "type": "nominal", "sort": None, "title": None}
    order |= {"axis": {"ticks": False, "domain": False, "labelPadding": 6, "grid": False}}
    axis = {"tickCount": 5, "labelOverlap": "greedy", "labelSeparation": 4}  # some are negative
    x = {"type": "quantitative", "title": title, "axis": axis}
    rule: Spec = {"type": "rule", "strokeWidth": 2, "color": COLOURS[1], "aria": False}
    layers = [
        {"mark": {"type": "rule", "color": INK, "strokeDash": [4, 3], "aria": False},
         "encoding": {"x": {"datum": 0, **x}}, "data": {"values": [{}]}},
        {"mark": rule,
         "encoding": {"y": order, "x": {"field": "low", **x}, "x2": {"field": "high"}}},
        {"mark": {"type": "circle", "size": 70, "opacity": 1, "color": COLOURS[1]},
         "encoding": {"y": order, "x": {"field": "difference", **x}, **told("text")}},
    ]  # fmt: skip
    room = {"left": 160, "right": 20, "top": 6, "bottom": 40}
    return panel(250, max(21 * len(values), 21), room, data={"values": values}, layer=layers)
