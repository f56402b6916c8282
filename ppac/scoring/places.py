"""At which places of a user's best k the relevant items are, without sorting or listing the best.

An item's place is the number of items with a greater key, and few items are relevant: counting
for those costs a fraction of sorting all touched items into the best at each point of a grid.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppac.core.compiled import kernel, lowest_bit
from ppac.scoring.selection import NOTHING, RUN, ZEROS, key_of, reaching, score_of, turn_of


@kernel
def mark_hits(heaps, touched, relevant, ties, users, hits):  # type: ignore[no-untyped-def]
    """hits (B, k): whether a relevant item is at that place. For the rest see ``finish``."""
    keys, held = heaps
    scores, items, starts = touched
    indptr, relevant_items = relevant
    place, offset = ties
    k = keys.shape[1]
    for b in range(len(users)):
        some = slice(starts[b], starts[b + 1])
        for r in range(indptr[users[b]], indptr[users[b] + 1]):
            item = relevant_items[r]
            turn = turn_of(place[item], offset[b], len(place))
            key = key_among(scores[some], items[some], keys[b], held[b], item, turn)
            if key < keys[b, 0]:
                continue
            ahead = 0
            for other in keys[b]:
                ahead += other > key
            ahead = count_ahead(scores[some], items[some], key, ahead, k, place, offset[b])
            if ahead < k:
                hits[b, ahead] = True


@kernel
def key_among(
    scores: np.ndarray,
    items: np.ndarray,
    keys: np.ndarray,
    held: np.ndarray,
    item: int,
    turn: int,
) -> Any:
    """The item's key, if it is among one user's touched items or in the heap."""
    p = np.searchsorted(items, item)
    if p < len(items) and items[p] == item:
        return key_of(scores[p], turn)
    for j in range(len(held)):
        if held[j] == item:
            return keys[j]
    return NOTHING - 1


@kernel
def count_ahead(
    scores: np.ndarray,
    items: np.ndarray,
    key: int,
    ahead: int,
    k: int,
    place: np.ndarray,
    offset: int,
) -> int:
    """``ahead``, and one for each of a user's touched items that goes before; ``k`` are enough."""
    bar = score_of(key)
    for run in range(0, len(scores), RUN):
        if run + RUN <= len(scores):
            some = reaching(scores[run:].ctypes.data, ZEROS.ctypes.data, bar)
        else:
            some = np.uint64(0)
            for p in range(run, len(scores)):
                some |= np.uint64(scores[p] >= bar) << np.uint64(p - run)
        while some != 0:
            p = run + lowest_bit(some)
            some &= some - np.uint64(1)
            ahead += key_of(scores[p], turn_of(place[items[p]], offset, len(place))) > key
        if ahead >= k:
            break
    return ahead
