"""Tune and evaluate as stages, on the synthetic dataset."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from ppac.core.errors import Problem
from ppac.evaluation import Forced
from ppac.tuning import TuneConfig

PPGP = ("--dataset", "synthetic", "--base", "rankers", "--method", "ppgp")
POP = ("--dataset", "synthetic", "--base", "rankers", "--method", "mostpop")


def read(project, path):
    return json.loads((project.folder / path).read_text())


def test_rankers_go_the_whole_way(prepared):
    prepared.ok("tune", *PPGP)
    prepared.ok("evaluate", *PPGP)
    tuned = read(prepared, "runs/synthetic/rankers/ppgp/tune/tuned.json")
    metrics = read(prepared, "metrics/synthetic/rankers/ppgp.json")
    assert metrics["gamma"] == tuned["weights"]["gamma"]
    surface = pl.read_csv(prepared.folder / "runs/synthetic/rankers/ppgp/tune/surface.csv")
    assert len(surface) == tuned["points"] == 12 * 14
    assert tuned["valid"]["ndcg_at_50"] == surface["ndcg_at_50"].max()
    assert tuned["valid"]["ndcg_at_50"] >= tuned["neutral"]["ndcg_at_50"]
    for name in ("recall_at_20", "ndcg_at_100", "precision_at_50", "hit_rate_at_50", "arp_at_50",
                 "tail_share_at_50", "head_share_at_50", "gini_at_50", "coverage_at_50",
                 "pru_at_50", "ppru_at_50", "random_ndcg_at_50"):  # fmt: skip
        assert np.isfinite(metrics[name]), name


def test_lists_carry_the_sources_ids_and_nothing_seen_before(prepared):
    prepared.ok("tune", *POP)
    prepared.ok("evaluate", *POP)
    top = prepared.table("runs/synthetic/rankers/mostpop/evaluate/top.parquet")
    assert top.columns == ["user", "rank", "item", "score", "pp", "gp"]
    users = prepared.table("data/split/synthetic/users.parquet")
    items = prepared.table("data/split/synthetic/items.parquet")
    assert set(top["user"]) == set(users["id"])
    for part in ("train", "valid"):
        seen = (
            prepared.table(f"data/split/synthetic/{part}.parquet")
            .join(users, on="user")
            .join(items, on="item", suffix="_item")
            .select(user="id", item="id_item")
        )
        assert top.join(seen, on=["user", "item"], how="semi").is_empty()
    assert top.group_by("user").len()["len"].unique().to_list() == [50]


def test_per_user_means_are_the_metrics(prepared):
    prepared.ok("tune", *POP)
    prepared.ok("evaluate", *POP)
    per_user = prepared.table("runs/synthetic/rankers/mostpop/evaluate/per_user.parquet")
    metrics = read(prepared, "metrics/synthetic/rankers/mostpop.json")
    for column in per_user.columns[1:]:
        assert per_user[column].mean() == pytest.approx(metrics[column], abs=1e-6)


def test_a_number_forces_gamma(prepared):
    prepared.ok("tune", *PPGP)
    prepared.set("gamma: tuned", "gamma: 256")
    prepared.ok("evaluate", *PPGP)
    assert read(prepared, "metrics/synthetic/rankers/ppgp.json")["gamma"] == 256


@pytest.mark.parametrize("value", ["lots", "true", "[1, 2]", ".nan", "null"])
def test_gamma_is_a_number_or_tuned(prepared, value):
    prepared.ok("tune", *PPGP)
    prepared.set("gamma: tuned", f"gamma: {value}")
    assert "'gamma' is" in prepared.fails("evaluate", *PPGP)
    assert not (prepared.folder / "metrics/synthetic/rankers/ppgp.json").exists()


def test_forced_touches_only_the_weights_a_method_has():
    forced = Forced.of({"gamma": 64, "beta": "tuned"})
    assert forced.over({"gamma": 1.0, "beta": -2.0}) == {"gamma": 64, "beta": -2.0}
    assert forced.over({"c": 40.0}) == {"c": 40.0}


def test_a_grid_must_contain_the_neutral_value():
    config = TuneConfig.check({"metric": "ndcg_at_50", "gamma": [1, 2]}, "tune")
    with pytest.raises(Problem, match=r"'tune\.gamma' must contain 0"):
        config.grid({"gamma": 0.0})
    with pytest.raises(Problem, match=r"'tune\.beta' is missing"):
        config.grid({"beta": 0.0})
    assert config.grid({}) == [{}]
    assert config.grid({"gamma": 1.0}) == [{"gamma": 1.0}, {"gamma": 2.0}]


def test_an_unknown_ranker(prepared):
    message = prepared.fails(
        "tune", "--dataset", "synthetic", "--base", "rankers", "--method", "mostpp"
    )
    assert "unknown ranker 'mostpp': did you mean" in message


def test_planted_groups_make_personal_popularity_win(prepared):
    """The synthetic truth: interest groups. Popular-with-people-like-you beats popular."""
    for name in ("mostpop", "mostppop"):
        cell = ("--dataset", "synthetic", "--base", "rankers", "--method", name)
        prepared.ok("tune", *cell)
        prepared.ok("evaluate", *cell)
    ours, theirs = (
        read(prepared, f"metrics/synthetic/rankers/{name}.json")["ndcg_at_50"]
        for name in ("mostppop", "mostpop")
    )
    assert ours > 1.3 * theirs
