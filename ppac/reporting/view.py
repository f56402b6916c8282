"""A view: what one folder shows of what the pipeline in another folder measured and reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ppac.core.config import project_root, read_params
from ppac.core.errors import Problem
from ppac.core.files import new_folder, write_csv, write_text
from ppac.layout import RANKERS, Cell
from ppac.reporting import printed
from ppac.reporting.figures import read_columns
from ppac.reporting.gallery import Figure
from ppac.reporting.results import committed


@dataclass(frozen=True)
class Source:
    """What a pipeline's folder reported: at once, or each dataset and base by itself."""

    folder: Path

    def results(self, methods: Sequence[str]) -> pl.DataFrame:
        """Recall and NDCG of these methods, in this order within a base; empty where not run."""
        params = read_params(self.folder)
        known = {*params["methods"], *params["variants"]}
        places = [(dataset, base) for dataset in params["datasets"] for base in params["bases"]]
        wanted = [Cell(*place, method) for place in places for method in methods if method in known]
        return committed(self.folder, wanted, printed.METRICS.values())

    def table(self, name: str) -> pl.DataFrame:
        """One of the tables behind the report's figures."""
        return self.read(f"tables/{name}.csv")

    def read(self, name: str) -> pl.DataFrame:
        params = read_params(self.folder)
        datasets, bases = params["datasets"], params["bases"]
        places, stage = [Path("report")], "report"
        if params["report"]["missing"] == "blank":
            places = [Path("report", dataset, base) for dataset in datasets for base in bases]
            stage = f"{bases[0]}/report/dvc.yaml:report@{datasets[0]}"
        paths = [path for place in places if (path := self.folder / place / name).is_file()]
        if not paths:
            command = f"dvc --cd pipelines/{self.folder.resolve().name} repro -s {stage}"
            raise Problem(f"{self.folder / places[0] / name} does not exist: run `{command}`.")
        return together([read_columns(path, typed=False) for path in paths], bases)

    def printed(self, table: str) -> pl.DataFrame:
        return printed.printed(project_root(Path.cwd()), table)


def together(reports: Sequence[pl.DataFrame], bases: Sequence[str]) -> pl.DataFrame:
    """The same table of several reports, read as text, as one: only the whole shows its types.

    Reports on a dataset share its rankers, and what is about all of it: these rows are taken from
    the first that has them. Bases are in the given order within their dataset, rankers last.

    >>> rows = {"dataset": "d", "cell": ["d/train", "d/ncf/ppac", "d/rankers/ppgp"]}
    >>> other = {"dataset": "d", "cell": ["d/train", "d/mf/ppac", "d/rankers/ppgp"]}
    >>> together([pl.DataFrame(rows), pl.DataFrame(other)], ["ncf", "mf"])["cell"].to_list()
    ['d/train', 'd/ncf/ppac', 'd/mf/ppac', 'd/rankers/ppgp']
    """
    parts = [rows.with_columns(part=pl.lit(place)) for place, rows in enumerate(reports)]
    rows = pl.concat(parts, how="diagonal")
    base = pl.lit("")
    if "base" in rows.columns:
        base = pl.col("base")
    elif "cell" in rows.columns:
        base = pl.col("cell").str.split("/").list.get(1)
    order = {name: place for place, name in enumerate([*bases, RANKERS])}
    at = base.replace_strict(order, default=-1, return_dtype=pl.Int64)
    rows = rows.with_columns(at=at).with_row_index("row")
    rows = rows.filter(pl.col("part") == pl.col("part").min().over("dataset", "at"))
    rows = rows.sort(pl.col("row").min().over("dataset"), "at", "row").drop("row", "part", "at")
    return pl.read_csv(rows.write_csv().encode(), infer_schema_length=None)


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
