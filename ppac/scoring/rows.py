"""What layers do to the rows of a piece besides multiplying; the last argument is written to.

As in torch: what is not a number stays so, both ways, and units that are off let nothing back.
"""

from __future__ import annotations

import numpy as np

from ppac.core.compiled import kernel

ZERO = np.float32(0)


@kernel
def repeat(row: np.ndarray, out: np.ndarray) -> None:
    for b in range(out.shape[0]):
        for h in range(out.shape[1]):
            out[b, h] = row[h]


@kernel
def copy(rows: np.ndarray, out: np.ndarray) -> None:
    for b in range(out.shape[0]):
        for h in range(out.shape[1]):
            out[b, h] = rows[b, h]


@kernel
def add(rows: np.ndarray, out: np.ndarray) -> None:
    for b in range(out.shape[0]):
        for h in range(out.shape[1]):
            out[b, h] += rows[b, h]


@kernel
def add_sum(rows: np.ndarray, out: np.ndarray) -> None:
    """out += the sum of the rows."""
    for b in range(rows.shape[0]):
        for h in range(rows.shape[1]):
            out[h] += rows[b, h]


@kernel
def relu(units: np.ndarray) -> None:
    for b in range(units.shape[0]):
        for h in range(units.shape[1]):
            value = units[b, h]
            units[b, h] = ZERO if value < 0 else value


@kernel
def relu_of_sum(row: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    for b in range(out.shape[0]):
        for h in range(out.shape[1]):
            value = row[h] + rows[b, h]
            out[b, h] = ZERO if value < 0 else value


@kernel
def leaky_relu(leaks: np.ndarray, units: np.ndarray) -> None:
    for b in range(units.shape[0]):
        for h in range(units.shape[1]):
            value = units[b, h]
            units[b, h] = leaked(leaks[h], value) if value < 0 else value


@kernel
def leaky_relu_back(leaks: np.ndarray, units: np.ndarray, gradient: np.ndarray) -> None:
    for b in range(units.shape[0]):
        for h in range(units.shape[1]):
            value = gradient[b, h]
            gradient[b, h] = leaked(leaks[h], value) if units[b, h] <= 0 else value


@kernel
def leaked(leak: np.float32, value: np.float32) -> np.float32:
    """Their product; nothing of an infinite one too."""
    return ZERO if leak == 0 else leak * value
