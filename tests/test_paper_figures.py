"""What is behind the paper's figures 2, 6 and 7, by hand."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from conftest import popularity_of

from ppac.core.interactions import Interactions
from ppac.description import histogram, own_favourites, rating_by_popularity
from ppac.layout import Cell, Dataset
from ppac.reporting.groups import by_popularity


def two_circles() -> Interactions:
    """Users 0 to 3 share items 0 to 2, users 4 and 5 share items 3 to 5."""
    pairs = [(u, i) for u in range(4) for i in range(3)] + [
        (u, i) for u in (4, 5) for i in (3, 4, 5)
    ]
    users, items = np.array(pairs).T
    return Interactions.of(users, items, 6, 6)


def test_own_favourites_by_hand():
    popular = popularity_of(two_circles(), k=3)
    # The three most popular of all are items 0 to 2: the large circle's own, not the small one's.
    assert own_favourites(popular, 3, np.arange(6)).tolist() == [0, 0, 0, 0, 3, 3]
    assert histogram(np.array([0, 0, 0, 0, 3, 3]), 3)["users"].to_list() == [4, 0, 0, 2]


def test_ties_decide_which_favourites():
    popular = popularity_of(two_circles(), k=3)
    upwards = own_favourites(popular, 1, np.arange(6))
    downwards = own_favourites(popular, 1, np.arange(6)[::-1])
    assert upwards.tolist() == downwards.tolist() == [0, 0, 0, 0, 1, 1]


def test_ratings_by_personal_popularity():
    popular = popularity_of(two_circles(), k=3)
    ratings = pl.DataFrame(
        {"item": pl.Series([0, 1, 2, 3, 4, 5, 5], dtype=pl.Int32), "rating": [5, 5, 4, 1, 2, 3, 2]}
    )
    rows = rating_by_popularity(popular, ratings, groups=2)
    assert rows["rating"].to_list() == [2.0, round(14 / 3, 6)]  # the small circle's items first
    assert rows["items"].to_list() == [3, 3]
    assert rows["ratings"].to_list() == [4, 3]
    assert rating_by_popularity(popular, ratings.drop("rating"), groups=2).is_empty()


def test_groups_of_items_by_hand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place, cell = Dataset("d"), Cell("d", "bprmf", "ppac")
    for folder in (place.popularity, place.split, cell.top.parent):
        folder.mkdir(parents=True)
    dense = pl.DataFrame({"item": pl.Series([0, 1, 2], dtype=pl.Int32)})
    dense.with_columns(count=pl.Series([2, 10, 11])).write_parquet(place.popularity / "gp.parquet")
    dense.with_columns(id=pl.Series(["a", "b", "c"])).write_parquet(place.split / "items.parquet")
    users = pl.DataFrame({"user": pl.Series([0, 1], dtype=pl.Int32), "id": ["x", "y"]})
    users.write_parquet(place.split / "users.parquet")
    test = {"user": [0, 0, 1], "item": [0, 1, 2]}
    pl.DataFrame(test, {"user": pl.Int32, "item": pl.Int32}).write_parquet(
        place.split / "test.parquet"
    )
    top = pl.DataFrame({"user": ["x", "x", "y"], "item": ["a", "c", "a"], "rank": [1, 2, 1]})
    top.write_parquet(cell.top)
    rows = by_popularity([cell], [10])
    assert rows["group"].to_list() == ["0-10", "over 10"]
    assert rows["items"].to_list() == [round(2 / 3, 6), round(1 / 3, 6)]
    assert rows["frequency"].to_list() == [1.0, 1.0]  # a is on two lists, b on none, c on one
    assert rows["recall"].to_list() == [0.5, 0.0]  # x gets a of a and b; y does not get c


@pytest.mark.slow
def test_a_sweep_passes_through_what_evaluate_measured(prepared):
    """At the chosen weights and the trained k it is the cell's own result."""
    cell = ("--dataset", "synthetic", "--base", "bprmf", "--method", "ppac")
    for stage in ("train", "tune", "evaluate", "sweep"):
        prepared.ok(stage, *cell)
    rows = pl.read_csv(prepared.folder / "runs/synthetic/bprmf/ppac/sweep/sweep.csv")
    metrics = json.loads((prepared.folder / "metrics/synthetic/bprmf/ppac.json").read_text())
    here = rows.filter(varied="k", value=30.0).row(0, named=True)
    for name in ("recall_at_50", "ndcg_at_50", "pru_at_50", "ppru_at_50"):
        assert here[name] == metrics[name]
    zeros = rows.filter(pl.col("value") == 0).drop("varied")
    assert zeros[0].equals(zeros[1])  # gamma 0 and beta 0 are one point
    assert set(rows["varied"]) == {"gamma", "beta", "k"}
    grid = pl.read_csv(prepared.folder / "runs/synthetic/bprmf/ppac/sweep/front.csv")
    chosen = grid.filter(gamma=metrics["gamma"], beta=metrics["beta"])
    assert len(chosen) == 1 and len(grid) >= 110
    for name in set(grid.columns) & set(metrics):  # of both tests, and of popularity
        assert chosen[name][0] == metrics[name], name
