"""Kernels between torch's operations, on torch's own threads.

OpenMP's threads wait for torch's next operation by spinning: other threads would share the cores
with them, and take twice as long. So where torch has OpenMP, the same threads do both.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from ppac.core import parallel

Task = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def share_out(work: Callable[[int], None], shares: int) -> None:
    """``work(0)`` ... ``work(shares - 1)``, on as many threads as torch has; an error is raised.

    Who does which share must not matter to the result.
    """
    threads = min(torch.get_num_threads(), shares)
    team = openmp()
    if team is None or threads == 1:
        parallel.share_out(work, shares, threads)
        return
    left = iter(range(shares))  # each thread takes the next one
    errors: list[BaseException] = []

    def take(_: Any) -> None:
        try:
            for share in left:
                work(share)
        except BaseException as error:  # there is no Python above to catch it
            errors.append(error)

    team.GOMP_parallel(Task(take), None, threads, 0)
    if errors:
        raise errors[0]


@cache
def openmp() -> ctypes.CDLL | None:
    """GNU OpenMP, if torch has loaded it, as its builds for Linux do."""
    try:
        team = ctypes.CDLL("libgomp.so.1", mode=os.RTLD_NOLOAD)
    except (OSError, AttributeError):  # other systems have other libraries, or no such flag
        return None
    team.GOMP_parallel.argtypes = [Task, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
    team.GOMP_parallel.restype = None
    return team
