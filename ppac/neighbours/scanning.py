"""Finding those with enough in common: whole vectors of candidates against one number."""

from __future__ import annotations

import numpy as np

from ppac.core.compiled import kernel, lowest_bit
from ppac.neighbours.best import offer
from ppac.neighbours.counting import GROUP
from ppac.neighbours.planes import (
    LANES,
    at_least,
    count_at,
    counts_at_least,
    planes_for,
    some_at_least,
)

UNSURE = 1 - 1e-12  # a bound in floating point gives way to the exact comparison


@kernel
def share_of(similarity: float) -> float:
    """x such that J >= similarity takes x (size + its size) items in common."""
    return similarity / (1 + similarity) * UNSURE


@kernel
def raised(floor: float, similarity: np.ndarray, held: int) -> float:
    """The bar: once k are held, their worst."""
    return max(floor, similarity[-1]) if held == len(similarity) else floor


@kernel
def needed(share: float, sizes: int) -> int:
    bound = share * sizes
    whole = int(bound)
    return max(1, whole + int(whole < bound))


@kernel
def scan_counts(
    mine: int,
    sizes: np.ndarray,
    names: np.ndarray,
    floor: float,
    ceiling: float,
    counts: np.ndarray,
    similarity: np.ndarray,
    user: np.ndarray,
    held: int,
) -> int:
    """Offer the candidates with ``floor`` <= J < ``ceiling`` that may enter; how many are held."""
    share = share_of(floor)
    at = counts.ctypes.data
    for group in range(0, len(sizes), GROUP):
        least = needed(share, mine + sizes[group])
        if least > mine or not some_at_least(at + group, least):
            continue
        for v in range(group, group + GROUP, 64):
            hits = counts_at_least(at + v, least)
            while hits != 0:
                j = v + lowest_bit(hits)
                hits &= hits - np.uint64(1)
                common = np.int64(counts[j])
                found = common / (mine + sizes[j] - common)
                if floor <= found < ceiling:
                    held = offer(similarity, user, held, found, names[j])
        floor = raised(floor, similarity, held)
        share = share_of(floor)
    return held


@kernel
def scan_planes(
    mine: int,
    sizes: np.ndarray,
    names: np.ndarray,
    floor: float,
    ceiling: float,
    planes: np.ndarray,
    hits: np.ndarray,
    similarity: np.ndarray,
    user: np.ndarray,
    held: int,
) -> int:
    """The same from bit planes."""
    share = share_of(floor)
    top = planes_for(mine)
    at, stride, out = planes.ctypes.data, planes.strides[0], hits.ctypes.data
    for group in range(0, len(sizes), GROUP):
        least = needed(share, mine + sizes[group])
        if least > mine or not at_least(at + (group >> 3), stride, top, least, out):
            continue
        for w in range(LANES):
            word = hits[w]
            while word != 0:
                j = group + w * 64 + lowest_bit(word)
                word &= word - np.uint64(1)
                common = count_at(planes, top, j)
                found = common / (mine + sizes[j] - common)
                if floor <= found < ceiling:
                    held = offer(similarity, user, held, found, names[j])
        floor = raised(floor, similarity, held)
        share = share_of(floor)
    return held
