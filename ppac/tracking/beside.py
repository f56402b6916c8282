"""MLflow in a process of its own, which imports it while something else is done.

The import takes seconds and holds Python's lock: in a thread of the same process nothing is gained.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from ppac.tracking.mlflow_store import load


@contextmanager
def beside() -> Iterator[Callable[..., None]]:
    """Begin to import MLflow; what is yielded calls a function where it is, and waits."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:  # polars does not survive a fork
        pool.submit(load)

        def call(work: Callable[..., None], *args: Any) -> None:
            try:
                pool.submit(work, *args).result()
            except BrokenProcessPool:  # killed: the results are in their files all the same
                line = "warning: MLflow's process ended (python -m ppac track shows the results)"
                print(line, file=sys.stderr, flush=True)

        yield call
