"""Pieces of a page: tables, and figures drawn as SVG inside it.

A figure is drawn once, here, not in the reader's browser. Hovering shows a mark's numbers
through the SVG's own titles: no script is needed, the page stays a fraction of the size it
has with a plotting library inside, and it prints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import vl_convert

from ppac.reporting.figures import VIRIDIS, Spec

VEGA_LITE = "6.4"
MARK = re.compile(r'<path aria-label="([^"]*)" role="[^"]*" aria-roledescription="[^"]*" ([^>]*)/>')
STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --dim: #5d5d5d; --paper: #fff; --line: #ddd;
  --soft: #f5f5f3; --good: #00704f; --bad: #a84600 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e6; --dim: #a5a5a5; --paper: #161616;
  --line: #3a3a3a; --soft: #222; --good: #3ccf9f; --bad: #ff9a57 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 70rem; padding: 1.5rem 1rem 4rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, sans-serif }
h1 { font-size: clamp(1.3rem, 4vw, 1.9rem); line-height: 1.3; margin: .3rem 0 1rem }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.3rem }
p, li { max-width: 46rem } .dim, figcaption { color: var(--dim) }
.scroll { overflow-x: auto; margin: .75rem 0 1.25rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem }
caption { text-align: left; font-weight: 600; padding: .25rem 0 }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap }
th { font-weight: 600; background: var(--soft) } .name { text-align: left }
.better { color: var(--good) } .worse { color: var(--bad) }
.panels { display: flex; flex-wrap: wrap; gap: 1.25rem 2rem; margin: 1rem 0 }
figure { margin: 0; max-width: 100% } figcaption { font-size: .85rem; margin-bottom: .3rem }
svg { display: block; max-width: 100%; height: auto } svg text { font-family: inherit }
.key { display: inline-flex; align-items: center; gap: .4rem; margin-right: 1.2rem }
.key i { display: inline-block; width: 1.6rem }
.ramp { display: inline-block; width: 5rem; height: .7rem; margin: 0 .4rem }
pre { background: var(--soft); padding: .8rem 1rem; overflow-x: auto; font-size: .85rem }
"""


def table(columns: Mapping[str, Sequence[str]], left: int, caption: str = "") -> str:
    """Cells are HTML already; headings are text."""
    classes = [" class='name'" if i < left else "" for i in range(len(columns))]
    heads = [f"<th{c}>{escape(name)}</th>" for c, name in zip(classes, columns, strict=True)]
    rows = [
        "<tr>" + "".join(f"<td{c}>{v}</td>" for c, v in zip(classes, row, strict=True)) + "</tr>"
        for row in zip(*columns.values(), strict=True)
    ]
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    body = "\n".join(rows)
    return f"<div class='scroll'><table>{title}<tr>{''.join(heads)}</tr>\n{body}</table></div>"


def figure(caption: str, *drawn: str) -> str:
    return f"<figure><figcaption>{escape(caption)}</figcaption>{''.join(drawn)}</figure>"


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
