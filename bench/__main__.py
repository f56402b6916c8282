"""Run works with all their contenders, one process at a time, and write the results.

python -m bench                                        everything
python -m bench --only neighbours,ranking              some works, the others' results stay
python -m bench --only neighbours --datasets gowalla   some datasets only
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import table
from bench import work as works
from bench.agreement import differences, outcome_file
from bench.data import ROOT
from bench.machine import machine, versions
from ppac.core.files import read_json, write_json, write_text

RESULTS = ROOT / "bench" / "results.json"
THREADS = ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR")  # ..._NUM_THREADS


def main() -> None:
    args = arguments()
    results = read_json(args.results) if args.results.exists() else {}
    failed = []
    for name in args.only:
        for case in chosen_cases(works.find(name), args.datasets):
            records, failures = run_case(name, case, args)
            failed += failures
            merge(results, name, records)
            write_json(args.results, results)
            write_text(args.results.with_suffix(".md"), table.render(results))
    if failed:
        sys.exit("failed: " + ", ".join(failed))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    names = ", ".join(works.WORKS)
    parser.add_argument("--only", type=listed, default=works.WORKS, help=f"of {names}")
    parser.add_argument("--datasets", type=listed, help="only cases on these")
    parser.add_argument("--rounds", type=int, default=2, help="processes of each contender")
    parser.add_argument("--repeats", type=int, default=3, help="in each process")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--results", type=Path, default=RESULTS, help="a .json; .md beside it")
    args = parser.parse_args()
    for name in args.only:
        works.find(name)
    return args


def listed(text: str) -> list[str]:
    return text.split(",")


def chosen_cases(work: works.Work, datasets: list[str] | None) -> list[str]:
    """The work's cases on the wanted datasets."""
    return [c for c in work.cases if datasets is None or c.split("/")[0] in datasets]


def run_case(name: str, case: str, args: argparse.Namespace) -> tuple[list[Any], list[str]]:
    """Every contender in turn, round after round, so that a bad minute hits all alike."""
    work = works.find(name)
    records: dict[str, dict[str, Any]] = {}
    failed = []
    for number, contender in turns(work, case, args.rounds):
        if contender in failed:
            continue
        print(f"{name}: {contender} on {case}, round {number + 1}", file=sys.stderr, flush=True)
        done = run_one(name, contender, case, args)
        if done.returncode:
            print(f"{done.stderr[-2000:]}\nended with {done.returncode}", file=sys.stderr)
            failed.append(contender)
            continue
        record = json.loads(done.stdout.splitlines()[-1])
        if contender in records:
            records[contender]["repeats"] += record["repeats"]
            records[contender]["first_call"] += record["first_call"]
        else:
            records[contender] = record
    reference = outcome_file(name, next(iter(work.contenders)), case)
    for contender, record in records.items():
        record["differs"] = differences(outcome_file(name, contender, case), reference)
    return list(records.values()), [f"{name}: {contender} on {case}" for contender in failed]


def turns(work: works.Work, case: str, rounds: int) -> Iterator[tuple[int, str]]:
    """Round and contender; those that run once take part in the first round only."""
    for number in range(rounds):
        for name, contender in work.contenders.items():
            if case in work.cases_of(name) and (number == 0 or case not in contender.once):
                yield number, name


def run_one(
    name: str, contender: str, case: str, args: argparse.Namespace
) -> subprocess.CompletedProcess[str]:
    """A fresh process with nothing of the others in it."""
    env = os.environ | {f"{kind}_NUM_THREADS": str(args.threads) for kind in THREADS}
    env |= {"POLARS_MAX_THREADS": str(args.threads)}
    env |= works.find(name).contenders[contender].env
    command = [sys.executable, "-m", "bench.one", name, contender, case]
    command += ["--repeats", str(args.repeats), "--threads", str(args.threads)]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def merge(results: dict[str, Any], name: str, records: list[Any]) -> None:
    """New records in the place of the old ones of the same contender and case.

    Old ones of another machine or of other versions go: next to the new they would mislead.
    """
    work = works.find(name)
    packages = {contender.package for contender in work.contenders.values()} | {*work.packages}
    here = {"machine": machine(), "versions": versions(packages)}
    before = results.get(name, {})
    old = before.get("records", []) if {**before, **here} == before else []
    new = {(one["case"], one["contender"]): one for one in [*old, *records]}
    results[name] = {
        **here,
        "records": [
            new[case, contender]
            for case in work.cases
            for contender in work.contenders
            if (case, contender) in new
        ],
    }


if __name__ == "__main__":
    main()
