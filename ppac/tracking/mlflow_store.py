"""The MLflow store: finding, completing and replacing runs. The one module that imports MLflow.

Importing it is cheap; MLflow itself takes seconds and is imported by the first who writes.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from ppac.core.files import new_file
from ppac.layout import Cell
from ppac.tracking.record import (
    LONGEST,
    READING,
    Attempt,
    Points,
    Record,
    commit,
    describe,
    dvc_tags,
    equal,
    flat_params,
    joined,
    root,
    run_name,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

DATABASE = "mlflow.db"
LOCK_SECONDS = 60.0
TRAINING, EVALUATION, FAILURE = "ppac.training", "ppac.evaluation", "ppac.failure"
JOINED = ("dvc.stage", "dvc.exp")  # tags that list every stage and experiment behind a run


@dataclass(frozen=True)
class Store:
    """The runs of one dataset, while the lock is held."""

    client: MlflowClient
    experiment: str

    def mirror(self, rec: Record) -> None:
        """Make one run show the record, and no other run of the same configuration."""
        training = rec.training or rec.evaluation
        points, params = rec.points, flat_params(rec.params)
        same = self.runs(EVALUATION, rec.evaluation)
        known = same + self.attempts(training)
        agreeing = (old for old in known if self.agrees(old, points, params, whole=True))
        run = next(agreeing, None)
        if run is None:
            run = self.create(rec.cell, training, rec.name, time.time())
        # An attempt may be another experiment's too: its lists are not inherited.
        note = {"mlflow.note.content": describe(rec.cell, rec.metrics)}
        self.add(run, points, params, listed(dvc_tags() | dict(rec.tags) | note, same))
        if EVALUATION not in run.data.tags:
            self.client.update_run(run.info.run_id, name=rec.name)
            self.end(run, "FINISHED")
            self.client.set_tag(run.info.run_id, EVALUATION, rec.evaluation)  # last: now whole
        for old in known:
            if old.info.run_id != run.info.run_id:
                self.client.delete_run(old.info.run_id)

    def show(self, attempt: Attempt, run_id: str, points: Points, status: str, failure: str) -> str:
        """Bring the run of a training up to date; its id, for the next time."""
        run = self.client.get_run(run_id) if run_id else None
        if run and (run.info.lifecycle_stage != "active" or EVALUATION in run.data.tags):
            if status in ("RUNNING", "FINISHED"):
                return run_id  # another process has shown the same training: nothing is news
            run = None
        params = flat_params(attempt.params)
        if run is None:
            found = self.attempts(attempt.training)
            agreeing = (old for old in found if self.agrees(old, points, params, whole=False))
            run = next(agreeing, None)
        if run is None:
            name, started = run_name(attempt.cell), attempt.started
            run = self.create(attempt.cell, attempt.training, name, started)
        self.add(run, points, params, listed(dvc_tags() | dict(attempt.tags), [run]))
        self.end(run, status, failure)
        return str(run.info.run_id)

    def runs(self, tag: str, digest: str) -> list[Run]:
        return list(self.client.search_runs([self.experiment], f"tags.`{tag}` = '{digest}'"))

    def attempts(self, training: str) -> list[Run]:
        """Runs of a training that no evaluation has claimed, whatever became of them."""
        return [run for run in self.runs(TRAINING, training) if EVALUATION not in run.data.tags]

    def create(self, cell: Cell, training: str, name: str, started: float) -> Run:
        tags = {
            TRAINING: training,
            "dataset": cell.dataset,
            "base": cell.base,
            "method": cell.method,
            "mlflow.note.content": describe(cell),
            "mlflow.source.git.commit": commit(),
        }
        tags = {key: value for key, value in tags.items() if value}
        return self.client.create_run(self.experiment, round(1000 * started), tags, run_name=name)

    def shown(self, run: Run) -> Points:
        """What a run shows: whole curves, and the test metrics, which have one value."""
        points: Points = {}
        for name, value in run.data.metrics.items():
            if "/" not in name:
                points[name, 0] = value
                continue
            for metric in self.client.get_metric_history(run.info.run_id, name):
                points[name, metric.step] = metric.value
        return points

    def agrees(self, run: Run, points: Points, params: Mapping[str, str], whole: bool) -> bool:
        """Is all that the run shows still true? Beyond a whole curve there are no epochs."""
        shown = self.shown(run)
        return (
            all(params.get(key, value) == value for key, value in run.data.params.items())
            and all(equal(value, points.get(key, value)) for key, value in shown.items())
            and not (whole and shown.keys() - points.keys())
        )

    def add(
        self, run: Run, points: Points, params: Mapping[str, str], tags: Mapping[str, str]
    ) -> None:
        """Log what is missing: MLflow would keep a second value of an epoch beside the first."""
        from mlflow.entities import Metric, Param, RunTag

        run_id, shown, now = run.info.run_id, self.shown(run), round(1000 * time.time())
        metrics = [Metric(k, v, now, s) for (k, s), v in points.items() if (k, s) not in shown]
        new = [Param(k, v) for k, v in params.items() if k not in run.data.params]
        labels = [RunTag(k, v) for k, v in tags.items() if v]
        for start in range(0, len(metrics), 1000):  # MLflow's limits to a batch
            self.client.log_batch(run_id, metrics=metrics[start : start + 1000])
        for start in range(0, len(new), 100):
            self.client.log_batch(run_id, params=new[start : start + 100])
        self.client.log_batch(run_id, tags=labels)

    def end(self, run: Run, status: str, failure: str = "") -> None:
        """Set the status and, for a failure, its reason."""
        if status == "RUNNING":
            self.client.update_run(run.info.run_id, status=status)
        else:
            self.client.set_terminated(run.info.run_id, status)
        if failure:
            self.client.set_tag(run.info.run_id, FAILURE, failure[:LONGEST])
        elif FAILURE in run.data.tags:
            self.client.delete_tag(run.info.run_id, FAILURE)


def listed(tags: Mapping[str, str], runs: Sequence[Run]) -> dict[str, str]:
    """Tags in which the lists of earlier runs go on."""
    lists = {key: [run.data.tags.get(key) for run in runs] for key in JOINED}
    return {**tags, **{key: joined(*lists[key], tags.get(key)) for key in JOINED}}


@contextlib.contextmanager
def opened(cell: Cell) -> Iterator[Store]:
    """The store, for one process at a time.

    A first use migrates the schema and creates the experiment: two at once would collide.
    """
    load()  # before the lock: seconds for which nobody else need wait
    with quiet(), FileLock(root() / f"{DATABASE}.lock", timeout=LOCK_SECONDS):
        connected = client(store_uri())
        yield Store(connected, experiment(connected, cell.dataset))


def load() -> None:
    """Import MLflow as a pipeline wants it."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # a pipeline calls nobody
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")  # or a dead server stalls it
    import mlflow  # noqa: F401


def store_uri() -> str:
    """Where runs are kept: MLFLOW_TRACKING_URI, or one SQLite file for the whole project."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{root() / DATABASE}"


@functools.cache
def client(uri: str) -> MlflowClient:
    from mlflow import MlflowClient

    if uri.startswith("sqlite:///"):
        ready(Path(uri.removeprefix("sqlite:///").partition("?")[0]))
    return MlflowClient(uri)


def ready(path: Path) -> None:
    """A database that is complete or absent, and an error at once if it cannot be used.

    A migration killed halfway cannot be repeated, and MLflow tries an unusable file for minutes.
    """
    from mlflow import MlflowClient

    if not path.exists() or not path.stat().st_size:
        with new_file(path) as temporary:
            MlflowClient(f"sqlite:///{temporary}").search_experiments(max_results=1)
    with contextlib.closing(sqlite3.connect(path, timeout=LOCK_SECONDS)) as database:
        database.execute("BEGIN IMMEDIATE")


def experiment(connected: MlflowClient, dataset: str) -> str:
    """One MLflow experiment per dataset, since only there runs compare; its id."""
    name = f"ppac/{dataset}"
    found = connected.get_experiment_by_name(name)
    if found is None:
        own = not os.environ.get("MLFLOW_TRACKING_URI")
        artefacts = (root() / "mlartifacts").as_uri() if own else None  # a server has its own
        tags = {
            "mlflow.note.content": f"Every configuration run on `{dataset}`. {READING}",
            "mlflow.experimentKind": "custom_model_development",
            "mlflow.experiment.primaryMetric.name": "ndcg_at_50",
            "mlflow.experiment.primaryMetric.greaterIsBetter": "True",
        }
        return connected.create_experiment(name, artefacts, tags)
    if found.lifecycle_stage != "active":  # deleted in the UI, and run again since
        connected.restore_experiment(found.experiment_id)
    return str(found.experiment_id)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No log lines of MLflow and its migrations between a stage's own."""
    loggers = [logging.getLogger(name) for name in ("mlflow", "alembic")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
