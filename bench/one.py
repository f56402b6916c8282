"""One contender of one work on one case, in a process of its own; prints JSON.

python -m bench.one neighbours similaripy gowalla --repeats 3
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from bench import work as works
from bench.agreement import keep, outcome_file
from bench.measure import repeat, settle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("work", "contender", "case"):
        parser.add_argument(name)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    print(json.dumps(measured(args.work, args.contender, args.case, args.repeats, args.threads)))


def measured(work: str, name: str, case: str, repeats: int, threads: int) -> dict[str, Any]:
    """The record of this process."""
    contender = works.find(work).contenders[name]
    prepared = contender.prepare(case, threads)
    use_threads(threads)
    loaded = settle()
    once = case in contender.once
    first = []
    if not once:
        cost, result = repeat(prepared.run, loaded)
        first.append(cost.seconds)
    costs = []
    for _ in range(1 if once else repeats):
        result = None  # the last repeat's is no part of this one's memory
        cost, result = repeat(prepared.run, loaded)
        costs.append(asdict(cost) | ({"peak_mb": None} if contender.children else {}))
    if prepared.outcome:
        keep(outcome_file(work, name, case), prepared.outcome(result))
    return {
        "contender": name,
        "case": case,
        "package": contender.package,
        "version": version(contender.package),
        "threads": threads,
        "first_call": first,
        "scale": prepared.scale,
        "share": prepared.share,
        "result_mb": round(size_of(result) / 2**20, 1),
        "repeats": costs,
    }


def use_threads(threads: int) -> None:
    """Torch takes its number from OMP_NUM_THREADS too, but a library may have changed it."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


def size_of(value: Any) -> int:
    """Bytes of the arrays in a result, however it is wrapped."""
    if hasattr(value, "estimated_size"):  # a polars table
        return int(value.estimated_size())
    if hasattr(value, "indptr"):  # a scipy matrix
        return int(value.data.nbytes + value.indices.nbytes + value.indptr.nbytes)
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if isinstance(value, tuple | list):
        return sum(map(size_of, value))
    return sum(map(size_of, vars(value).values())) if hasattr(value, "__dict__") else 0


if __name__ == "__main__":
    main()
