"""MLflow mirrors the artefacts: one run per configuration, however often and by whom."""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ppac.layout import RANKERS, Cell
from ppac.tracking import track as tracking
from ppac.tracking.beside import beside
from ppac.tracking.track import Record, live, record

CELL = Cell("ml-100k", "bprmf", "ppac")
CURVE: list[dict[str, Any]] = [
    {"epoch": 1, "loss": 0.69, "recall_at_50": None, "ndcg_at_50": None},
    {"epoch": 2, "loss": 0.51, "recall_at_50": 0.21, "ndcg_at_50": 0.11},
    {"epoch": 3, "loss": 0.40, "recall_at_50": None, "ndcg_at_50": None},
    {"epoch": 4, "loss": 0.33, "recall_at_50": 0.25, "ndcg_at_50": 0.13},
]
LOSSES = [(1, 0.69), (2, 0.51), (3, 0.40), (4, 0.33)]
RECORD = Record(
    cell=CELL,
    training="t1",
    evaluation="e1",
    params={"train": {"lr": 0.01, "batch": 8092}, "ppac": {"alpha": 0.1}, "gamma": 64},
    metrics={"recall_at_50": 0.24, "ndcg_at_50": 0.12},
    curve=CURVE,
)
TRAINED = {"train": {"lr": 0.01, "batch": 8092}, "ppac": {"alpha": 0.1}}
ENVIRONMENT = ("DVC_STAGE", "DVC_EXP_NAME", "DVC_EXP_BASELINE_REV", "MLFLOW_TRACKING_URI")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty database: migrating takes seconds, copying none."""
    from mlflow import MlflowClient

    path = tmp_path_factory.mktemp("template") / "mlflow.db"
    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def root(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with an empty store, and trainings shown from their first epoch on."""
    shutil.copy(template, tmp_path)
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    monkeypatch.setattr(tracking, "LIVE_AFTER", 0.0)
    monkeypatch.setattr(tracking, "FLUSH_SECONDS", 0.0)
    yield tmp_path


def client(root: Path) -> Any:
    from mlflow import MlflowClient

    return MlflowClient(f"sqlite:///{root / 'mlflow.db'}")


def runs(root: Path, dataset: str = "ml-100k", **options: Any) -> list[Any]:
    experiment = client(root).get_experiment_by_name(f"ppac/{dataset}")
    return (
        list(client(root).search_runs([experiment.experiment_id], **options)) if experiment else []
    )


def history(root: Path, run: Any, name: str) -> list[tuple[int, float]]:
    found = client(root).get_metric_history(run.info.run_id, name)
    return sorted((metric.step, metric.value) for metric in found)


def spawn(root: Path, code: str) -> subprocess.Popen[str]:
    """A real second process, as DVC starts its stages."""
    prelude = "from tests.test_tracking import *; tracking.LIVE_AFTER = tracking.FLUSH_SECONDS = 0"
    project = Path(__file__).parent.parent
    environment = os.environ | {"DVC_ROOT": str(root), "PYTHONPATH": str(project)}
    return subprocess.Popen(
        [sys.executable, "-c", f"{prelude}\n{code}"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_record_shows_the_whole_configuration(root: Path) -> None:
    record(RECORD)
    (run,) = runs(root)
    assert run.info.run_name == "bprmf/ppac"
    assert run.info.status == "FINISHED"
    assert run.data.params == {
        "train.lr": "0.01",
        "train.batch": "8092",
        "ppac.alpha": "0.1",
        "gamma": "64",
    }
    assert run.data.metrics["ndcg_at_50"] == 0.12
    assert run.data.metrics["recall_at_50"] == 0.24
    assert history(root, run, "train/loss") == LOSSES
    assert history(root, run, "valid/ndcg_at_50") == [(2, 0.11), (4, 0.13)]
    wanted = {"dataset": "ml-100k", "base": "bprmf", "method": "ppac"}
    wanted |= {"ppac.training": "t1", "ppac.evaluation": "e1"}
    assert wanted.items() <= run.data.tags.items()
    assert "metrics/ml-100k/bprmf/ppac.json" in run.data.tags["mlflow.note.content"]


def test_record_twice_is_one_run_with_the_same_values(root: Path) -> None:
    record(RECORD)
    (first,) = runs(root)
    record(RECORD)
    (second,) = runs(root)
    assert second.to_dictionary() == first.to_dictionary()
    assert history(root, second, "train/loss") == LOSSES
    assert history(root, second, "ndcg_at_50") == [(0, 0.12)]


def test_one_run_per_configuration(root: Path) -> None:
    record(RECORD)
    record(replace(RECORD, evaluation="e2", forced={"gamma": 256}))
    record(replace(RECORD, cell=Cell("ml-100k", "ncf", "base"), training="t2", evaluation="e3"))
    names = sorted(run.info.run_name for run in runs(root))
    assert names == ["bprmf/ppac", "bprmf/ppac gamma=256", "ncf/base"]
    for run in runs(root):  # the training was not repeated, its curve is
        assert history(root, run, "train/loss") == LOSSES


def test_rankers_have_no_training(root: Path) -> None:
    ranker = replace(RECORD, cell=Cell("ml-100k", RANKERS, "mostpop"), training="", curve=())
    record(ranker)
    record(ranker)
    record(replace(ranker, cell=Cell("ml-100k", RANKERS, "ppgp"), evaluation="e2"))
    names = sorted(run.info.run_name for run in runs(root))
    assert names == ["rankers/mostpop", "rankers/ppgp"]


def test_a_run_that_contradicts_the_files_is_replaced(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_EXP_NAME", "warm-fox")
    record(RECORD)
    monkeypatch.setenv("DVC_EXP_NAME", "tidy-mole")
    record(replace(RECORD, metrics={"ndcg_at_50": 0.5}, curve=CURVE[:2]))
    (run,) = runs(root)
    assert run.data.metrics["ndcg_at_50"] == 0.5
    assert "recall_at_50" not in run.data.metrics
    assert history(root, run, "train/loss") == LOSSES[:2]
    assert run.data.tags["dvc.exp"] == "warm-fox,tidy-mole"
    record(replace(RECORD, metrics={"ndcg_at_50": 0.5}, curve=CURVE[:2], params={"gamma": 1}))
    (run,) = runs(root)
    assert run.data.params == {"gamma": "1"}


def test_a_training_is_seen_running_and_completed_by_its_evaluation(root: Path) -> None:
    with live(CELL, "t1", TRAINED) as shown:
        for row in CURVE:
            shown.epoch(row)
        (running,) = runs(root)
        assert running.info.status == "RUNNING"
        assert history(root, running, "train/loss") == LOSSES
    (trained,) = runs(root)
    assert trained.info.status == "FINISHED"
    assert "ppac.evaluation" not in trained.data.tags

    record(replace(RECORD, forced={"beta": -2}))
    (run,) = runs(root)
    assert run.info.run_id == running.info.run_id
    assert run.info.run_name == "bprmf/ppac beta=-2"
    assert run.info.start_time == running.info.start_time <= run.info.end_time
    assert history(root, run, "train/loss") == LOSSES
    assert run.data.metrics["ndcg_at_50"] == 0.12
    assert run.data.params["gamma"] == "64"


def test_training_again_what_was_evaluated_leaves_one_run(root: Path) -> None:
    for _ in range(2):
        with live(CELL, "t1", TRAINED) as shown:
            shown.epoch(CURVE[0])
        record(RECORD)
    (run,) = runs(root)
    assert history(root, run, "train/loss") == LOSSES


def test_fast_epochs_are_sent_in_batches(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking, "FLUSH_SECONDS", 60.0)
    with live(CELL, "t1", {}) as shown:
        for epoch in range(1, 1201):
            shown.epoch({"epoch": epoch, "loss": 1 / epoch})
        (run,) = runs(root)
        assert history(root, run, "train/loss") == [(1, 1.0)]
    assert len(history(root, run, "train/loss")) == 1200


def test_a_short_training_waits_for_its_evaluation(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "LIVE_AFTER", 60.0)
    with live(CELL, "t1", TRAINED) as shown:
        for row in CURVE:
            shown.epoch(row)
    assert runs(root) == []
    record(RECORD)
    (run,) = runs(root)
    assert history(root, run, "train/loss") == LOSSES


@pytest.mark.parametrize("after", [0.0, 60.0])
def test_a_crash_is_marked_and_raised(
    root: Path, monkeypatch: pytest.MonkeyPatch, after: float
) -> None:
    monkeypatch.setattr(tracking, "LIVE_AFTER", after)
    with pytest.raises(ZeroDivisionError), live(CELL, "t1", TRAINED) as shown:
        shown.epoch(CURVE[0])
        _ = 1 / 0
    (run,) = runs(root)
    assert run.info.status == "FAILED"
    assert run.data.tags["ppac.failure"] == "ZeroDivisionError: division by zero"
    assert history(root, run, "train/loss") == LOSSES[:1]


def test_an_interrupt_is_marked_and_raised(root: Path) -> None:
    with pytest.raises(KeyboardInterrupt), live(CELL, "t1", TRAINED):
        raise KeyboardInterrupt
    (run,) = runs(root)
    assert run.info.status == "KILLED"


def test_a_rerun_after_a_crash_continues_the_same_run(root: Path) -> None:
    with pytest.raises(ValueError), live(CELL, "t1", TRAINED) as shown:
        shown.epoch(CURVE[0])
        raise ValueError
    with live(CELL, "t1", TRAINED) as shown:
        shown.epoch(CURVE[0])
        assert runs(root)[0].info.status == "RUNNING"
        shown.epoch(CURVE[1])
    (run,) = runs(root)
    assert run.info.status == "FINISHED"
    assert "ppac.failure" not in run.data.tags
    assert history(root, run, "train/loss") == LOSSES[:2]


def test_a_rerun_with_another_curve_is_another_run_until_evaluated(root: Path) -> None:
    with pytest.raises(ValueError), live(CELL, "t1", TRAINED) as shown:
        shown.epoch({"epoch": 1, "loss": 7.0})
        raise ValueError
    with live(CELL, "t1", TRAINED) as shown:
        shown.epoch(CURVE[0])
    assert len(runs(root)) == 2
    record(RECORD)
    (run,) = runs(root)
    assert history(root, run, "train/loss") == LOSSES


def test_resume_after_kill_nine(root: Path) -> None:
    code = """
with live(CELL, "t1", TRAINED) as shown:
    shown.epoch(CURVE[0]); shown.epoch(CURVE[1])
    print("two", flush=True); time.sleep(60)
"""
    process = spawn(root, code)
    assert process.stdout and process.stdout.readline() == "two\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (stale,) = runs(root)
    assert stale.info.status == "RUNNING"
    with live(CELL, "t1", TRAINED) as shown:
        for row in CURVE:  # a resumed training tells its curve from the start
            shown.epoch(row)
    record(RECORD)
    (run,) = runs(root)
    assert run.info.run_id == stale.info.run_id
    assert run.info.status == "FINISHED"
    assert history(root, run, "train/loss") == LOSSES


def test_one_training_in_two_experiments_at_once(root: Path) -> None:
    with live(CELL, "t1", TRAINED) as one, live(CELL, "t1", TRAINED) as other:
        one.epoch(CURVE[0])
        other.epoch(CURVE[0])
        assert len(runs(root)) == 1
        record(RECORD)  # the first is evaluated while the second still trains
        other.epoch(CURVE[1])
        (run,) = runs(root)
        assert run.info.status == "FINISHED"
    record(replace(RECORD, evaluation="e2", forced={"gamma": 256}))
    for run in runs(root):
        assert history(root, run, "train/loss") == LOSSES
    assert len(runs(root)) == 2


def test_a_failure_is_shown_even_if_the_same_training_succeeded_elsewhere(root: Path) -> None:
    with pytest.raises(ValueError), live(CELL, "t1", TRAINED) as shown:
        shown.epoch(CURVE[0])
        record(RECORD)
        raise ValueError
    assert sorted(run.info.status for run in runs(root)) == ["FAILED", "FINISHED"]


def test_two_processes_create_the_store_and_lose_nothing(tmp_path: Path) -> None:
    code = """
for number in range(5):
    digest = f"{os.getpid()}-{number}"
    record(replace(RECORD, training=f"t{digest}", evaluation=f"e{digest}"))
"""
    processes = [spawn(tmp_path, code) for _ in range(2)]
    for process in processes:
        out, errors = process.communicate(timeout=60)
        assert (process.returncode, out, errors) == (0, "", "")
    found = runs(tmp_path)
    assert len({run.data.tags["ppac.evaluation"] for run in found}) == len(found) == 10
    for run in found:
        assert run.data.metrics["ndcg_at_50"] == 0.12
        assert history(tmp_path, run, "train/loss") == LOSSES


def size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # SQLite's journal, gone when a step of the migration is done
        return 0


def test_a_store_is_complete_or_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    process = spawn(tmp_path, "record(RECORD)")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not any(
        size(path) for path in tmp_path.iterdir() if path.suffix != ".lock"
    ):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)  # amid the first migration
    process.communicate()
    assert any(path.name.startswith(".mlflow.db.") for path in tmp_path.iterdir())
    monkeypatch.setenv("DVC_ROOT", str(tmp_path))
    record(RECORD)
    assert capfd.readouterr() == ("", "")
    assert len(runs(tmp_path)) == 1


def test_stage_and_experiments_are_tags(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_EXP_BASELINE_REV", "c0ffee")
    monkeypatch.setenv("DVC_STAGE", "train@ml-100k-bprmf-ppac")
    monkeypatch.setenv("DVC_EXP_NAME", "warm-fox")
    with live(CELL, "t1", TRAINED) as shown:
        shown.epoch(CURVE[0])
    monkeypatch.setenv("DVC_STAGE", "evaluate@ml-100k-bprmf-ppac")
    for name in ("warm-fox", "tidy-mole", "warm-fox"):
        monkeypatch.setenv("DVC_EXP_NAME", name)
        record(RECORD)
    monkeypatch.delenv("DVC_STAGE")
    monkeypatch.delenv("DVC_EXP_NAME")
    record(RECORD)  # a replay outside DVC forgets nothing
    (run,) = runs(root)
    assert run.data.tags["dvc.exp"] == "warm-fox,tidy-mole"
    assert run.data.tags["dvc.stage"] == "evaluate@ml-100k-bprmf-ppac"
    assert run.data.tags["mlflow.source.git.commit"] == "c0ffee"


@pytest.mark.parametrize(
    ("named", "shown"),
    [
        ("report", "pipelines/x/dvc.yaml:report"),
        ("bprmf/report/dvc.yaml:report@d", "pipelines/x/bprmf/report/dvc.yaml:report@d"),
    ],
)
def test_a_folder_of_pipelines_writes_to_the_one_store(
    root: Path, monkeypatch: pytest.MonkeyPatch, named: str, shown: str
) -> None:
    for project in (root, root / "pipelines/x"):
        (project / ".dvc").mkdir(parents=True)
    monkeypatch.setenv("DVC_ROOT", str(root / "pipelines/x"))
    monkeypatch.setenv("DVC_STAGE", named)
    record(RECORD)
    (run,) = runs(root)
    assert run.data.tags["dvc.stage"] == shown


def test_a_shared_training_belongs_to_the_experiment_that_evaluates_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("warm-fox", "tidy-mole"):
        monkeypatch.setenv("DVC_EXP_NAME", name)
        with live(CELL, "t1", TRAINED) as shown:
            shown.epoch(CURVE[0])
    assert runs(root)[0].data.tags["dvc.exp"] == "warm-fox,tidy-mole"
    record(RECORD)
    (run,) = runs(root)
    assert run.data.tags["dvc.exp"] == "tidy-mole"


def test_runs_sort_by_a_metric(root: Path) -> None:
    for number, ndcg in enumerate([0.1, 0.3, 0.2]):
        metrics = {"ndcg_at_50": ndcg}
        record(replace(RECORD, training=f"t{number}", evaluation=f"e{number}", metrics=metrics))
    best = runs(root, order_by=["metrics.ndcg_at_50 DESC"])
    assert [run.data.metrics["ndcg_at_50"] for run in best] == [0.3, 0.2, 0.1]
    good = runs(root, filter_string="metrics.ndcg_at_50 > 0.15 and params.gamma = '64'")
    assert len(good) == 2


def test_datasets_are_experiments(root: Path) -> None:
    record(RECORD)
    record(replace(RECORD, cell=Cell("synthetic", "bprmf", "ppac")))
    assert len(runs(root, "ml-100k")) == len(runs(root, "synthetic")) == 1
    experiment = client(root).get_experiment_by_name("ppac/synthetic")
    assert "synthetic" in experiment.tags["mlflow.note.content"]
    client(root).delete_experiment(experiment.experiment_id)
    record(replace(RECORD, cell=Cell("synthetic", "bprmf", "ppac")))
    assert len(runs(root, "synthetic")) == 1


def test_odd_values(root: Path) -> None:
    """Long settings are cut, NaN stays NaN, an infinity is repeatable: and many fit."""
    params = {"long": "x" * 9000, "none": None, "many": {str(n): n for n in range(250)}}
    curve = [{"epoch": 1, "loss": math.nan}, {"epoch": 2, "loss": math.inf}]
    for _ in range(2):
        record(replace(RECORD, params=params, curve=curve))
        (run,) = runs(root)
    assert len(run.data.params["long"]) == 6000
    assert run.data.params["none"] == "null"
    assert len(run.data.params) == 252
    assert [step for step, _ in history(root, run, "train/loss")] == [1, 2]


@pytest.mark.parametrize("damage", ["folder", "garbage", "uri"])
def test_a_broken_store_warns_and_stops_nobody(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    damage: str,
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / "file" if damage == "folder" else tmp_path))
    if damage == "garbage":
        (tmp_path / "mlflow.db").write_text("not a database " * 100)
    if damage == "uri":
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'file' / 'x.db'}")
    monkeypatch.setattr(tracking, "LIVE_AFTER", 0.0)
    monkeypatch.setattr(tracking, "FLUSH_SECONDS", 0.0)
    start = time.monotonic()
    record(RECORD)
    with live(CELL, "t1", TRAINED) as shown:
        for row in CURVE:
            shown.epoch(row)
    with pytest.raises(ZeroDivisionError), live(CELL, "t2", TRAINED):
        _ = 1 / 0
    out, errors = capfd.readouterr()
    assert out == ""
    lines = errors.splitlines()
    assert len(lines) == 3, errors
    for line in lines:
        assert line.startswith("warning: MLflow does not show ml-100k/bprmf/ppac: ")
        assert "python -m ppac track" in line
    assert time.monotonic() - start < 10


def test_the_environment_may_name_another_store(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = root / "other"
    other.mkdir()
    shutil.copy(root / "mlflow.db", other)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{other / 'mlflow.db'}")
    record(RECORD)
    assert (len(runs(root)), len(runs(other))) == (0, 1)


def test_importing_is_cheap() -> None:
    """The stages import this module always, MLflow only where they write."""
    code = "import sys, stages.train; sys.exit('mlflow' in sys.modules)"
    project = Path(__file__).parent.parent
    assert subprocess.run([sys.executable, "-c", code], cwd=project, check=False).returncode == 0


def test_beside_works_in_a_process_of_its_own(root: Path) -> None:
    before = Path.cwd()
    with beside() as in_mlflow:
        in_mlflow(os.chdir, "/")
        in_mlflow(record, RECORD)
    assert Path.cwd() == before
    assert len(runs(root)) == 1


def test_a_killed_process_of_mlflow_costs_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    with beside() as in_mlflow:
        in_mlflow(os._exit, 1)
        in_mlflow(print, "never said")
    said = capsys.readouterr()
    assert said.err.count("python -m ppac track") == 2
    assert not said.out
