"""MLflow as a repeatable mirror of the artefacts: one run per configuration of a cell.

The files are the truth and only DVC caches: a stage restored from the cache logs nothing.
So a run is found by a digest of its configuration and completed, never duplicated, and
replaying the files gives the same runs whatever was logged before:

- `live` shows a training while it lasts, as an *attempt*: a run with a training digest only.
  A rerun after a crash or a kill continues the same attempt.
- `record` shows an evaluation: it completes the run with this evaluation digest, else adopts
  an attempt of the same training, else creates a run. A run that contradicts the files (other
  code gave other numbers under the same digest) is replaced.

Two processes may do either at once: everything happens under one file lock. Where MLflow
itself fails, the stage goes on and says so: nothing is lost but the mirror.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ppac.layout import Cell
from ppac.tracking.mlflow_store import opened, store_uri
from ppac.tracking.record import Attempt, Points, Record, curve_points

__all__ = ["Live", "Record", "live", "record", "store_uri"]

LIVE_AFTER = 30.0  # a shorter training is over before anyone looks: `record` shows it whole
FLUSH_SECONDS = 2.0


def record(rec: Record) -> None:
    """Mirror an evaluation. Repeating it changes nothing; a failure of MLflow is a warning."""
    try:
        with opened(rec.cell) as store:
            store.mirror(rec)
    except Exception as error:  # whatever MLflow raises: the metrics file is already written
        warn(rec.cell, error)


@contextlib.contextmanager
def live(
    cell: Cell, training: str, params: Mapping[str, Any], tags: Mapping[str, str] | None = None
) -> Iterator[Live]:
    """Show a training while it lasts; its own exception marks the run and is raised again."""
    run = Live(Attempt(cell, training, params, tags or {}, started=time.time()))
    try:
        yield run
    except BaseException as error:
        status = "KILLED" if isinstance(error, KeyboardInterrupt) else "FAILED"
        run.write(status, f"{type(error).__name__}: {error}")
        raise
    if run.run_id:
        run.write("FINISHED")


@dataclass
class Live:
    """A training as MLflow sees it: in batches, since an epoch can take 20 ms."""

    attempt: Attempt
    due: float = field(default_factory=lambda: time.monotonic() + LIVE_AFTER)
    points: Points = field(default_factory=dict)
    run_id: str = ""
    broken: bool = False

    def epoch(self, row: Mapping[str, Any]) -> None:
        """Take a row of the curve: epoch, loss and, where validated, the metrics."""
        self.points |= curve_points([row])
        if time.monotonic() >= self.due:
            self.write("RUNNING")

    def write(self, status: str, failure: str = "") -> None:
        """Send what is new. MLflow's first failure is told, and then it is left alone."""
        if self.broken:
            return
        try:
            with opened(self.attempt.cell) as store:
                self.run_id = store.show(self.attempt, self.run_id, self.points, status, failure)
        except Exception as error:  # whatever MLflow raises: the training goes on
            self.broken = True
            warn(self.attempt.cell, error)
        self.due = time.monotonic() + FLUSH_SECONDS


def warn(cell: Cell, error: Exception) -> None:
    """One line: the results are in their files, so a broken mirror stops nobody."""
    reason = next(iter(str(error).splitlines()), "") or type(error).__name__
    line = f"warning: MLflow does not show {cell}: {reason} (python -m ppac track shows it later)"
    print(line, file=sys.stderr, flush=True)
