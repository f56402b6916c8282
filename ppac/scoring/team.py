"""Compiled kernels on the very threads that torch computes with.

Torch's threads wait for their next work by spinning. Threads of our own would compete with them
for the same cores at every turn between torch and a kernel; its own are awake already.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from ppac.core.parallel import share_out

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@cache
def openmp() -> Any:
    """The OpenMP library that torch has loaded, where it is GNU's; else nothing."""
    if torch.backends.openmp.is_available():
        try:
            return ctypes.CDLL("libgomp.so.1").GOMP_parallel
        except (OSError, AttributeError):
            pass
    return None


def together(work: Callable[[int], None], shares: int) -> None:
    """``work(0)`` ... ``work(shares - 1)``, by torch's threads; the first error is raised.

    Who does which share must not matter to the result.
    """
    threads, parallel = torch.get_num_threads(), openmp()
    if threads == 1 or parallel is None:
        share_out(work, shares, threads)
        return
    left = iter(range(shares))  # each thread takes the next one
    errors: list[BaseException] = []

    def take(_: int | None) -> None:
        try:
            for share in left:
                work(share)
        except BaseException as error:  # nothing may be raised through foreign code
            errors.append(error)

    parallel(ENTRY(take), None, ctypes.c_uint(threads), ctypes.c_uint(0))
    if errors:
        raise errors[0]
