"""What gamma, beta and k do on test, one at a time: the paper's figure 7."""

from __future__ import annotations

import polars as pl

from ppac.reporting.gallery import drawn, sweeps
from ppac.reporting.results import aligned
from ppac.reporting.view import Source, View


def view(source: Source) -> View:
    swept = source.table("sweep")
    text = "Recall@50 on test at the first and last value and at the best one, the others 0\n"
    text += "(for k: gamma and beta as chosen on validation):\n\n" + turning_points(swept)
    return View(text, {"sweep": swept}, drawn(sweeps(swept)))


def turning_points(swept: pl.DataFrame) -> str:
    """Where recall is highest: inside, if it first rises and then falls, as the paper says."""
    columns: dict[str, list[str]] = {name: [] for name in ("cell", "best at")}
    columns |= {name: [] for name in ("first", "best", "last")}
    for (cell,), rows in swept.group_by("cell", maintain_order=True):
        recall = rows["recall_at_50"]
        at = recall.arg_max() or 0
        columns["cell"].append(str(cell))
        columns["best at"].append(f"{rows['value'][at]:g}")
        for name, where in (("first", 0), ("best", at), ("last", -1)):
            columns[name].append(f"{recall[where]:.4f}")
    return aligned(columns, left=2)
