"""Searching training settings: equal budgets, and the chosen training is the plain one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from safetensors import safe_open

from ppac.core.errors import Problem
from ppac.core.seeds import rng
from ppac.training.search import SearchConfig, Trial, grid_of, search, table

CELL = ("--dataset", "synthetic", "--base", "bprmf", "--method", "ips")
OUT = "runs/synthetic/bprmf/ips/train"
SETTINGS = {"train": {"lr": 0.01, "l2": 0.0}, "bprmf": {"dim": 64}, "ips": {"exponent": 1.0}}
GRID = {"train": {"lr": [0.01, 0.1]}, "bprmf": {}, "ips": {"exponent": [0.0, 1.0]}}


def config(**changes) -> SearchConfig:
    return SearchConfig(**{"trials": 3, "epochs": 5, "weights": {}} | changes)


def test_candidates_are_the_configured_settings_and_others_of_the_grid():
    found = config().candidates(SETTINGS, GRID, "ips", rng(0, "x"))
    assert found[0] == SETTINGS
    assert found[1] == SETTINGS | {"ips": {"exponent": 0.0}}  # its neutral value comes next
    assert len(found) == 3
    points = {(c["train"]["lr"], c["ips"]["exponent"]) for c in found}
    assert len(points) == 3 and points <= {(a, b) for a in (0.01, 0.1) for b in (0.0, 1.0)}


@pytest.mark.parametrize(("trials", "expected"), [(1, 1), (4, 4), (99, 4)])
def test_a_budget_is_a_number_of_trials(trials, expected):
    assert len(config(trials=trials).candidates(SETTINGS, GRID, "ips", rng(0, "x"))) == expected


def test_sections_say_what_to_try_and_exceptions_may_say_otherwise():
    other = {"dataset": "d", "search": {"exponent": [0.0, 2.0]}, "why": "small"}
    params = {
        "train": {"lr": 0.01, "search": {"lr": [0.01, 0.1]}},
        "bprmf": {"dim": 64},
        "ips": {"exponent": 1.0, "search": {"exponent": [0.0, 1.0]}, "exceptions": [other]},
    }
    assert grid_of(params, SETTINGS, {"dataset": "e"}) == GRID
    assert grid_of(params, SETTINGS, {"dataset": "d"})["ips"] == {"exponent": [0.0, 2.0]}


@pytest.mark.parametrize(
    ("tried", "message"),
    [
        (
            {"exponant": [1]},
            r"'ips.search' has 'exponant', no key of 'ips'",
        ),
        ({"exponent": 1}, r"'ips.search': 'exponent' must be a list of values, not 1"),
    ],
)
def test_a_mistake_in_what_to_try_is_named(tried, message):
    params = {"train": {}, "bprmf": {}, "ips": {"search": tried}}
    with pytest.raises(Problem, match=message):
        grid_of(params, SETTINGS, {})


def test_the_best_trial_comes_first_and_the_configured_one_among_equals():
    candidates = config(trials=4).candidates(SETTINGS, GRID, "ips", rng(0, "x"))
    scores = iter([0.2, 0.3, 0.3, 0.1])
    found = search(candidates, lambda some: Trial(some, 5, {"c": 1.0}, next(scores)))
    assert [trial.settings for trial in found[:2]] == candidates[1:3]
    rows = table(found, GRID)
    assert rows["ndcg_at_50"].to_list() == [0.3, 0.3, 0.2, 0.1]
    assert {"train.lr", "ips.exponent", "epochs", "c"} <= set(rows.columns)
    assert search(candidates[:1], lambda some: 1 / 0) == []


def test_the_chosen_training_ends_as_if_it_had_been_configured(prepared):
    """Its trial is its beginning, not a training of its own."""
    prepared.set("  trials: 1 ", "  trials: 3 ")
    prepared.set("  epochs: 20 ", "  epochs: 5 ")
    prepared.ok("train", *CELL)
    rows = pl.read_csv(prepared.folder / OUT / "search.csv")
    assert len(rows) == 3
    assert (np.diff(rows["ndcg_at_50"]) <= 0).all()
    searched = (prepared.folder / OUT / "model.safetensors").read_bytes()
    assert not list((prepared.folder / ".checkpoints").iterdir())

    best = rows.row(0, named=True)
    curve = pl.read_csv(prepared.folder / OUT / "curve.csv")
    assert best["ndcg_at_50"] == curve.filter(epoch=5)["ndcg_at_50"].item()  # no weights to choose
    prepared.set("  trials: 3 ", "  trials: 1 ")
    prepared.set("ips:\n  exponent: 0.5 ", f"ips:\n  exponent: {best['ips.exponent']} ")
    prepared.set("  lr: 0.01\n", f"  lr: {best['train.lr']}\n")
    prepared.set("  l2: 1.0e-4\n", f"  l2: {best['train.l2']}\n")
    prepared.ok("train", *CELL)
    with safe_open(prepared.folder / OUT / "model.safetensors", framework="np") as file:
        assert str(best["ips.exponent"]) in file.metadata()["ppac"]
    assert (prepared.folder / OUT / "model.safetensors").read_bytes() == searched
    assert not (prepared.folder / OUT / "search.csv").exists()


def test_a_trial_must_end_with_a_validation(prepared):
    prepared.set("  trials: 1 ", "  trials: 2 ")
    prepared.set("  epochs: 20 ", "  epochs: 7 ")
    assert "multiple of 'train.validate_every' (5)" in prepared.fails("train", *CELL)
