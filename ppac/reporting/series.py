"""The paper's figures 2, 6 and 7: values over groups of items, differences of users, weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from ppac.layout import Cell, Dataset
from ppac.reporting.drawing import INK, Spec, extent, palette, panel, told
from ppac.reporting.figures import read_columns
from ppac.reporting.results import KEY, key, label

SWEPT = pl.Schema(
    {
        **dict.fromkeys(("cell", *KEY, "varied"), pl.String),
        **dict.fromkeys(
            ("value", "recall_at_50", "ndcg_at_50", "pru_at_50", "ppru_at_50"), pl.Float64
        ),
    }
)
DESCRIBED = {
    "differences": pl.Schema({"differing": pl.Int64, "users": pl.Int64, "share": pl.Float64}),
    "ratings": pl.Schema(
        {"group": pl.Int64, "items": pl.Int64, "pp": pl.Float64, "rating": pl.Float64}
    ),
}


def described(datasets: Iterable[str], name: str) -> pl.DataFrame:
    """What the stage `describe` wrote, all datasets together."""
    schema = DESCRIBED[name]
    found = [pl.DataFrame(schema={"dataset": pl.String, **schema})]
    for dataset in datasets:
        rows = read_columns(Dataset(dataset).description / f"{name}.csv")
        found.append(rows.select(pl.lit(dataset).alias("dataset"), *typed(schema)))
    return pl.concat(found)


def swept(cells: Iterable[Cell]) -> pl.DataFrame:
    """What the stage `sweep` wrote, all swept cells together."""
    found = [pl.DataFrame(schema=SWEPT)]
    for cell in cells:
        names = [pl.lit(v).alias(n) for n, v in zip(KEY, key(cell), strict=True)]
        names = [pl.format("{} {}", pl.lit(str(cell)), "varied").alias("cell"), *names]
        found.append(read_columns(cell.swept).select(*names, *typed(SWEPT)[len(names) :]))
    return pl.concat(found)


def typed(schema: pl.Schema) -> list[pl.Expr]:
    """Its columns, whatever a file's few or missing rows make of their types."""
    return [pl.col(name).cast(kind) for name, kind in schema.items()]


def lines(rows: pl.DataFrame, x: str, ys: Sequence[str], title: str, by: str | None) -> Spec:
    """Values over the steps of ``x``, in order: a line for each of ``by``, or of ``ys``."""
    if by is None:
        rows = rows.unpivot(on=list(ys), index=[x], variable_name="line", value_name="y")
        rows = rows.with_columns(pl.col("line").map_elements(label, return_dtype=pl.String))
    else:
        rows = rows.select(x, line=by, y=ys[0])
    steps = [f"{step:g}" if isinstance(step, float) else str(step) for step in rows[x]]
    rows = rows.with_columns(step=pl.Series(steps, dtype=pl.String)).drop_nulls()
    styles = palette(rows["line"].unique(maintain_order=True).to_list())
    colour = {"domain": list(styles), "range": [style[0] for style in styles.values()]}
    dash = {"domain": list(styles), "range": [style[1] for style in styles.values()]}
    axis = {"labelAngle": 0, "labelOverlap": True, "grid": False, "title": x}
    key = {"orient": "top", "title": None, "labelColor": INK, "symbolType": "stroke"}
    shared = {"field": "line", "type": "nominal", "legend": key if len(styles) > 1 else None}
    scale = {"zero": False}
    y = {"field": "y", "type": "quantitative", "title": title, "scale": scale}
    text = pl.format(f"{{}}, {x} {{}}: {{}}", "line", "step", pl.col("y").round(4))
    encoding = {
        "x": {"field": "step", "type": "ordinal", "sort": None, "axis": axis},
        "y": {**y, "axis": {"tickCount": 4, **extent(52)}},
        "color": {**shared, "scale": colour},
        "strokeDash": {**shared, "scale": dash},
    }
    layers = [
        {"mark": {"type": "line", "strokeWidth": 2, "aria": False}},
        {"mark": {"type": "circle", "size": 28, "opacity": 1}, "encoding": told("text")},
    ]
    values = rows.select("step", "line", "y", text=text).to_dicts()
    room = {"left": 76, "right": 12, "top": 30 if len(styles) > 1 else 8, "bottom": 40}
    return panel(250, 140, room, data={"values": values}, encoding=encoding, layer=layers)


def columns(rows: pl.DataFrame, x: str, y: str, titles: tuple[str, str], zero: bool) -> Spec:
    """A column for each row."""
    step: Spec = {"field": x, "type": "ordinal", "title": titles[0]}
    step |= {"axis": {"labelAngle": 0, "labelOverlap": True, "ticks": False}}
    text = pl.format(f"{titles[0]} {{}}: {titles[1]} {{}}", x, pl.col(y).round(4))
    height = {"field": y, "type": "quantitative", "title": titles[1], "scale": {"zero": zero}}
    encoding = {
        "x": step,
        "y": {**height, "axis": {"tickCount": 4, **extent(52)}},
        **told("text"),
    }
    mark = {"type": "bar", "color": "#0072B2"} if zero else {"type": "circle", "size": 60}
    room = {"left": 76, "right": 12, "top": 8, "bottom": 40}
    values = rows.select(x, y, text=text).to_dicts()
    return panel(250, 140, room, data={"values": values}, encoding=encoding, mark=mark)
