"""Gather all cells, or those of one dataset and base, into tables, tests, figures and one page."""

from __future__ import annotations

from pathlib import Path

from ppac.progress import say
from ppac.reporting.assemble import assemble, write
from ppac.reporting.cells import configured, measured, present, require
from ppac.reporting.results import ReportConfig
from ppac.tracking.beside import beside
from ppac.tracking.mirror import mirror
from ppac.tracking.publish import publish
from stages import door


def main() -> None:
    part = vars(door.arguments(__doc__, optional=("dataset", "base")))
    params = door.params()
    config = ReportConfig.read(params, "report")
    axes = {axis: door.chosen(params, axis) for axis in ("methods", "variants", "rankers")}
    for axis, name in part.items():
        axes[f"{axis}s"] = [name] if name else door.chosen(params, f"{axis}s")
    wanted = configured(**axes)
    cells = present(wanted) if config.missing == "blank" else wanted
    sweeps = [cell for cell in cells if cell.method in door.chosen(params, "sweeps")]
    if config.missing == "blank":
        sweeps = [cell for cell in sweeps if cell.swept.is_file()]
    require(cells, sweeps)
    head_items = (params.get("evaluate") or {}).get("head_items")
    place = Path("report", *part.values())
    with beside() as in_mlflow:
        report = assemble(wanted, cells, sweeps, head_items, config, door.seed(params))
        write(report, place)
        in_mlflow(mirror, cells)
        in_mlflow(publish, list(report.manifests), place, report.findings[0])
    said = f"report: {report.findings[0]} See {place / 'index.html'}."
    if elsewhere := len(measured(wanted)) - len(cells):
        said += f" In the results alone, because their runs/ are not here: {elsewhere} cell(s)."
    say(said)


if __name__ == "__main__":
    door.enter(main)
