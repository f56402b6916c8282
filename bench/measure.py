"""Wall time, peak memory, and how much of the machine others used in the meantime."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROC = Path("/proc")
CLEAR_PEAK = "5"  # what clear_refs takes to reset the resident high-water mark: see man 5 proc


@dataclass(frozen=True)
class Cpu:
    """Seconds of all cores since boot, and of this process with its finished children."""

    busy: float
    total: float
    own: float

    @classmethod
    def now(cls) -> Cpu:
        ticks = os.sysconf("SC_CLK_TCK")
        busy, total = busy_and_total((PROC / "stat").read_text())
        usage = [
            resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        ]
        own = sum(one.ru_utime + one.ru_stime for one in usage)
        return cls(busy / ticks, total / ticks, own)


def busy_and_total(stat: str) -> tuple[int, int]:
    """Jiffies of all cores that were used or stolen, and all there were, from /proc/stat.

    Guest time is counted in user time already. What the hypervisor gave to others is no less
    lost to us than what a neighbour process took.

    >>> busy_and_total("cpu  10 1 5 80 2 1 1 3 7 0\\ncpu0 ...")
    (21, 103)
    """
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, stat.split()[1:9])
    busy = user + nice + system + irq + softirq + steal
    return busy, busy + idle + iowait


def used_by_others(before: Cpu, after: Cpu) -> tuple[float, float]:
    """Core-seconds that others used between two moments, and all that there were.

    The kernel counts in ticks and a process in microseconds, so little can come out negative.
    """
    busy, own = after.busy - before.busy, after.own - before.own
    return max(busy - own, 0.0), after.total - before.total


def memory_kb(name: str) -> int:
    """``VmRSS`` or ``VmHWM`` of this process."""
    for line in (PROC / "self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise ValueError(f"no {name} in /proc/self/status")


def settle() -> int:
    """Give back what is free, so that it cannot hide a peak; then the resident kB."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return memory_kb("VmRSS")


@dataclass(frozen=True)
class Repeat:
    seconds: float
    peak_mb: float  # above the loaded input, caches and compiled code included
    extra_mb: float  # above what was resident just before
    others: float  # core-seconds used by others
    machine: float  # core-seconds there were


def repeat(run: Callable[[], Any], loaded_kb: int) -> tuple[Repeat, Any]:
    """Run once; what it cost, and what it returned."""
    before_kb = settle()
    (PROC / "self/clear_refs").write_text(CLEAR_PEAK)
    cpu = Cpu.now()
    start = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - start
    others, machine = used_by_others(cpu, Cpu.now())
    peak = memory_kb("VmHWM")
    cost = Repeat(
        seconds=round(seconds, 5),
        peak_mb=round((peak - loaded_kb) / 1024, 1),
        extra_mb=round((peak - before_kb) / 1024, 1),
        others=round(others, 3),
        machine=round(machine, 3),
    )
    return cost, result
