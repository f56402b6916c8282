"""Gather all cells into tables, tests, figures and one page."""

from __future__ import annotations

from pathlib import Path

from ppac.progress import say
from ppac.reporting.assemble import assemble, write
from ppac.reporting.cells import configured, present, require
from ppac.reporting.results import ReportConfig
from ppac.tracking.mirror import mirror
from ppac.tracking.publish import publish
from stages import door

PLACE = Path("report")
AXES = ("datasets", "bases", "methods", "variants", "rankers")


def main() -> None:
    door.arguments(__doc__)
    params = door.params()
    config = ReportConfig.read(params, "report")
    wanted = configured(**{axis: door.chosen(params, axis) for axis in AXES})
    cells = present(wanted) if config.missing == "blank" else wanted
    sweeps = [cell for cell in cells if cell.method in door.chosen(params, "sweeps")]
    if config.missing == "blank":
        sweeps = [cell for cell in sweeps if cell.swept.is_file()]
    require(cells, sweeps)
    head_items = (params.get("evaluate") or {}).get("head_items")
    report = assemble(wanted, cells, sweeps, head_items, config, door.seed(params))
    write(report, PLACE)
    mirror(cells)
    publish(report.manifests, PLACE, report.findings[0])
    say(f"report: {report.findings[0]} See {PLACE / 'index.html'}.")


if __name__ == "__main__":
    door.enter(main)
