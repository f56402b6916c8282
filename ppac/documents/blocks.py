"""Tables inside documents, written from committed files alone: `python -m ppac numbers`.

A document holds blocks between markers; what is in them is written, the rest is prose:

    <!-- numbers: printed T2 released -->       a printed table beside a pipeline's cells
    <!-- numbers: measured balanced -->         a pipeline's cells alone
    <!-- numbers: reached released -->          in how many numbers the paper was reached
    <!-- numbers: trained released -->          what ppac gains, and what of it its training gives
    <!-- numbers: controls released -->         what rankers reach of ppac, which learn nothing
    <!-- numbers: tried search -->              what a search tried, and what it gave on validation
    <!-- numbers: switched -->                  what each difference of the release does
    <!-- numbers: view ablation -->             what a view wrote, with its figures
    <!-- numbers: missing released -->          cells that were not run, and how to run them
    <!-- numbers: gains balanced -->            ppac-plus beside ppac, its base and the best other
    <!-- numbers: beyond released -->           ppac-plus and pp-plus beside the printed PPAC
    <!-- numbers: steps released ndcg_at_50 --> from ppac to ppac-plus, a part at a time
    <!-- numbers: cost -->                      what ppac-plus takes beside ppac
    <!-- /numbers -->
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from ppac.core.errors import Problem
from ppac.documents import gains, numbers

DOCUMENTS = (Path("docs/numbers.md"), Path("docs/ppac-plus.md"))
BLOCK = re.compile(r"(<!-- numbers: ([\w -]+?) -->\n).*?(<!-- /numbers -->)", re.S)
BLOCKS: dict[str, Callable[..., str]] = {
    "printed": numbers.printed_table,
    "measured": numbers.measured_table,
    "reached": numbers.reached,
    "trained": numbers.trained,
    "controls": numbers.controls,
    "tried": numbers.tried,
    "switched": numbers.switched,
    "view": numbers.view,
    "missing": numbers.missing,
    "gains": gains.gains,
    "beyond": gains.beyond,
    "steps": gains.steps,
    "cost": gains.cost,
}


def fill(document: Path, root: Path) -> str:
    """The text of the project's document with every block written anew."""

    def written(found: re.Match[str]) -> str:
        kind, *words = found[2].split()
        if kind not in BLOCKS:
            known = ", ".join(BLOCKS)
            raise Problem(f"{document}: unknown block '{found[2]}': one of {known}.")
        return f"{found[1]}{BLOCKS[kind](root, *words)}\n{found[3]}"

    return BLOCK.sub(written, (root / document).read_text(encoding="utf-8"))
