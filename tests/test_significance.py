"""Paired tests on tables small enough to check by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ppac.core.errors import Problem
from ppac.core.seeds import rng
from ppac.layout import Cell
from ppac.reporting.results import ReportConfig
from ppac.reporting.significance import (
    changes,
    holm,
    intervals,
    judged,
    measure,
    paired,
    resampled_means,
    significance,
)

BASE = [0.10, 0.20, 0.00, 0.30, 0.25, 0.40, 0.15, 0.05]
BETTER = [0.15, 0.32, 0.09, 0.38, 0.31, 0.44, 0.18, 0.07]
CELL = Cell("toy", "ncf", "ppac")
CONFIG = ReportConfig.check(
    {
        "metrics": ["ndcg_at_50"],
        "summary": ["ndcg_at_50"],
        "compare": ["ndcg_at_50"],
        "against": ["base"],
        "groups": [10],
        "missing": "refuse",
        "finding": {"method": "ppac", "metric": "ndcg_at_50"},
        "level": 0.05,
        "resamples": 500,
    },
    "report",
)


def users(values: list[float | None], first: int = 0) -> pl.DataFrame:
    return pl.DataFrame({"user": range(first, first + len(values)), "ndcg_at_50": values})


def write(cells: dict[Cell, pl.DataFrame]) -> list[Cell]:
    for cell, table in cells.items():
        cell.per_user.parent.mkdir(parents=True, exist_ok=True)
        table.write_parquet(cell.per_user)
    return list(cells)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_one_comparison_equals_scipy() -> None:
    cells = write({Cell("toy", "ncf", "base"): users(BASE), CELL: users(BETTER).reverse()})
    row = significance(cells, CONFIG, seed=1).row(0, named=True)
    assert row["users"] == 8
    assert row["mean_opponent"] == pytest.approx(1.45 / 8)
    assert row["mean_method"] == pytest.approx(1.94 / 8)
    assert row["difference"] == pytest.approx(0.49 / 8)
    assert row["relative"] == pytest.approx(0.49 / 1.45)
    assert row["p_t"] == pytest.approx(stats.ttest_rel(BETTER, BASE).pvalue)
    assert row["p_wilcoxon"] == pytest.approx(2 / 2**8)  # all eight rise: one of 2^8 signs
    assert (row["p_t_holm"], row["p_wilcoxon_holm"]) == (row["p_t"], row["p_wilcoxon"])
    assert 0.02 < row["low"] < row["difference"] < row["high"] < 0.12
    assert row["verdict"] == "better"


def test_worse_is_called_worse() -> None:
    cells = write({Cell("toy", "ncf", "base"): users(BETTER), CELL: users(BASE)})
    assert significance(cells, CONFIG, seed=1)["verdict"].to_list() == ["worse"]


def test_family_is_the_metric_over_the_whole_report() -> None:
    tables = {}
    for base, lift in (("bprmf", 0.05), ("ncf", 0.0), ("lightgcn", 0.02)):
        tables[Cell("toy", base, "base")] = users(BASE)
        bumps = np.linspace(0, 2 * lift, len(BASE))
        tables[Cell("toy", base, "ppac")] = users([b + d for b, d in zip(BASE, bumps, strict=True)])
    tested = significance(write(tables), CONFIG, seed=1)
    assert tested["p_t_holm"].to_list() == pytest.approx(holm(tested["p_t"].to_list()))
    assert tested["p_t_holm"][0] == pytest.approx(3 * tested["p_t"][0])
    assert tested.filter(base="ncf")["verdict"].to_list() == ["no difference"]


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.03, 0.5 times 4, 3, 2, 1: 0.04, 0.06, 0.06, 0.5; never descending.
    assert holm([0.02, 0.5, 0.01, 0.03]) == pytest.approx([0.06, 0.5, 0.04, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_equals_the_definition(p: list[float]) -> None:
    """Slow twin: the corrected p_i is the largest (m - rank_j) p_j among those not above it."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    for place, i in enumerate(order):
        scaled = [(len(p) - rank) * p[j] for rank, j in enumerate(order[: place + 1])]
        assert holm(p)[i] == pytest.approx(min(1.0, max(scaled)))


def test_nothing_changed() -> None:
    cells = write({Cell("toy", "ncf", "base"): users(BASE), CELL: users(BASE)})
    row = significance(cells, CONFIG, seed=1).row(0, named=True)
    assert (row["p_t"], row["p_wilcoxon"], row["low"], row["high"]) == (1.0, 1.0, 0.0, 0.0)
    assert row["verdict"] == "no difference"


def test_one_user_shows_nothing() -> None:
    values = np.array([[0.1, 0.9]])
    row = measure(values)
    assert (row["p_t"], row["p_wilcoxon"]) == (1.0, 1.0)
    assert intervals([changes(values)], CONFIG, seed=1) == [(0.8, 0.8)]


def test_everyone_gains_the_same() -> None:
    row = measure(np.array([[0.1, 0.3]] * 4))
    assert row["p_t"] == 0.0
    assert row["p_wilcoxon"] == pytest.approx(0.125, abs=0.1)  # four users cannot convince it


def test_base_without_a_hit_has_no_relative_change() -> None:
    assert measure(np.array([[0.0, 0.1], [0.0, 0.2]]))["relative"] is None


@pytest.mark.parametrize(
    "other",
    [
        users(BETTER[:-1]),
        users(BETTER, first=1),
        users([None, *BETTER[1:]]),
        users(BETTER).rename({"ndcg_at_50": "ndcg_at_20"}),
    ],
)
def test_other_users_are_a_problem(other: pl.DataFrame) -> None:
    with pytest.raises(Problem, match=r"runs/toy/ncf/ppac/evaluate/per_user\.parquet.*dvc repro"):
        paired(users(BASE), other, "ndcg_at_50", CELL)


def test_users_without_test_items_are_left_out() -> None:
    values = paired(users([None, 0.1]), users([None, 0.2]), "ndcg_at_50", CELL)
    assert values.tolist() == [[0.1, 0.2]]


def test_only_what_has_a_base_is_compared() -> None:
    cells = write({CELL: users(BETTER), Cell("toy", "rankers", "mostpop"): users(BASE)})
    tested = significance(cells, CONFIG, seed=1)
    assert tested.is_empty() and "verdict" in tested.columns


def test_mistyped_metric() -> None:
    cells = write({Cell("toy", "ncf", "base"): users(BASE), CELL: users(BETTER)})
    config = CONFIG.model_copy(update={"compare": ["ndgc_at_50"]})
    with pytest.raises(Problem, match=r"report\.compare' has 'ndgc_at_50'.*'ndcg_at_50'"):
        significance(cells, config, seed=1)


def test_interval_covers_and_repeats() -> None:
    """Close to the normal interval where the normal one is right, and the same every time."""
    values = rng(3, "values").normal(0.5, 1.0, 400)
    config = CONFIG.model_copy(update={"resamples": 2000})
    ((low, high),) = intervals([values], config, seed=3)
    half = 1.96 * values.std() / 20
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.02)
    assert [(low, high)] == intervals([values], config, seed=3)


def test_an_interval_does_not_depend_on_the_others() -> None:
    draws = rng(4, "values")
    many = [draws.normal(size=size) for size in (50, 70, 50, 70, 50)]
    together = intervals(many, CONFIG, seed=1)
    assert together == [intervals([values], CONFIG, seed=1)[0] for values in many]


def test_resampled_means_are_means_of_drawn_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in portions, the last of them smaller; the draws are the generator's."""
    monkeypatch.setattr("ppac.reporting.significance.DRAWS", 100)  # 4 resamples of 23 rows
    table = rng(5, "values").normal(size=(23, 3))
    drawn = rng(5, "boot").integers(0, 23, size=(10, 23))
    got = resampled_means(table, 10, rng(5, "boot"))
    np.testing.assert_allclose(got, table[drawn].mean(axis=1))


def test_adding_a_method_moves_no_interval() -> None:
    pair = {Cell("toy", "ncf", "base"): users(BASE), CELL: users(BETTER)}
    alone = significance(write(pair), CONFIG, seed=1)
    both = significance(write(pair | {Cell("toy", "ncf", "ips"): users(BASE)}), CONFIG, seed=1)
    same = ["users", "difference", "low", "high", "p_t", "p_wilcoxon"]
    assert both.filter(method="ppac").select(same).equals(alone.select(same))


def test_both_tests_must_agree() -> None:
    row = {"dataset": "d", "base": "b", "method": "m", "metric": "ndcg_at_50", "difference": 0.1}
    row |= {"against": "base", "opponent": "base"}
    assert judged([row | {"p_t": 0.01, "p_wilcoxon": 0.2}], CONFIG)["verdict"][0] == "no difference"
    assert judged([row | {"p_t": 0.01, "p_wilcoxon": 0.02}], CONFIG)["verdict"][0] == "better"
    lower = row | {"metric": "arp_at_50", "p_t": 0.01, "p_wilcoxon": 0.02}
    assert judged([lower], CONFIG)["verdict"][0] == "worse"
    neither = row | {"metric": "ppru_at_50", "p_t": 0.01, "p_wilcoxon": 0.02}
    assert judged([neither], CONFIG)["verdict"][0] == "higher"


def test_the_best_other_method_is_the_hardest_opponent_outside_the_family() -> None:
    lifted = [value + 0.02 for value in BETTER]
    cells = write(
        {
            Cell("toy", "ncf", "base"): users(BASE),
            CELL: users(BETTER),
            Cell("toy", "ncf", "ppac-without-ci"): users(lifted),
            Cell("toy", "rankers", "mostppop"): users([value + 0.01 for value in BASE]),
            Cell("toy", "bprmf", "ips"): users(lifted),
        }
    )
    config = CONFIG.model_copy(update={"against": ["base", "best"]})
    tested = significance(cells, config, seed=1)
    rows = {(row["method"], row["against"]): row for row in tested.to_dicts()}
    assert rows["ppac", "base"]["opponent"] == "base"
    assert rows["ppac", "best"]["opponent"] == "mostppop"
    assert rows["ppac", "best"]["mean_opponent"] == pytest.approx(1.45 / 8 + 0.01)
    assert rows["ips", "best"]["opponent"] == "mostppop"  # nothing else on its base model
