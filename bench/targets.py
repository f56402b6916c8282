"""What a work should reach, judged from the measured numbers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

Record = Mapping[str, Any]  # of one contender on one case, as bench/results.json has it


@dataclass(frozen=True)
class Verdict:
    target: str
    measured: str
    reached: bool


class Target(Protocol):
    def judge(self, records: Sequence[Record]) -> list[Verdict]:
        """One verdict for each case that has the numbers it takes."""


def seconds(record: Record) -> list[float]:
    """Of each repeat, scaled to the whole work where only a share was run."""
    return [one["seconds"] * record["scale"] for one in record["repeats"]]


def typical(record: Record) -> float:
    return median(seconds(record))


def peak_mb(record: Record) -> float | None:
    """The highest of all repeats, above the loaded input; None where it was not measured."""
    peaks = [one["peak_mb"] for one in record["repeats"]]
    return None if None in peaks else max(peaks)


def by_case(records: Sequence[Record], contender: str) -> dict[str, Record]:
    return {one["case"]: one for one in records if one["contender"] == contender}


def amount(value: float) -> str:
    """Two or three digits that matter.

    >>> amount(0.01234), amount(2.345), amount(23.45), amount(1234.5)
    ('0.012', '2.35', '23.4', '1,234')
    """
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


@dataclass(frozen=True)
class Faster:
    """``ours`` at least ``times`` as fast as ``peer``."""

    ours: str
    peer: str
    times: float

    def judge(self, records: Sequence[Record]) -> list[Verdict]:
        mine, theirs = by_case(records, self.ours), by_case(records, self.peer)
        verdicts = []
        for case in (case for case in mine if case in theirs):
            ratio = typical(theirs[case]) / typical(mine[case])
            target = f"{self.ours} at least {self.times:g} times as fast as {self.peer} on {case}"
            verdicts.append(Verdict(target, f"{amount(ratio)} times", ratio >= self.times))
        return verdicts


@dataclass(frozen=True)
class Costs:
    """``contender`` takes at most ``times`` as long as ``other``."""

    contender: str
    other: str
    times: float

    def judge(self, records: Sequence[Record]) -> list[Verdict]:
        mine, theirs = by_case(records, self.contender), by_case(records, self.other)
        verdicts = []
        for case in (case for case in mine if case in theirs):
            ratio = typical(mine[case]) / typical(theirs[case])
            target = f"{self.contender} at most {self.times:g} times {self.other} on {case}"
            verdicts.append(Verdict(target, f"{amount(ratio)} times", ratio <= self.times))
        return verdicts


@dataclass(frozen=True)
class Within:
    """``contender`` stays within ``mb`` above its loaded input, or above its result as well."""

    contender: str
    mb: float
    beyond_result: bool = False
    cases: Sequence[str] | None = None

    def judge(self, records: Sequence[Record]) -> list[Verdict]:
        verdicts = []
        for case, record in by_case(records, self.contender).items():
            peak = peak_mb(record)
            if peak is None or (self.cases is not None and case not in self.cases):
                continue
            limit = self.mb + (record["result_mb"] if self.beyond_result else 0)
            what = f"{amount(self.mb)} MB" + (" and its result" if self.beyond_result else "")
            target = f"{self.contender} within {what} above the input on {case}"
            verdicts.append(Verdict(target, f"{amount(peak)} of {amount(limit)} MB", peak <= limit))
        return verdicts


@dataclass(frozen=True)
class Under:
    """``contender`` takes less than ``limit`` seconds."""

    contender: str
    limit: float

    def judge(self, records: Sequence[Record]) -> list[Verdict]:
        return [
            Verdict(
                f"{self.contender} under {self.limit:g} s on {case}",
                f"{amount(typical(record))} s",
                typical(record) < self.limit,
            )
            for case, record in by_case(records, self.contender).items()
        ]
