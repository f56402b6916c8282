"""What every stage does at its door: parse, load settings, report problems in one line."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ppac.core import registry
from ppac.core.config import FILE, read_params
from ppac.core.errors import Problem, nearest

SHARED = {"seed", "k", "gamma", "beta", "compute", "search", "cells"}
AXES = {"datasets", "bases", "methods", "variants", "rankers", "protocol"}
AXES |= {"sweeps", "recommendations"}


HELP = {
    "dataset": "an entry of `download` in params.yaml",
    "base": "a file of ppac/models/, or `rankers`",
    "method": "a file of ppac/methods/, ppac/variants/ or ppac/rankers/",
    "protocol": "balanced, released or random: docs/protocol.md",
}
EPILOG = "Settings come from params.yaml. `dvc repro` runs all stages in order, and what changed."


def arguments(
    description: str | None, *names: str, optional: Sequence[str] = ()
) -> argparse.Namespace:
    """Parse ``--name value`` options, empty if left out; an unknown option is an error."""
    parser = argparse.ArgumentParser(description=description, epilog=EPILOG)
    for name in (*names, *optional):
        required = name in names
        parser.add_argument(f"--{name}", required=required, default="", help=HELP.get(name))
    return parser.parse_args()


def params() -> dict[str, Any]:
    """All of params.yaml, with every top-level key known."""
    values = read_params(Path.cwd())
    stages = {path.stem for path in Path(__file__).parent.glob("[a-z]*.py")} - {"door"}
    files = (registry.names(kind) for kind in ("models", "methods", "variants", "rankers"))
    known = AXES.union(SHARED, stages, *files)
    for key in values:
        if key not in known:
            raise Problem(f"{FILE}: unknown key '{key}'; {nearest(key, known)}.")
    return values


def seed(values: dict[str, Any]) -> int:
    """The root seed, checked to be a whole number."""
    value = values.get("seed")
    if not isinstance(value, int) or isinstance(value, bool):
        raise Problem(f"{FILE}: 'seed' is {value!r}: it must be a whole number.")
    return value


def enter(main: Callable[[], None]) -> None:
    """Run a stage. A problem is one message on stderr and a non-zero exit."""
    try:
        main()
    except Problem as problem:
        sys.exit(f"error: {problem}")
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        place = f" ({error.filename})" if error.filename else ""
        sys.exit(f"error: the disk is full{place}: nothing is half-written; free some, run again.")


def chosen(values: dict[str, Any], axis: str) -> Sequence[str]:
    """The entries of an axis of the pipeline, checked to be a list of names."""
    names = values.get(axis)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Problem(f"{FILE}: '{axis}' must be a list of names, not {names!r}.")
    return names
