"""Adam's updates of some rows of a table, compiled. See ``ppac/training/adam.py``.

The rows of a batch lie anywhere, and waiting for them would be most of the time. So both kernels
go through them in ascending order, each on its way from memory while the ones before it are
worked on.
"""

from __future__ import annotations

import numpy as np

from ppac.core.compiled import kernel, loose_kernel
from ppac.scoring.propagation import LINE, prefetch

SHARES = 8  # of a table's rows, for threads to take
MOMENTUM, SQUARES = 0.9, 0.999  # what one step keeps of either mean
EPSILON = 1e-8
FADED = 200  # steps without a gradient after which the momentum no longer moves a float32
AHEAD = 6  # rows


@kernel
def ask_for(row: int, table: np.ndarray, momentum: np.ndarray, squares: np.ndarray) -> None:
    """Have a row brought from memory."""
    width = table.strides[0]
    for line in range(0, width, LINE):
        prefetch(table.ctypes.data + row * width + line)
        prefetch(momentum.ctypes.data + row * width + line)
        prefetch(squares.ctypes.data + row * width + line)


@kernel
def link(rows: np.ndarray, first: np.ndarray, following: np.ndarray) -> bool:
    """Where each row first is among the rows, or -1, and where it is next; whether all exist."""
    first[:] = -1
    for place in range(len(rows) - 1, -1, -1):
        if not 0 <= rows[place] < len(first):
            return False
        following[place] = first[rows[place]]
        first[rows[place]] = place
    return True


@kernel
def listed(share: int, first: np.ndarray, whole: bool) -> np.ndarray:
    """The linked rows of a share of the table, or all of it."""
    start, stop = len(first) * share // SHARES, len(first) * (share + 1) // SHARES
    found = np.empty(stop - start, np.int64)
    n = 0
    for row in range(start, stop):
        found[n] = row
        n += whole or first[row] >= 0
    return found[:n]


@loose_kernel
def make_up(
    share: int,
    table: np.ndarray,
    momentum: np.ndarray,
    squares: np.ndarray,
    done: np.ndarray,
    first: np.ndarray,
    following: np.ndarray,
    rates: np.ndarray,
    out: np.ndarray,
) -> None:
    """The updates that the linked rows missed: without a gradient both means only shrank.

    They are then copied to ``out``, each to all of its places there, if it has any.
    """
    width, now = table.shape[1], len(rates)
    root = np.empty(width, np.float32)
    rows = listed(share, first, False)
    for place in range(len(rows)):
        row = rows[place]
        ask_for(rows[min(place + AHEAD, len(rows) - 1)], table, momentum, squares)
        missed = now - done[row]
        mine, m, v = table[row], momentum[row], squares[row]
        for j in range(width):
            root[j] = np.sqrt(v[j])
        kept_m = kept_v = 1.0  # of both means, after so many steps
        for step in range(done[row], done[row] + min(missed, FADED)):
            kept_m *= MOMENTUM
            kept_v *= SQUARES
            of_m = np.float32(rates[step, 0] * kept_m)
            of_root = np.float32(rates[step, 1] * np.sqrt(kept_v))
            for j in range(width):
                mine[j] -= of_m * m[j] / (of_root * root[j] + np.float32(EPSILON))
        if missed > FADED:
            kept_m, kept_v = MOMENTUM**missed, SQUARES**missed
        for j in range(width if missed else 0):
            m[j] *= np.float32(kept_m)
            v[j] *= np.float32(kept_v)
        done[row] = now
        to = first[row] if len(out) else -1
        while to >= 0:
            out[to] = mine
            to = following[to]


@loose_kernel
def update(
    share: int,
    table: np.ndarray,
    momentum: np.ndarray,
    squares: np.ndarray,
    done: np.ndarray,
    first: np.ndarray,
    following: np.ndarray,
    values: np.ndarray,
    rate: np.ndarray,
    now: int,
    whole: bool,
) -> None:
    """One step for the linked rows, or for all, whose gradient is the sum of their values."""
    width = table.shape[1]
    total = np.empty(width, np.float32)
    old_m, new_m, of_m = np.float32(MOMENTUM), np.float32(1 - MOMENTUM), rate[0]
    old_v, new_v, of_root = np.float32(SQUARES), np.float32(1 - SQUARES), rate[1]
    rows = listed(share, first, whole)
    for place in range(len(rows)):
        row = rows[place]
        coming = rows[min(place + AHEAD, len(rows) - 1)]
        if not whole:  # else the processor sees what comes
            ask_for(coming, table, momentum, squares)
        for line in range(0, values.strides[0] if first[coming] >= 0 else 0, LINE):
            prefetch(values.ctypes.data + first[coming] * values.strides[0] + line)
        total[:] = 0
        value = first[row]
        while value >= 0:
            for j in range(width):
                total[j] += values[value, j]
            value = following[value]
        mine, m, v = table[row], momentum[row], squares[row]
        for j in range(width):
            m[j] = old_m * m[j] + new_m * total[j]
            v[j] = old_v * v[j] + new_v * total[j] * total[j]
            mine[j] -= of_m * m[j] / (of_root * np.sqrt(v[j]) + np.float32(EPSILON))
        done[row] = now
