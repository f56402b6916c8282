"""The paper's figures, drawn from the report's tables: on the page, and as files for documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from ppac.layout import RANKERS
from ppac.reporting import series
from ppac.reporting.drawing import Spec
from ppac.reporting.markup import draw

BACKGROUND = "color:#1b1b1b;background:#ffffff"  # of a file: a page has its own


@dataclass(frozen=True)
class Figure:
    name: str
    heading: str
    caption: str
    source: str  # the table it is drawn from
    spec: Spec
    svg: str

    @property
    def file(self) -> str:
        """For documents, which know nothing of the page's colours."""
        return self.svg.replace("<svg ", f'<svg style="{BACKGROUND}" ', 1)


Named = tuple[str, str, str, str, Spec]


def gallery(plots: Mapping[str, pl.DataFrame]) -> list[Figure]:
    return drawn([*by_popularity(plots["groups"]), *description(plots), *sweeps(plots["sweep"])])


def drawn(named: Iterable[Named]) -> list[Figure]:
    return [Figure(*one, draw(one[-1])) for one in named]


def by_popularity(groups: pl.DataFrame) -> Iterator[Named]:
    """Figure 6."""
    heading = "By popularity of items"
    learned = groups.filter(pl.col("base") != RANKERS)
    for (dataset, base), rows in learned.group_by("dataset", "base", maintain_order=True):
        for value, title in (("frequency", "lists an item is on"), ("recall", "recall")):
            rows_named = rows.rename({"group": "train interactions"})
            spec = series.lines(rows_named, "train interactions", [value], title, "method")
            yield (
                f"{value}-{dataset}-{base}",
                heading,
                f"{dataset}, {base}",
                "tables/groups.csv",
                spec,
            )


def description(plots: Mapping[str, pl.DataFrame]) -> Iterator[Named]:
    """Figure 2."""
    heading = "How personal popularity is"
    for (dataset,), rows in plots["differences"].group_by("dataset", maintain_order=True):
        titles = ("personal favourites not among everyone's", "share of users")
        spec = series.columns(rows, "differing", "share", titles, zero=True)
        yield f"differences-{dataset}", heading, f"{dataset}", "tables/differences.csv", spec
    for (dataset,), rows in plots["ratings"].group_by("dataset", maintain_order=True):
        titles = ("items by personal popularity, lowest first", "mean rating")
        spec = series.columns(rows, "group", "rating", titles, zero=False)
        yield f"ratings-{dataset}", heading, f"{dataset}", "tables/ratings.csv", spec


def sweeps(swept: pl.DataFrame) -> Iterator[Named]:
    """Figure 7."""
    heading = "One weight at a time, on test"
    accuracy, order = ["recall_at_50", "ndcg_at_50"], ["pru_at_50", "ppru_at_50"]
    names = ("dataset", "base", "method", "varied")
    for (dataset, base, method, varied), rows in swept.group_by(*names, maintain_order=True):
        at = rows.rename({"value": str(varied)})
        for kind, ys, title in (("accuracy", accuracy, "on test"), ("order", order, "agreement")):
            spec = series.lines(at, str(varied), ys, title, None)
            caption = f"{dataset}, {base}, {method}: {varied}"
            name = f"{varied}-{kind}-{dataset}-{base}-{method}"
            yield name, heading, caption, "tables/sweep.csv", spec
