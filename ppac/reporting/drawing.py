"""What all drawings share: the page's ink, colours, sizes, and what a mark says of itself.

Axes, text and the base model take the colour of the page's text (``currentColor``), so that one
drawing serves a light and a dark page. Sizes are fixed rather than measured from text: another
machine's fonts do not move anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ppac.reporting.results import BASE

INK = "currentColor"
HEAD, TAIL = "#E69F00", "#56B4E9"
# Okabe and Ito's colours, told apart by colour-blind people; black is left to `base`.
COLOURS = ["#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
VIRIDIS = ["#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725"]

Spec = dict[str, Any]


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


def told(field: str) -> Spec:
    """Encodings that tell a mark's ``field``: to screen readers, and to a pointer."""
    text = {"field": field, "type": "nominal"}
    return {"description": text, "tooltip": text}


def shortest(*names: str) -> list[pl.Expr]:
    """Weights without a needless '.0'."""
    return [pl.col(name).map_elements("{:g}".format, return_dtype=pl.String) for name in names]


def percent(*names: str) -> list[pl.Expr]:
    return [(pl.col(name) * 100).round(1) for name in names]
