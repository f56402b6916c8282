"""The one exception whose message is meant for the person at the keyboard."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class Problem(Exception):
    """Something the user can mend. The message names the file, row or key, and what to do."""


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint for a mistyped word.

    >>> nearest("lightgnc", ["bprmf", "ncf", "lightgcn"])
    "did you mean 'lightgcn'? Known: bprmf, lightgcn, ncf"
    """
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"{hint}Known: {', '.join(names)}"
