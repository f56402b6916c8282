"""Spearman's rank correlation of many short lists at once."""

from __future__ import annotations

import numpy as np

ROWS = 2048  # at a time: pairs of places are compared, (ROWS, K, K)


def agreement(values: np.ndarray) -> np.ndarray:
    """Minus the rank correlation of each row's values with their positions.

    1 where the largest value comes first and the smallest last. Ties get their mean rank;
    a row whose values are all equal agrees with nothing, 0. NaN marks missing places, which
    stand at the end of a row.

    >>> agreement(np.array([[3.0, 2.0, 1.0], [1.0, 2.0, 3.0], [5.0, 5.0, 5.0]]))
    array([ 1., -1.,  0.])
    """
    there = ~np.isnan(values)
    n = there.sum(axis=1, keepdims=True)
    full = np.where(there, values, np.inf)  # missing ones rank behind all
    ranks = np.concatenate(
        [mean_ranks(full[start : start + ROWS]) for start in range(0, len(full), ROWS)]
    )
    places = np.arange(1, values.shape[1] + 1)
    middle = (n + 1) / 2
    x = np.where(there, ranks - middle, 0)
    y = np.where(there, places - middle, 0)
    spread = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    together = (x * y).sum(axis=1)
    return -np.divide(together, spread, out=np.zeros(len(values)), where=spread > 0) + 0.0


def mean_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1 within each row, equal values sharing the mean of theirs.

    >>> mean_ranks(np.array([[7.0, 3.0, 7.0]]))
    array([[2.5, 1. , 2.5]])
    """
    one, other = values[:, :, None], values[:, None, :]
    return (other < one).sum(axis=2) + ((other == one).sum(axis=2) + 1) / 2
