"""The best k of a row of scores, exactly and repeatably, as one pass over the scores.

A run of 64 scores is compared with the worst of the best k so far in a few vector
instructions, and only those that reach it are looked at. What is held is a heap with the
worst at its root: the smaller score, among equals the one later in the user's tie order. Both
make one integer, so that a comparison is one instruction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from ppac.core.compiled import intrinsic, kernel, lowest_bit, splat

RUN = 64  # scores compared at a time: a bit each in a word
ZEROS = np.zeros(RUN, np.float32)  # what is added to a run that is scores already
EMPTY = np.int32(-1)  # in place of an item
LAST_TURN = 2**31 - 1
NOTHING = (-2139095041 << 32) - LAST_TURN  # its key: -inf, and after everything else


@kernel
def key_of(score: float, turn: int) -> Any:
    """An integer that sorts by score, then by turn, the earlier the better.

    A float's bits, read as an integer, sort like the float once negative ones are flipped.
    """
    bits = np.int64(np.float32(score + np.float32(0)).view(np.int32))  # -0.0 becomes 0.0
    return ((bits ^ ((bits >> 63) & 0x7FFFFFFF)) << 32) - turn


@kernel
def score_of(key: int) -> Any:
    """The score in a key."""
    bits = (key + LAST_TURN) >> 32
    return np.int32(bits ^ ((bits >> 63) & 0x7FFFFFFF)).view(np.float32)


@kernel
def turn_of(place: int, offset: int, n_items: int) -> Any:
    """When an item's turn is among equals: the tie order begins elsewhere for each user."""
    turn = place + offset
    return turn - n_items if turn >= n_items else turn


@kernel
def offer(keys: np.ndarray, items: np.ndarray, key: int, item: int, n: int) -> None:
    """Replace the root of a heap of ``n`` if it is worse, and let the new one sink."""
    if key <= keys[0]:
        return
    place, child = 0, 1
    while child < n:
        child += child + 1 < n and keys[child + 1] < keys[child]
        if key <= keys[child]:
            break
        keys[place], items[place] = keys[child], items[child]
        place, child = child, 2 * child + 1
    keys[place], items[place] = key, item


@kernel
def select(
    tile: np.ndarray,  # (B, n)
    first: int,  # the item of column 0, a multiple of RUN
    added: np.ndarray,  # (G, I) what each of some groups adds to it: together, the scores
    hidden: np.ndarray,  # (B, ceil(I / RUN)) words: a bit for each item not for this user
    place: np.ndarray,  # (I,) the tie order
    offset: np.ndarray,  # (B,) where it begins for each user
    keys: np.ndarray,  # (G, B, k), with items: the heaps
    items: np.ndarray,
) -> bool:
    """Offer a tile of scores to each group; whether all of them are finite."""
    fine = True
    n, n_items = tile.shape[1], len(place)
    for b in range(len(tile)):
        row = tile[b]
        for g in range(len(added)):  # while the row is in the first-level cache
            more = added[g, first:]
            held, whose = keys[g, b], items[g, b]
            bar = score_of(held[0])
            for run in range(0, n, RUN):
                if run + RUN <= n:
                    addresses = row[run:].ctypes.data, more[run:].ctypes.data
                    fine &= not wild(*addresses)
                    hits = reaching(*addresses, bar)
                else:
                    hits = np.uint64(0)
                    for i in range(run, n):
                        fine &= abs(row[i] + more[i]) < np.inf
                        hits |= np.uint64(row[i] + more[i] >= bar) << np.uint64(i - run)
                hits &= ~hidden[b, (first + run) // RUN]
                while hits != 0:
                    i = run + lowest_bit(hits)
                    hits &= hits - np.uint64(1)
                    score = row[i] + more[i]
                    if score >= bar:  # which has risen since the run was compared
                        turn = turn_of(place[first + i], offset[b], n_items)
                        offer(held, whose, key_of(score, turn), first + i, len(held))
                        bar = score_of(held[0])
    return fine


@kernel
def finish(
    keys: np.ndarray,  # (B, k), with items: heaps, left as they are
    items: np.ndarray,
    scores: np.ndarray,  # of more candidates
    candidates: np.ndarray,  # their items, user after user
    starts: np.ndarray,  # (B + 1,)
    place: np.ndarray,
    offset: np.ndarray,
    best: np.ndarray,  # (B, k) out: items, best first, EMPTY where there are no more
    values: np.ndarray,  # (B, k) out: their scores
) -> None:
    """Join more candidates to the heaps and sort."""
    k, n_items = keys.shape[1], len(place)
    held, whose = np.empty(k, np.int64), np.empty(k, np.int32)
    for b in range(len(keys)):
        for j in range(k):
            held[j], whose[j] = keys[b, j], items[b, j]
        bar = score_of(held[0])
        for p in range(starts[b], starts[b + 1]):
            if scores[p] >= bar:
                turn = turn_of(place[candidates[p]], offset[b], n_items)
                offer(held, whose, key_of(scores[p], turn), candidates[p], k)
                bar = score_of(held[0])
        for last in range(k - 1, -1, -1):  # the root, the worst, goes to the end each time
            best[b, last], values[b, last] = whose[0], score_of(held[0])
            key, item = held[last], whose[last]
            held[0], whose[0] = NOTHING, EMPTY
            offer(held, whose, key, item, last)


@kernel
def finite(values: np.ndarray) -> bool:
    """Whether all values are: then each less itself is 0."""
    odd = 0
    for value in values:
        odd += value - value != 0
    return odd == 0


@intrinsic
def reaching(typing: Any, address: Any, more: Any, bar: Any) -> tuple[Any, Any]:
    """Which of a run of sums are at least ``bar``: a bit each."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        run, bar = load_sums(builder, *args[:2]), args[2]
        enough = builder.fcmp_ordered(">=", run, splat(builder, bar, run.type))
        return builder.bitcast(enough, ir.IntType(64))

    return types.uint64(types.int64, types.int64, types.float32), code


@intrinsic
def wild(typing: Any, address: Any, more: Any) -> tuple[Any, Any]:
    """Whether a run of sums has an inf or a nan."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        run = load_sums(builder, *args)
        none = builder.fsub(run, run)  # 0, if the score is finite
        word = builder.fcmp_unordered("!=", none, ir.Constant(run.type, [0.0] * RUN))
        word = builder.bitcast(word, ir.IntType(64))
        return builder.icmp_unsigned("!=", word, ir.Constant(word.type, 0))

    return types.boolean(types.int64, types.int64), code


def load_sums(builder: Any, *addresses: Any) -> Any:
    vector = ir.VectorType(ir.FloatType(), RUN)
    values = [builder.load(builder.inttoptr(at, vector.as_pointer())) for at in addresses]
    for value in values:
        value.align = 4
    return builder.fadd(*values)
