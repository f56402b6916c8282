"""Recommendations for users who were there at training."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from ppac.core.errors import Problem
from ppac.core.files import read_json, read_table
from ppac.core.interactions import Interactions, read_part
from ppac.core.popularity import read_popularity
from ppac.evaluation import rank
from ppac.layout import Cell, Dataset
from ppac.recommending.lists import Near, RecommendConfig, by_row, with_reasons
from ppac.scoring.compute import ComputeConfig
from ppac.scoring.method import Shared
from ppac.scoring.ranking import Ranking, TieOrder
from ppac.scoring.trained import load_scorer

SHOWN = 3  # unknown ids worth naming


def for_known(
    cell: Cell,
    wanted: pl.Series | None,
    config: RecommendConfig,
    compute: ComputeConfig,
    device: torch.device,
    seed: int,
    params: Mapping[str, Any],
) -> pl.DataFrame:
    """The cell's best items for the ``wanted`` users, or for all: nothing they ever had."""
    weights = weights_of(cell)
    place = Dataset(cell.dataset)
    ids = read_table(place.split / "users.parquet")["id"]
    users = np.arange(len(ids)) if wanted is None else numbers(wanted, ids)
    train = read_part(place.split, "train")
    shared = Shared(train, read_popularity(place.popularity), place.neighbours)
    near = Near.of(read_table(place.neighbours), shared.popularity.k, train.n_users)
    ties = TieOrder.seeded(train.n_users, train.n_items, seed, cell.dataset)
    ranking = Ranking(seen(place), shared.popularity, ties, device, compute.memory_mb)
    scorer = load_scorer(cell, shared, device, params)
    items, scores = rank(scorer, weights, ranking, users, config.top)
    table = with_reasons(
        users, items, scores, shared.popularity, near, train, config.reasons
    ).with_columns(by=pl.lit(f"{cell.base}/{cell.method}"))
    return with_own_ids(table, place, ids)


def weights_of(cell: Cell) -> dict[str, float]:
    """The inference weights that the cell was evaluated with."""
    place = Dataset(cell.dataset)
    learner = cell.learner
    needed = [cell.metrics, cell.tuned, place.raw / "interactions.parquet", place.neighbours]
    needed += [place.split / "manifest.json", place.popularity / "manifest.json"]
    needed += [learner.model] if learner else []
    for path in needed:
        if not path.exists():
            raise Problem(f"{path} does not exist: {how_to_run(cell)}")
    evaluated = read_json(cell.metrics)
    return {name: evaluated[name] for name in read_json(cell.tuned)["weights"]}


def how_to_run(cell: Cell) -> str:
    """What brings a cell about, and which ones are there."""
    axis = {"base": f"-S 'bases=[{cell.base}]' -S 'methods=[{cell.method}]'"}
    axis["rankers"] = f"-S 'rankers=[{cell.method}]'"
    options = axis.get(cell.base, axis["base"])
    files = sorted(Path("metrics").glob("*/*/*.json"))
    there = [Cell(path.parts[1], path.parts[2], path.stem) for path in files]
    names = ", ".join(str(other) for other in there if other.tuned.exists()) or "none"
    return (
        f"{cell} was not run here. Run it with dvc exp run -S 'datasets=[{cell.dataset}]' "
        f"{options}, or fetch it with `dvc pull`. Here now: {names}."
    )


def seen(place: Dataset) -> Interactions:
    """All a user ever had, liked or not, held out or not: none of it is news."""
    users = read_table(place.split / "users.parquet")
    items = read_table(place.split / "items.parquet")
    raw = read_table(place.raw / "interactions.parquet").select("user", "item").unique()
    raw = raw.join(users.rename({"user": "u"}), left_on="user", right_on="id")
    raw = raw.join(items.rename({"item": "i"}), left_on="item", right_on="id")
    return Interactions.of(raw["u"].to_numpy(), raw["i"].to_numpy(), len(users), len(items))


def numbers(wanted: pl.Series, ids: pl.Series) -> np.ndarray:
    """The dense numbers of users asked for by their own ids.

    >>> numbers(pl.Series(["20"]), pl.Series([10, 20])).tolist()
    [1]
    """
    asked = pl.DataFrame({"id": wanted.cast(ids.dtype, strict=False), "asked": wanted}).unique(
        "id", maintain_order=True
    )
    known = pl.DataFrame({"id": ids}).with_row_index("number")
    found = asked.join(known, on="id", how="left", maintain_order="left")
    unknown = found.filter(pl.col("number").is_null())["asked"].to_list()
    if unknown:
        names = ", ".join(f"'{name}'" for name in unknown[:SHOWN])
        more = ", ..." if len(unknown) > SHOWN else ""
        raise Problem(
            f"{len(unknown)} of {len(asked)} users are not among those of the training: {names}"
            f"{more}. Give their items with --new to recommend by similar users alone."
        )
    return found["number"].to_numpy().astype(np.int64)


def with_own_ids(table: pl.DataFrame, place: Dataset, users: pl.Series) -> pl.DataFrame:
    """The source's ids in place of dense numbers; ``users`` are those that have the lists."""
    items = read_table(place.split / "items.parquet")["id"]
    others = read_table(place.split / "users.parquet")["id"]
    lengths = table["neighbours"].list.len().to_numpy()
    reasons = others.gather(table["neighbours"].explode().drop_nulls().cast(pl.Int32))
    return table.with_columns(
        users.gather(table["user"]).alias("user"),
        items.gather(table["item"]).alias("item"),
        by_row(np.repeat(np.arange(len(table)), lengths), reasons, len(table)),
    )
