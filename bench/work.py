"""What a benchmark is made of: works, and the contenders that do each of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.targets import Record, Target

WORKS = (
    "neighbours",
    "popularity",
    "lightgcn",
    "epochs",
    "ranking",
    "ncf_ranking",
    "tune",
    "plus",
    "exp",
    "growth",
)
OURS = "ppac"


@dataclass(frozen=True)
class Prepared:
    """A contender with its input loaded."""

    run: Callable[[], Any]  # what is timed
    outcome: Callable[[Any], Mapping[str, np.ndarray]] | None = None
    """What must be the same for all contenders, from what ``run`` returned."""
    scale: float = 1.0  # the whole work over the share of it that ``run`` does
    share: str = ""  # that share in words


@dataclass(frozen=True)
class Contender:
    """One way of doing a work."""

    prepare: Callable[[str, int], Prepared]  # given the case and the number of threads
    package: str = OURS  # the one whose version is told
    cases: Sequence[str] | None = None  # None: all of the work's
    once: Sequence[str] = ()  # cases too long for more than one repeat without a first call
    env: Mapping[str, str] = field(default_factory=dict)
    children: bool = False  # works in child processes: this one's memory says nothing
    against: str = ""  # who it is compared with; the work's first contender if not said
    note: str = ""


@dataclass(frozen=True)
class Work:
    """A file of bench/works/, as its ``WORK``.

    A case is a dataset, or ``dataset/variant``. ``tolerance`` is how far outcomes may differ.
    """

    title: str
    cases: Sequence[str]
    contenders: Mapping[str, Contender]
    targets: Sequence[Target] = ()
    packages: Sequence[str] = ()  # further ones whose versions matter
    tolerance: float = 1e-5
    closing: Callable[[Sequence[Record]], list[str]] | None = None  # lines after the table

    def cases_of(self, name: str) -> Sequence[str]:
        """The cases of one contender."""
        chosen = self.contenders[name].cases
        return self.cases if chosen is None else chosen


def find(name: str) -> Work:
    """The work called ``name``."""
    if name not in WORKS:
        raise SystemExit(f"unknown work '{name}': one of {', '.join(WORKS)}.")
    work: Work = importlib.import_module(f"bench.works.{name}").WORK
    return work
