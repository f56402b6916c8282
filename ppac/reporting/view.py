"""A view: what one folder shows of what the pipeline in another folder reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ppac.core.config import project_root
from ppac.core.errors import Problem
from ppac.core.files import new_folder, write_csv, write_text
from ppac.reporting import printed
from ppac.reporting.figures import read_columns
from ppac.reporting.gallery import Figure


@dataclass(frozen=True)
class Source:
    """The report of a pipeline's folder."""

    folder: Path

    def results(self, methods: Sequence[str]) -> pl.DataFrame:
        """The rows of these methods, in this order within a base; empty where one was not run."""
        rows = self.read(Path("results.csv"))
        order = pl.DataFrame({"method": methods, "place": range(len(methods))})
        places = rows.select("dataset", "base").unique(maintain_order=True).with_row_index("at")
        rows = rows.join(order, on="method").join(places, on=["dataset", "base"])
        return rows.sort("at", "place").drop("at", "place")

    def table(self, name: str) -> pl.DataFrame:
        """One of the tables behind the report's figures."""
        return self.read(Path("tables") / f"{name}.csv")

    def read(self, name: Path) -> pl.DataFrame:
        path = self.folder / "report" / name
        if not path.is_file():
            raise Problem(f"{path} does not exist: run `dvc repro -s` of that folder's report.")
        return read_columns(path)

    def printed(self, table: str) -> pl.DataFrame:
        return printed.printed(project_root(Path.cwd()), table)


@dataclass(frozen=True)
class View:
    text: str
    tables: Mapping[str, pl.DataFrame]
    figures: Sequence[Figure] | None = None  # of a view that draws, perhaps nothing as yet


def write(view: View, place: Path) -> None:
    with new_folder(place / "tables") as folder:
        for name, rows in view.tables.items():
            write_csv(folder / f"{name}.csv", rows)
    if view.figures is not None:
        with new_folder(place / "figures") as folder:
            for figure in view.figures:
                write_text(folder / f"{figure.name}.svg", figure.file)
    write_text(place / "results.md", view.text.rstrip("\n") + "\n")


def beside_printed(source: Source, table: str, methods: Sequence[str]) -> View:
    """Some methods on every dataset and base, the last of them held against the others."""
    rows = printed.beside(source.results(methods), source.printed(table))
    parts = [printed.wins(rows, methods[-1]), printed.tables(rows), printed.blanks(rows)]
    return View("\n\n".join(filter(None, parts)), {"results": rows})
