"""The pipeline run for real by DVC, in a copy of the repository, on made-up data."""

from __future__ import annotations

import re
import time

import pytest
from copies import Copy, ran

pytestmark = pytest.mark.slow
STAGES = 7 + 2 + 3 + 3 + 1 + 1  # of the data, train, tune, evaluate, sweep, report


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Copy:
    """A copy in which `dvc repro` has run once and its results are committed."""
    made = Copy(tmp_path_factory.mktemp("copy") / "ppac")
    output = made.dvc("repro")
    assert len(ran(output)) == STAGES
    made.git("add", "-A")
    made.git("commit", "-qm", "results")
    return made


def test_everything_is_there(copy):
    metrics = copy.metrics()
    assert metrics["ndcg_at_50"] > 0
    for name in ("results.md", "results.csv", "significance.csv", "index.html", "summary.json"):
        assert (copy.folder / "report" / name).stat().st_size > 0
    assert sorted(copy.runs()) == [
        ("bprmf/base", "FINISHED"),
        ("bprmf/ppac", "FINISHED"),
        ("rankers/ppgp", "FINISHED"),
        ("report", "FINISHED"),
    ]


def test_again_is_up_to_date(copy):
    output = copy.dvc("repro")
    assert ran(output) == []
    assert "up to date" in output


def test_the_same_bytes_again(copy):
    """Everything run again from nothing gives the lock file it gave."""
    before = (copy.folder / "dvc.lock").read_bytes()
    assert len(ran(copy.dvc("repro", "--force"))) == STAGES
    assert (copy.folder / "dvc.lock").read_bytes() == before


def test_another_gamma_evaluates_and_trains_nothing(copy):
    output = copy.dvc("exp", "run", "-S", "gamma=64")
    stages = ran(output)
    assert sorted(stages) == [
        "evaluate-rankers@synthetic-ppgp",
        "evaluate@synthetic-bprmf-base",
        "evaluate@synthetic-bprmf-ppac",
        "report",
    ]
    assert copy.metrics()["gamma"] == 64
    assert "gamma" in copy.dvc("metrics", "diff")
    assert "64" in copy.dvc("params", "diff")
    assert ("bprmf/ppac gamma=64", "FINISHED") in copy.runs()
    copy.git("checkout", "-q", ".")
    copy.dvc("checkout", "--force", "dvc.yaml")


def test_another_k_starts_at_popularity(copy):
    stages = ran(copy.dvc("repro", "--dry", "--downstream", "popularity@synthetic", "--force"))
    assert "neighbours@synthetic" not in stages
    path = copy.folder / "params.yaml"
    text = path.read_text()
    path.write_text(text.replace("k: 30 ", "k: 20 "))
    first = ran(copy.dvc("repro", "--dry"))[0]
    path.write_text(text)
    assert first == "popularity@synthetic"


def test_two_queued_experiments_at_once_lose_nothing(copy):
    copy.git("checkout", "-q", ".")
    copy.dvc("exp", "run", "--queue", "-S", "gamma=128,256")
    copy.dvc("queue", "start", "-j", "2")
    wait_for_queue(copy)
    status = copy.dvc("queue", "status")
    assert status.count("Success") == 2, status
    names = [name for name, _ in copy.runs()]
    for gamma in ("128", "256"):
        assert f"bprmf/ppac gamma={gamma}" in names, names


def wait_for_queue(copy: Copy, seconds: int = 240) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not re.search(r"Queued|Running", copy.dvc("queue", "status").split("Worker")[0]):
            return
        time.sleep(2)


def test_an_unknown_axis_entry_is_named(copy):
    output = copy.dvc("exp", "run", "-S", "datasets=[nowhere]", check=False)
    assert "'download.nowhere' are missing from 'params.yaml'" in output  # DVC's own words
    copy.git("checkout", "-q", ".")


def test_plots_and_experiments_can_be_shown(copy):
    output = copy.dvc("plots", "show", "--json")
    assert "ndcg_at_50" in output
    assert "report/summary.json" in copy.dvc("exp", "show", "--json")
