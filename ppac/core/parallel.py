"""Compiled kernels on several threads: they release Python's lock, so plain threads do."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads)


def cores() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(work: Iterable[Callable[[], T]], threads: int) -> Iterator[T]:
    """The results one after the other, by ``threads`` at a time and few of them waiting."""
    waiting: deque[Future[T]] = deque()
    for piece in work:
        waiting.append(pool(threads).submit(piece))
        if len(waiting) > threads:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def share_out(work: Callable[[int], None], shares: int, threads: int) -> None:
    """``work(0)`` ... ``work(shares - 1)``, by ``threads`` at a time; the first error is raised.

    Who does which share must not matter to the result.
    """
    left = iter(range(shares))  # each thread takes the next one

    def take() -> None:
        for share in left:
            work(share)

    helpers = [pool(threads).submit(take) for _ in range(min(threads, shares) - 1)]
    try:
        take()
    finally:
        for helper in helpers:
            helper.result()
