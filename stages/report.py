"""Gather all cells into tables, tests, figures and one page."""

from __future__ import annotations

import textwrap
from pathlib import Path

from ppac.core.files import new_folder, read_json, write_csv, write_json, write_text
from ppac.core.layout import Dataset
from ppac.progress import say
from ppac.reporting import figures, results
from ppac.reporting.cells import configured, present, require
from ppac.reporting.finding import findings
from ppac.reporting.page import Report, html
from ppac.reporting.results import ReportConfig
from ppac.reporting.searched import searched
from ppac.reporting.significance import significance
from ppac.tracking.mirror import mirror
from stages import door

PLACE = Path("report")
AXES = ("datasets", "bases", "methods", "variants", "rankers")


def main() -> None:
    door.arguments(__doc__)
    params = door.params()
    config = ReportConfig.read(params, "report")
    wanted = configured(**{axis: door.chosen(params, axis) for axis in AXES})
    cells = present(wanted) if config.missing == "blank" else wanted
    require(cells)
    measured = results.with_blanks(results.read_metrics(cells), wanted)
    table = results.select(measured, config.metrics, "report.metrics")
    summary = results.summary(results.select(measured, config.summary, "report.summary"))
    tested = significance(cells, config, door.seed(params))
    manifests = {c.dataset: read_json(Dataset(c.dataset).split / "manifest.json") for c in cells}
    plots = {
        "curves": figures.curves(cells),
        "surface": figures.surfaces(cells),
        "head_tail": figures.head_tail(cells, (params.get("evaluate") or {}).get("head_items")),
    }
    said = findings(tested, table, config, manifests[cells[0].dataset]["protocol"])
    page = html(Report(said, table, tested, results.validation(cells), plots, manifests, config))

    write_csv(PLACE / "results.csv", table)
    write_text(PLACE / "results.md", f"{textwrap.fill(said[0], 100)}\n\n{results.markdown(table)}")
    write_csv(PLACE / "significance.csv", tested)
    write_csv(PLACE / "validation.csv", results.validation(cells))
    write_csv(PLACE / "search.csv", searched(cells))
    write_json(PLACE / "summary.json", summary)
    with new_folder(PLACE / "plots") as folder:
        for name, rows in plots.items():
            write_csv(folder / f"{name}.csv", rows)
    write_text(PLACE / "index.html", page)
    mirror(cells)
    say(f"report: {said[0]} See {PLACE / 'index.html'}.")


if __name__ == "__main__":
    door.enter(main)
