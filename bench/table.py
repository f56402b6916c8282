"""bench/results.md from what bench/results.json holds: nothing is measured or chosen here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench import work as works
from bench.targets import Record, amount, by_case, peak_mb, seconds, typical

HEADER = [
    "contender",
    "case",
    "median s",
    "min-max s",
    "first call s",
    "peak MB",
    "others",
    "against",
]
DISTURBED = 0.1  # share of the machine from which on a measurement is worth repeating
LEGEND = """\
Median and range over all repeats, in fresh processes, one at a time. First call: the first in a
process, with compilation and caches, not among the repeats. Peak: the resident high-water mark
above the loaded input. Others: the share of the machine that other processes, or the host, used
meanwhile. Against: the contender's median over that of the first contender, or of the one in
brackets; above 1 is slower. ≈: scaled from a share of the work, named below the table."""


def render(results: Mapping[str, Any]) -> str:
    """The whole page."""
    there = [name for name in works.WORKS if name in results]
    lines = ["# Benchmark", "", "Written by `python -m bench` from results.json.", "", LEGEND, ""]
    lines += ["## Machine and versions", "", *environments(results, there), ""]
    for name in there:
        lines += section(works.find(name), results[name]["records"])
    return "\n".join(lines).rstrip() + "\n"


def environments(results: Mapping[str, Any], there: Sequence[str]) -> list[str]:
    """Each distinct machine with the works measured on it, and all versions."""
    on: dict[str, list[str]] = {}
    with_versions: dict[str, set[str]] = {}
    for name in there:
        machine = results[name]["machine"]
        text = "{cpu}, {cores} cores, {memory}; {system}; Python {python}".format(**machine)
        on.setdefault(text, []).append(name)
        for package, version in results[name]["versions"].items():
            with_versions.setdefault(package, set()).add(version)
    lines = [f"- {text} ({', '.join(names)})" for text, names in on.items()]
    packages = (f"{name} {' and '.join(sorted(v))}" for name, v in sorted(with_versions.items()))
    return [*lines, f"- {', '.join(packages)}"]


def section(work: works.Work, records: Sequence[Record]) -> list[str]:
    """One work: its table, its notes, whether it reached its targets."""
    rows = [row(work, record, records) for record in records]
    lines = [f"## {work.title}", "", *markdown(HEADER, rows), ""]
    lines += with_gap(notes(work, records))
    lines += with_gap(verdicts(work, records))
    return lines + with_gap(work.closing(records) if work.closing else [])


def with_gap(lines: list[str]) -> list[str]:
    return [*lines, ""] if lines else []


def row(work: works.Work, record: Record, records: Sequence[Record]) -> list[str]:
    about = "≈ " if record["scale"] != 1 else ""
    times = seconds(record)
    peak = peak_mb(record)
    first = max(record["first_call"], default=None)
    return [
        record["contender"],
        record["case"],
        about + amount(typical(record)),
        f"{amount(min(times))} - {amount(max(times))}",
        "-" if first is None else about + amount(first * record["scale"]),
        "-" if peak is None else amount(max(peak, 0)),
        f"{others_share(record):.0%}",
        about + against(work, record, records),
    ]


def against(work: works.Work, record: Record, records: Sequence[Record]) -> str:
    """The ratio to whom the contender is compared with, who is named unless it is the first."""
    first = next(iter(work.contenders))
    other = work.contenders[record["contender"]].against or first
    base = by_case(records, other).get(record["case"])
    if base is None:
        return "-"
    named = f" ({other})" if other not in (first, record["contender"]) else ""
    return amount(typical(record) / typical(base)) + named


def others_share(record: Record) -> float:
    """Over all repeats together: one short repeat is only a few ticks of the kernel's clock."""
    machine = sum(one["machine"] for one in record["repeats"])
    return sum(one["others"] for one in record["repeats"]) / machine if machine else 0.0


def notes(work: works.Work, records: Sequence[Record]) -> list[str]:
    """What a contender does otherwise, which share was run, and where results differ."""
    lines = []
    for name, contender in work.contenders.items():
        of_it = by_case(records, name)
        if contender.note and of_it:
            lines.append(f"- {name}: {contender.note}.")
        for case, record in of_it.items():
            if record["share"]:
                lines.append(f"- {name} on {case}: {record['share']}.")
    disturbed = [
        f"{one['contender']} on {one['case']}" for one in records if others_share(one) > DISTURBED
    ]
    if disturbed:
        lines.append(f"- **Disturbed** by others using the machine: {', '.join(disturbed)}.")
    return [*lines, agreement(work, records)]


def agreement(work: works.Work, records: Sequence[Record]) -> str:
    """One line: what was compared, or what differs."""
    compared = [(one, what, gap) for one in records for what, gap in one["differs"].items()]
    if not compared:
        return "- Results were not compared."
    apart = [
        f"{one['contender']} on {one['case']} in {what} ({gap})"
        for one, what, gap in compared
        if isinstance(gap, str) or gap > work.tolerance
    ]
    if apart:
        return f"- **Results differ**: {', '.join(apart)}."
    who = ", ".join(dict.fromkeys(one["contender"] for one, _, _ in compared))
    what = ", ".join(dict.fromkeys(what for _, what, _ in compared))
    reference = next(iter(work.contenders))
    return f"- Same {what} as {reference}, to within {work.tolerance:g}: {who}."


def verdicts(work: works.Work, records: Sequence[Record]) -> list[str]:
    judged = [verdict for target in work.targets for verdict in target.judge(records)]
    if not judged:
        return []
    rows = [[v.target, v.measured, "reached" if v.reached else "**not reached**"] for v in judged]
    return markdown(["target", "measured", ""], rows)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table whose columns line up in the source too; the first two are text."""
    widths = [max(len(line[i]) for line in [header, *rows]) for i in range(len(header))]
    rule = ["-" * w if i < 2 else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    aligned = [
        [
            c.ljust(w) if i < 2 else c.rjust(w)
            for i, (c, w) in enumerate(zip(line, widths, strict=True))
        ]
        for line in [header, *rows]
    ]
    return [f"| {' | '.join(line)} |" for line in [aligned[0], rule, *aligned[1:]]]
