"""The pipeline run for real by DVC, in a copy of the repository, on made-up data."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ONE_THREAD, ROOT

pytestmark = pytest.mark.slow

RESULTS = ("metrics/", "report/", "dvc.lock")  # a newcomer's are their own


def files_of_the_project() -> list[str]:
    """What Git has or would add, without results."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    return [n for n in names if not re.sub(r"^pipelines/[^/]+/", "", n).startswith(RESULTS)]


class Copy:
    """The repository as a newcomer would clone it, with everything made small."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in files_of_the_project():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
        path = folder / "params.yaml"
        text = path.read_text()
        for old, new in (
            ("datasets: [ml-100k]", "datasets: [synthetic]"),
            ("bases: [bprmf, ncf, lightgcn]", "bases: [bprmf]"),
            ("rankers: [mostpop, mostppop, ppgp]", "rankers: [ppgp]"),
            ("epochs: 300", "epochs: 10"),
            ONE_THREAD,
        ):
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)
        for command in ("init -q", "add -A", "commit -qm start"):
            self.git(*command.split())

    def git(self, *words: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *identity, *words], cwd=self.folder, check=True)

    def dvc(self, *words: str, check: bool = True) -> str:
        dropped = ("DVC_", "PPAC_", "MLFLOW_")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        environment["PYTHONPATH"] = str(self.folder)
        environment["GIT_AUTHOR_NAME"] = environment["GIT_COMMITTER_NAME"] = "t"
        environment["GIT_AUTHOR_EMAIL"] = environment["GIT_COMMITTER_EMAIL"] = "t@example.org"
        done = subprocess.run(
            [sys.executable, "-m", "dvc", *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or not check, done.stdout + done.stderr
        return done.stdout + done.stderr

    def metrics(self) -> dict[str, float]:
        return json.loads((self.folder / "metrics/synthetic/bprmf/ppac.json").read_text())

    def runs(self) -> list[tuple[str, str]]:
        """(name, status) of what MLflow shows."""
        with sqlite3.connect(self.folder / "mlflow.db") as database:
            query = "select name, status from runs where lifecycle_stage = 'active'"
            return database.execute(query).fetchall()


def ran(output: str) -> list[str]:
    """The stages that ran, without the pipeline's name."""
    return [name.split(":")[-1] for name in re.findall(r"Running stage '([^']+)'", output)]


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Copy:
    """A copy in which `dvc repro` has run once and its results are committed."""
    made = Copy(tmp_path_factory.mktemp("copy") / "ppac")
    output = made.dvc("repro")
    assert len(ran(output)) == 5 + 2 + 3 + 3 + 1
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
    ]


def test_again_is_up_to_date(copy):
    output = copy.dvc("repro")
    assert ran(output) == []
    assert "up to date" in output


def test_the_same_bytes_again(copy):
    """Everything run again from nothing gives the lock file it gave."""
    before = (copy.folder / "dvc.lock").read_bytes()
    assert len(ran(copy.dvc("repro", "--force"))) == 14
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


def test_the_smoke_pipeline(copy):
    output = copy.dvc("repro", "pipelines/smoke/dvc.yaml")
    assert ran(output)[-1] == "report"
    assert (copy.folder / "pipelines/smoke/report/index.html").exists()
    assert not ran(copy.dvc("repro", "pipelines/smoke/dvc.yaml"))


def test_plots_and_experiments_can_be_shown(copy):
    output = copy.dvc("plots", "show", "--json")
    assert "ndcg_at_50" in output
    assert "report/summary.json" in copy.dvc("exp", "show", "--json")


TOY = '''"""The base model with all its scores turned round."""

from ppac.core.config import Section
from ppac.scoring.method import Method, bpr


class Config(Section):
    pass


class Net(Method):
    def __init__(self, model, shared, l2, config):
        super().__init__(model, l2)

    def loss(self, batch):
        rep, ego = self.rows(batch)
        positive, negative = self.model.pair(rep.users, rep.items)
        return bpr(negative, positive) + self.regulariser(ego)

    def combine(self, parts, pp, gp, weights):
        return -parts
'''


def test_a_method_is_one_file_and_one_entry(copy):
    """Added to the comparison, it is searched, trained, tuned, evaluated and reported there."""
    (copy.folder / "ppac/methods/toy.py").write_text(TOY)
    with (copy.folder / "params.yaml").open("a") as params:
        params.write("\ntoy: {}\n")
    folder = copy.folder / "pipelines/comparison"
    (folder / "params.yaml").write_text(
        "datasets: [synthetic]\nbases: [bprmf]\nmethods: [base, ppac, toy]\n"
        "variants: [ppac-pred]\nrankers: [userknn]\nsweeps: []\nprotocol: balanced\n"
        "search: {trials: 2, epochs: 5}\ncompute: {threads: 1}\n"
    )
    output = copy.dvc("repro", "pipelines/comparison/dvc.yaml")
    assert {f"{stage}@synthetic-bprmf-toy" for stage in ("train", "tune", "evaluate")} <= {
        *ran(output)
    }
    assert not [name for name in ran(output) if name.startswith("train@") and "pred" in name]
    results = (folder / "report/results.csv").read_text().splitlines()
    assert [line.split(",")[2] for line in results[1:]] == [
        "base", "ppac", "toy", "ppac-pred", "userknn"
    ]  # fmt: skip
    significance = (folder / "report/significance.csv").read_text()
    assert "synthetic,bprmf,toy,ndcg_at_50,best," in significance
    assert 'synthetic,bprmf,toy,true,"train.lr=' in (folder / "report/search.csv").read_text()
    copy.git("checkout", "-q", ".")
