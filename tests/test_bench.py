"""The benchmark's own arithmetic; no peer is needed for it."""

from __future__ import annotations

import doctest
import importlib
import json

import numpy as np
import pytest

from bench import agreement, synthetic, table
from bench import work as works
from bench.__main__ import merge, turns
from bench.measure import Cpu, memory_kb, repeat, settle, used_by_others
from bench.targets import Costs, Faster, Under, Within
from bench.works import growth

MODULES = ("targets", "measure", "synthetic", "agreement", "works.growth")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(f"bench.{name}"))
    assert result.attempted and not result.failed


def record(contender: str, case: str, *seconds: float, **more: object) -> dict:
    one = {"peak_mb": 100.0, "extra_mb": 90.0, "others": 0.0, "machine": 2.0}
    return {
        "contender": contender,
        "case": case,
        "first_call": [9.0],
        "scale": 1.0,
        "share": "",
        "result_mb": 10.0,
        "repeats": [{"seconds": s, **one} for s in seconds],
        "differs": {},
        **more,
    }


def results(work: str, *records: dict) -> dict:
    about = {"cpu": "A CPU", "cores": "2", "memory": "8 GiB", "system": "Linux", "python": "3.11"}
    return {work: {"machine": about, "versions": {"scipy": "1.0"}, "records": list(records)}}


def test_a_page_from_results_read_back_from_json():
    toy = results(
        "neighbours",
        record("ours", "gowalla", 0.5, 0.4, 0.9),
        record("similaripy", "gowalla", 1.5, 1.6, 1.1, differs={"similarity": 1e-8}),
        record("ours", "ml-20m-like", 30.0),
        record("scipy", "ml-20m-like", 2.0, scale=100.0, share="500 users, scaled", first_call=[]),
    )
    page = table.render(json.loads(json.dumps(toy)))
    lines = [" ".join(line.replace("|", " ").split()) for line in page.splitlines()]
    assert "ours gowalla 0.50 0.40 - 0.90 9.00 100 0% 1.00" in lines
    assert "similaripy gowalla 1.50 1.10 - 1.60 9.00 100 0% 3.00" in lines
    assert "scipy ml-20m-like ≈ 200 200 - 200 - 100 0% ≈ 6.67" in lines
    assert "- scipy on ml-20m-like: 500 users, scaled." in lines
    assert "- Same similarity as ours, to within 1e-05: similaripy." in lines
    assert "ours at least 2 times as fast as similaripy on gowalla 3.00 times reached" in lines
    assert "ours within 2,048 MB above the input on ml-20m-like 100 of 2,048 MB reached" in lines
    assert "A CPU, 2 cores, 8 GiB; Linux; Python 3.11 (neighbours)" in page


def test_what_is_not_reached_not_equal_or_disturbed_is_said():
    busy = record("ours", "gowalla", 1.0)
    busy["repeats"][0]["others"] = 0.5
    toy = results(
        "neighbours", busy, record("similaripy", "gowalla", 1.9, differs={"similarity": 0.1})
    )
    page = table.render(toy)
    assert "1.90 times | **not reached** |" in page
    assert "**Results differ**: similaripy on gowalla in similarity (0.1)" in page
    assert "**Disturbed** by others using the machine: ours on gowalla." in page
    assert " 25% |" in page


def test_targets_are_judged_at_their_limits():
    records = [record("a", "x", 1.0, 3.0, 2.0), record("b", "x", 6.0), record("b", "y", 1.0)]
    assert [v.reached for v in Faster("a", "b", 3).judge(records)] == [True]
    assert [v.reached for v in Faster("a", "b", 3.1).judge(records)] == [False]
    assert [v.reached for v in Costs("b", "a", 3).judge(records)] == [True]
    assert [v.reached for v in Costs("b", "a", 2.9).judge(records)] == [False]
    assert [v.reached for v in Within("b", 100).judge(records)] == [True, True]
    assert [v.reached for v in Within("b", 89).judge(records)] == [False, False]
    assert [v.reached for v in Within("b", 90, beyond_result=True).judge(records)] == [True, True]
    assert [v.reached for v in Within("b", 1, cases=["y"]).judge(records)] == [False]
    assert [v.reached for v in Under("a", 2.0).judge(records)] == [False]
    assert not Faster("a", "nobody", 1).judge(records)


def test_growth_is_fitted_and_continued():
    cases = {case: growth.data.MADE_UP[case].users for case in growth.CASES}
    records = [record("ranking", case, 2e-5 * users) for case, users in cases.items()]
    records += [record("neighbours", case, 2e-9 * users**2) for case, users in cases.items()]
    quadratic, linear, *_ = lines = growth.closing(records)
    assert "neighbours grows with users^2.00: twice the users take 4.00 times" in quadratic
    assert "ranking grows with users^1.00" in linear
    assert "20.0 seconds for 1 million users" in linear
    assert "33.3 minutes for 100 million users" in linear
    assert "with 1 million users nothing would take more than a day" in lines[-3]
    assert "with 100 million users neighbours would take more than a day" in lines[-3]
    assert "nothing of that size was run" in lines[-1]


def test_every_work_is_whole():
    for name in works.WORKS:
        work = works.find(name)
        assert work.cases
        for contender in work.contenders.values():
            assert contender.against in ("", *work.contenders)
            assert {*(contender.cases or ()), *contender.once} <= {*work.cases}


def test_contenders_take_turns():
    work = works.find("neighbours")
    order = list(turns(work, "gowalla", 2))
    names = list(work.contenders)
    assert order == [(number, name) for number in (0, 1) for name in names]
    assert [name for number, name in turns(work, "ml-20m-like", 2) if number == 1] == ["ours"]


def test_new_results_replace_only_their_own():
    held: dict = {}
    merge(held, "neighbours", [record("ours", "gowalla", 1.0), record("scipy", "gowalla", 2.0)])
    merge(held, "popularity", [record("ours", "gowalla", 5.0)])
    merge(held, "neighbours", [record("ours", "gowalla", 3.0)])
    times = {r["contender"]: r["repeats"][0]["seconds"] for r in held["neighbours"]["records"]}
    assert times == {"ours": 3.0, "scipy": 2.0}
    assert held["popularity"]["records"]
    held["neighbours"]["machine"]["cpu"] = "another"
    merge(held, "neighbours", [record("ours", "gowalla", 4.0)])
    assert len(held["neighbours"]["records"]) == 1


def test_others_are_what_is_busy_and_not_us():
    before, after = Cpu(busy=10.0, total=40.0, own=3.0), Cpu(busy=14.0, total=50.0, own=4.5)
    assert used_by_others(before, after) == (2.5, 10.0)
    assert used_by_others(before, Cpu(busy=11.0, total=50.0, own=4.1)) == (0.0, 10.0)


def test_a_repeat_tells_its_time_and_memory():
    loaded = settle()
    cost, result = repeat(lambda: int(np.ones(2**25 // 8).sum()), loaded)  # 32 MB
    assert result == 2**22
    assert 25 < cost.peak_mb < 300
    assert 0 < cost.seconds < 30
    assert memory_kb("VmRSS") > 0


def test_made_up_data_has_its_size_and_power_laws():
    shape = synthetic.Shape(
        users=3000, items=2000, interactions=150_000, fewest=10, most=900, zipf=1.0, shift=5.0
    )
    made = synthetic.make(shape, np.random.default_rng(1))
    assert (made.n_users, made.n_items, len(made)) == (3000, 2000, 150_000)
    assert made.user_counts.min() == 10
    assert made.user_counts.max() <= 900
    rising = np.diff(made.codes)
    assert (rising > 0).all()  # sorted and distinct
    for counts in (made.user_counts, made.item_counts):
        largest = np.sort(counts)[::-1]
        held = largest[: len(largest) // 10].sum() / largest.sum()
        assert 0.3 < held < 0.9  # a tenth holds far more than a tenth
        # On a power law, twice the rank is a constant factor fewer.
        ranks = np.array([40, 80, 160, 320])
        falls = largest[ranks[1:]] / largest[ranks[:-1]]
        assert falls.max() - falls.min() < 0.15
        assert (falls < 0.8).all()
    same = synthetic.make(shape, np.random.default_rng(1))
    np.testing.assert_array_equal(made.items, same.items)


def test_outcomes_are_compared_where_both_have_them(tmp_path):
    one, other = tmp_path / "one.npz", tmp_path / "other.npz"
    agreement.keep(one, {"scores": np.array([1.0, 2.0]), "recall": np.array(0.5)})
    agreement.keep(other, {"scores": np.array([1.0, 2.5]), "ndcg": np.array(0.1)})
    assert agreement.differences(one, other) == {"scores": 0.5}
    assert agreement.differences(one, tmp_path / "missing.npz") == {}
