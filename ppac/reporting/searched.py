"""What the search for training settings tried, all cells together."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from ppac.layout import Cell
from ppac.reporting.results import KEY, key


def searched(cells: Iterable[Cell]) -> pl.DataFrame:
    """Every cell's trials with what they gave on validation, the chosen one marked."""
    found = [pl.DataFrame(schema={**dict.fromkeys(KEY, pl.String), "chosen": pl.Boolean})]
    for cell in cells:
        if cell.learner == cell and cell.search.exists():
            trials = pl.read_csv(cell.search, infer_schema_length=None)
            varied = [name for name in trials.columns if "." in name]
            texts = [pl.format(f"{name}={{}}", pl.col(name)) for name in varied]
            names = zip(KEY, key(cell), strict=True)
            chosen = trials.select(
                *(pl.lit(value).alias(name) for name, value in names),
                (pl.int_range(pl.len()) == 0).alias("chosen"),  # they come best first
                pl.concat_str(texts, separator=", ").alias("settings"),
                pl.exclude(varied).cast(pl.Float64),
            )
            found.append(chosen)
    return pl.concat(found, how="diagonal")
