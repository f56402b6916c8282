"""One style of progress bar and closing line for every stage."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm

FORMAT = "{desc} {percentage:3.0f}% {bar} {remaining} left{postfix}"


def bar(**options: Any) -> tqdm:
    """A progress bar on stderr that shows nothing where stderr is not a terminal.

    It appears after a second and leaves no trace: what stays is the stage's closing line.
    """
    looks: dict[str, Any] = {"bar_format": FORMAT} if options.get("total") else {}
    looks |= {"disable": None, "leave": False, "dynamic_ncols": True, "delay": 1}
    return tqdm(**looks, **options)


def say(line: str) -> None:
    """A stage's closing line."""
    print(line, file=sys.stdout, flush=True)
