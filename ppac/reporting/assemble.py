"""From the cells' artefacts to a report, and from a report to its files."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from ppac.core.files import new_folder, read_json, write_csv, write_json, write_text
from ppac.layout import Cell, Dataset
from ppac.reporting import figures, results
from ppac.reporting.cells import measured
from ppac.reporting.examples import examples
from ppac.reporting.finding import findings
from ppac.reporting.gallery import gallery
from ppac.reporting.groups import by_popularity
from ppac.reporting.page import Report, html
from ppac.reporting.results import ReportConfig
from ppac.reporting.searched import searched
from ppac.reporting.series import described, swept
from ppac.reporting.significance import significance
from ppac.reporting.tradeoff import front

LONG = (
    "curves",
    "surface",
    "front",
    "examples",
)  # tables that only DVC keeps; the others are in Git, for other folders


def assemble(
    wanted: Sequence[Cell],
    cells: Sequence[Cell],
    sweeps: Sequence[Cell],
    head_items: object,
    config: ReportConfig,
    seed: int,
) -> Report:
    """All there is to say of ``cells``, those of the ``wanted`` ones whose files are here.

    Results come from metrics alone, and so have a number wherever a cell was measured.
    """
    numbers = results.with_blanks(results.read_metrics(measured(wanted)), wanted)
    table = results.select(numbers, config.metrics, "report.metrics")
    few = [*config.summary, *(name for name in ("gamma", "beta") if name in numbers.columns)]
    tested = significance(cells, config, seed)
    manifests = {c.dataset: read_json(Dataset(c.dataset).split / "manifest.json") for c in cells}
    plots = {
        "curves": figures.curves(cells),
        "surface": figures.surfaces(cells),
        "head_tail": figures.head_tail(cells, head_items),
        "groups": by_popularity(cells, config.groups),
        "differences": described(manifests, "differences"),
        "ratings": described(manifests, "ratings"),
        "sweep": swept(sweeps),
        "front": front(cells, sweeps),
        "examples": examples(cells, config.finding.method, seed),
    }
    return Report(
        findings=findings(tested, table, config, manifests[cells[0].dataset]["protocol"]),
        results=table,
        summary=results.summary(results.select(numbers, few, "report.summary")),
        tested=tested,
        validation=results.validation(cells),
        searched=searched(cells),
        plots=plots,
        figures=gallery(plots),
        manifests=manifests,
        config=config,
    )


def write(report: Report, place: Path) -> None:
    page = html(report, up="../" * len(place.parts))
    first = textwrap.fill(report.findings[0], 100)
    write_csv(place / "results.csv", report.results)
    write_text(place / "results.md", f"{first}\n\n{results.markdown(report.results)}")
    write_csv(place / "significance.csv", report.tested)
    write_csv(place / "validation.csv", report.validation)
    write_csv(place / "search.csv", report.searched)
    write_json(place / "summary.json", report.summary)
    with new_folder(place / "plots") as plots, new_folder(place / "tables") as tables:
        for name, rows in report.plots.items():
            write_csv((plots if name in LONG else tables) / f"{name}.csv", rows)
    with new_folder(place / "figures") as folder:
        for figure in report.figures:
            write_text(folder / f"{figure.name}.svg", figure.file)
    write_text(place / "index.html", page)
