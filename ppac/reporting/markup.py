"""Pieces of a page: tables, and charts.

A chart is drawn here, as SVG, and brings its specification along: where scripts run, the page
draws it anew so that it answers (page.js); where they do not, and on paper, it is complete.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import vl_convert

from ppac.core.files import new_file
from ppac.reporting.drawing import VIRIDIS, Spec

VEGA_LITE = "6.4"
PACKER = version("vl-convert-python")
# Not in this folder: stages depend on it, and would change by what they write.
KEPT = Path(__file__).parents[1] / "__pycache__" / f"vega-lite-{VEGA_LITE}-{PACKER}.js"
MARK = re.compile(r'<path aria-label="([^"]*)" role="[^"]*" aria-roledescription="[^"]*" ([^>]*)/>')


@cache
def beside(name: str) -> str:
    """A file of this folder."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """Vega-Lite and what the page does with it, for the inside of a script element."""
    return f"{inside(vega_lite(KEPT))}\n{beside('page.js')}"


def vega_lite(kept: Path) -> str:
    """Vega-Lite as one script. Packing it takes seconds, so it is kept where anybody may write."""
    if kept.is_file():
        return kept.read_bytes().decode()
    bundle: str = vl_convert.javascript_bundle(None, VEGA_LITE)  # type: ignore[arg-type]
    with contextlib.suppress(OSError), new_file(kept) as temporary:
        temporary.write_bytes(bundle.encode())
    return bundle


def inside(text: str) -> str:
    """Text that cannot end the script element it is in; JavaScript and JSON read it the same.

    >>> inside('"</script>"')
    '"<\\\\/script>"'
    """
    return re.sub(r"<(/script|!--)", r"<\\\1", text, flags=re.I)


def table(columns: Mapping[str, Sequence[str]], left: int, caption: str = "") -> str:
    """Cells are HTML already; headings are text. ``caption`` is HTML."""
    classes = [" class='name'" if i < left else "" for i in range(len(columns))]
    heads = [f"<th{c}>{escape(name)}</th>" for c, name in zip(classes, columns, strict=True)]
    rows = [
        "<tr>" + "".join(f"<td{c}>{v}</td>" for c, v in zip(classes, row, strict=True)) + "</tr>"
        for row in zip(*columns.values(), strict=True)
    ]
    title = f"<caption>{caption}</caption>" if caption else ""
    head, body = f"<thead><tr>{''.join(heads)}</tr></thead>", "\n".join(rows)
    return f"<div class='scroll'><table>{title}{head}\n<tbody>{body}</tbody></table></div>"


def link(place: str, text: str = "") -> str:
    """
    >>> link("plots/curves.csv")
    "<a href='plots/curves.csv'>curves.csv</a>"
    """
    return f"<a href='{escape(place)}'>{text or escape(place.rpartition('/')[2])}</a>"


def linked(texts: Iterable[str], places: Iterable[str]) -> list[str]:
    """Each number with the file it comes from."""
    return [text if text == "-" else link(p, text) for text, p in zip(texts, places, strict=True)]


def figure(caption: str, *drawn: str, source: str = "", kind: str = "") -> str:
    """``source``: the file that has the numbers."""
    origin = link(source) if source else ""
    opening = f"<figure class='{kind}'>" if kind else "<figure>"
    return f"{opening}<figcaption>{escape(caption)} {origin}</figcaption>{''.join(drawn)}</figure>"


def chart(spec: Spec, svg: str = "") -> str:
    """A drawing, and what it was drawn from."""
    text = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
    drawn = svg or draw(spec)
    given = f"<script type='application/json'>{inside(text)}</script>"
    return f"<div class='chart'><div>{drawn}</div>{given}</div>"


def draw(spec: Spec) -> str:
    """A panel as SVG. What screen readers were to be told, a pointer is told as well."""
    svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    svg = svg.replace("<svg ", '<svg role="img" ', 1)
    return MARK.sub(r"<path \2><title>\1</title></path>", svg)


def legend(lines: Mapping[str, tuple[str, list[int]]]) -> str:
    """One key for all panels of a figure: the colour and dash of each name.

    >>> legend({"ppac": ("#E69F00", [1, 0])})
    "<p><span class='key'><i style='border-top: 3px solid #E69F00'></i>ppac</span></p>"
    """
    keys = []
    for name, (colour, (_, gap)) in lines.items():
        line = f"border-top: 3px {'dashed' if gap else 'solid'} {colour}"
        keys.append(f"<span class='key'><i style='{line}'></i>{escape(name)}</span>")
    return f"<p>{''.join(keys)}</p>"


def ramp(low: Any, high: Any) -> str:
    """The key of a heat map."""
    stops = ", ".join(VIRIDIS)
    bar = f"<i class='ramp' style='background:linear-gradient(90deg, {stops})'></i>"
    return f"<p class='dim'>{low:.4f}{bar}{high:.4f}</p>"


def p_value(p: float) -> str:
    """
    >>> p_value(0.0312), p_value(3e-9)
    ('0.031', '&lt;0.001')
    """
    return f"{p:.3f}" if p >= 0.001 else "&lt;0.001"
