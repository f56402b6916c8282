"""Is popularity among similar users another thing than popularity? The paper's figure 2.

The paper says of ml-1m that no user has a d_u below 10 and about 85% one above 20: d_u is how
many of the 50 items most popular among similar users are not among everyone's 50.
"""

from __future__ import annotations

import polars as pl

from ppac.reporting.gallery import description, drawn
from ppac.reporting.results import aligned
from ppac.reporting.view import Source, View

LOW, HIGH = 10, 20


def view(source: Source) -> View:
    tables = {name: source.table(name) for name in ("differences", "ratings")}
    text = "Users by how many of their 50 personal favourites are not everyone's:\n\n"
    text += distances(tables["differences"])
    if len(tables["ratings"]):
        text += "\n\nMean rating by personal popularity of items, lowest first:\n\n"
        text += ratings(tables["ratings"])
    return View(text, tables, drawn(description(tables)))


def distances(rows: pl.DataFrame) -> str:
    """Shares of users below and above what the paper names.

    >>> rows = {"dataset": ["d"] * 3, "differing": [9, 10, 21], "users": [1, 1, 2]}
    >>> print(distances(pl.DataFrame(rows)))
    | dataset | mean | below 10 | above 20 |
    |:--------|-----:|---------:|---------:|
    | d       | 15.2 |    25.0% |    50.0% |
    """
    users, differing = pl.col("users"), pl.col("differing")
    found = rows.group_by("dataset", maintain_order=True).agg(
        mean=(users * differing).sum() / users.sum(),
        low=users.filter(differing < LOW).sum() / users.sum(),
        high=users.filter(differing > HIGH).sum() / users.sum(),
    )
    columns = {"dataset": found["dataset"].to_list()}
    columns["mean"] = [f"{value:.1f}" for value in found["mean"]]
    columns[f"below {LOW}"] = [f"{value:.1%}" for value in found["low"]]
    columns[f"above {HIGH}"] = [f"{value:.1%}" for value in found["high"]]
    return aligned(columns, left=1)


def ratings(rows: pl.DataFrame) -> str:
    columns = {"dataset": rows["dataset"].to_list(), "group": [str(v) for v in rows["group"]]}
    columns["mean pp"] = [f"{value:.4f}" for value in rows["pp"]]
    columns["mean rating"] = [f"{value:.3f}" for value in rows["rating"]]
    return aligned(columns, left=2)
