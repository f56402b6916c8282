"""One style of progress bar and closing line for every stage."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm


def bar(**options: Any) -> tqdm:
    """A progress bar on stderr that shows nothing where stderr is not a terminal."""
    return tqdm(disable=None, leave=False, dynamic_ncols=True, delay=1, **options)


def say(line: str) -> None:
    """A stage's closing line."""
    print(line, file=sys.stdout, flush=True)
