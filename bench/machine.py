"""What the numbers were measured on and with."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ALWAYS = ("numpy", "scipy", "torch", "numba", "polars")


def machine() -> dict[str, str]:
    """CPU, cores, memory, system and Python."""
    info = Path("/proc/cpuinfo").read_text()
    models = [line.split(":")[1].strip() for line in info.splitlines() if "model name" in line]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "cpu": models[0] if models else platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": system(),
        "python": platform.python_version(),
    }


def system() -> str:
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        name = ""
    return f"{name}, {platform.system()} {platform.release()}".removeprefix(", ")


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The installed versions of those packages and of the ones everything rests on."""
    found = {}
    for name in sorted({*packages, *ALWAYS}):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
