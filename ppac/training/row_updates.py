"""Adam's updates of some rows of a table, compiled. See ``ppac/training/adam.py``.

Both kernels first list their rows, so that each is on its way from memory while the ones before
it are worked on: the rows of a batch lie anywhere, and waiting for them would be most of the time.
"""

from __future__ import annotations

import numpy as np

from ppac.core.compiled import kernel, loose_kernel
from ppac.scoring.propagation import LINE, prefetch

SHARES = 4  # of a table's rows, for threads to take
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


@loose_kernel
def make_up(
    share: int,
    table: np.ndarray,
    momentum: np.ndarray,
    squares: np.ndarray,
    done: np.ndarray,
    rows: np.ndarray,
    rates: np.ndarray,
) -> None:
    """The updates that the rows missed: their gradient was zero, so both means only shrank."""
    width, now = table.shape[1], len(rates)
    behind, since = np.empty(len(rows), np.int64), np.empty(len(rows), np.int32)
    n = 0
    for place in range(len(rows)):
        row = rows[place]
        if row % SHARES == share and done[row] < now:
            behind[n], since[n] = row, done[row]
            done[row] = now
            n += 1
    root = np.empty(width, np.float32)
    for place in range(n):
        ask_for(behind[min(place + AHEAD, n - 1)], table, momentum, squares)
        mine, m, v = table[behind[place]], momentum[behind[place]], squares[behind[place]]
        for j in range(width):
            root[j] = np.sqrt(v[j])
        missed = now - since[place]
        kept_m = kept_v = 1.0  # of both means, after so many steps
        for step in range(since[place], since[place] + min(missed, FADED)):
            kept_m *= MOMENTUM
            kept_v *= SQUARES
            of_m = np.float32(rates[step, 0] * kept_m)
            of_root = np.float32(rates[step, 1] * np.sqrt(kept_v))
            for j in range(width):
                mine[j] -= of_m * m[j] / (of_root * root[j] + np.float32(EPSILON))
        if missed > FADED:
            kept_m, kept_v = MOMENTUM**missed, SQUARES**missed
        for j in range(width):
            m[j] *= np.float32(kept_m)
            v[j] *= np.float32(kept_v)


@loose_kernel
def update(
    share: int,
    table: np.ndarray,
    momentum: np.ndarray,
    squares: np.ndarray,
    done: np.ndarray,
    rows: np.ndarray,
    values: np.ndarray,
    first: np.ndarray,
    following: np.ndarray,
    rate: np.ndarray,
    now: int,
) -> None:
    """One step for each of the rows, whose gradient is the sum of its values, in their order.

    ``first`` says where a row's first value is, and ``following`` where its next is.
    """
    width = table.shape[1]
    for place in range(len(rows) - 1, -1, -1):
        if rows[place] % SHARES == share:
            following[place] = first[rows[place]]
            first[rows[place]] = place
    firsts = np.empty(len(rows), np.int32)
    n = 0
    for place in range(len(rows)):
        if rows[place] % SHARES == share and first[rows[place]] == place:
            firsts[n] = place
            first[rows[place]] = -1
            n += 1
    total = np.empty(width, np.float32)
    old_m, new_m, of_m = np.float32(MOMENTUM), np.float32(1 - MOMENTUM), rate[0]
    old_v, new_v, of_root = np.float32(SQUARES), np.float32(1 - SQUARES), rate[1]
    for place in range(n):
        coming = firsts[min(place + AHEAD, n - 1)]
        ask_for(rows[coming], table, momentum, squares)
        total[:] = 0
        value = firsts[place]
        row = rows[value]
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
