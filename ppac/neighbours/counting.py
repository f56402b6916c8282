"""How many items a user has in common with each candidate of a tile.

Counted in one of two ways, whichever is cheaper: along the lists of each item's users, or for
frequent items by bit planes (see planes.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ppac.core.compiled import kernel
from ppac.neighbours.planes import LANES, add_one, add_rows, planes_for

GROUP = 64 * LANES  # candidates compared at a time
FREQUENT = 32  # users of a tile from which on an item is a row of bits beside a list
WORD = 0.4  # cost of adding a word of a row of bits, in steps along a list


class Users(NamedTuple):
    """The users in ascending order of size."""

    indptr: np.ndarray
    items: np.ndarray
    size: np.ndarray
    name: np.ndarray  # the id a user had before


class Tile(NamedTuple):
    """Candidates ``first`` to ``last`` by item: lists of places, and bits of frequent items."""

    first: int
    last: int
    start: np.ndarray  # (I + 1,) into places
    places: np.ndarray
    row: np.ndarray  # (I,) of bits, 0 for items that are no row
    bits: np.ndarray  # row 0 is empty


class Scratch(NamedTuple):
    """What one thread counts in."""

    planes: np.ndarray  # (P + 1, words)
    counts: np.ndarray  # (candidates,)
    rows: np.ndarray
    hits: np.ndarray  # (LANES,)


def scratch_for(largest: int, tile: int) -> Scratch:
    words = -(-tile // GROUP) * LANES
    return Scratch(
        planes=np.zeros((planes_for(largest) + 1, words), np.uint64),
        counts=np.zeros(64 * words, np.uint8),
        rows=np.zeros(largest + 8, np.int64),
        hits=np.zeros(LANES, np.uint64),
    )


def by_size(indptr: np.ndarray, items: np.ndarray) -> Users:
    """Among users of one size the larger id comes first, as it does among equals."""
    size = np.diff(indptr)
    name = (len(size) - 1 - np.argsort(size[::-1], kind="stable")).astype(np.int32)
    ends = np.zeros(len(indptr), np.int64)
    np.cumsum(size[name], out=ends[1:])
    moved = np.empty_like(items)
    move(indptr, items, name, ends, moved)
    return Users(ends, moved, size[name], name)


@kernel
def move(
    indptr: np.ndarray, items: np.ndarray, name: np.ndarray, ends: np.ndarray, moved: np.ndarray
) -> None:
    """Copy each user's items to their new place."""
    for u in range(len(name)):
        shift = indptr[name[u]] - ends[u]
        for p in range(ends[u], ends[u + 1]):
            moved[p] = items[p + shift]


def tile_of(users: Users, first: int, last: int, n_items: int) -> Tile:
    items = users.items[users.indptr[first] : users.indptr[last]]
    counts = np.bincount(items, minlength=n_items)
    start = np.zeros(n_items + 1, np.int64)
    np.cumsum(counts, out=start[1:])
    frequent = counts >= FREQUENT
    row = np.where(frequent, np.cumsum(frequent), 0).astype(np.int32)
    words = -(-(last - first) // GROUP) * LANES
    bits = np.zeros((frequent.sum() + 1, words), np.uint64)
    places = np.empty(len(items), np.uint16)
    fill(users.indptr[first : last + 1], items, start[:-1].copy(), places, row, bits)
    return Tile(first, last, start, places, row, bits)


@kernel
def fill(
    indptr: np.ndarray,
    items: np.ndarray,
    end: np.ndarray,
    places: np.ndarray,
    row: np.ndarray,
    bits: np.ndarray,
) -> None:
    """Write each user of a tile into the lists and rows of its items."""
    for place in range(len(indptr) - 1):
        bit = np.uint64(1) << np.uint64(place & 63)
        for p in range(indptr[place] - indptr[0], indptr[place + 1] - indptr[0]):
            i = items[p]
            places[end[i]] = place
            end[i] += 1
            if row[i]:
                bits[row[i], place >> 6] |= bit


@kernel
def prefers_lists(tile: Tile, items: np.ndarray) -> bool:
    steps = 0
    for i in items:
        steps += tile.start[i + 1] - tile.start[i]
    return len(items) < 2**8 and steps < WORD * tile.bits.shape[1] * len(items)


@kernel
def count_lists(tile: Tile, items: np.ndarray, counts: np.ndarray) -> None:
    for v in range(64 * tile.bits.shape[1]):  # whole vectors are read later
        counts[v] = 0
    for i in items:
        for p in range(tile.start[i], tile.start[i + 1]):
            counts[tile.places[p]] += np.uint8(1)


@kernel
def count_planes(tile: Tile, items: np.ndarray, planes: np.ndarray, rows: np.ndarray) -> None:
    n = 0
    for i in items:
        if tile.row[i]:
            rows[n] = tile.row[i]
            n += 1
    while n % 8:
        rows[n] = 0
        n += 1
    top = planes_for(len(items))
    for p in range(top):
        for w in range(planes.shape[1]):
            planes[p, w] = 0
    add_rows(planes, tile.bits, rows, n, top)
    for i in items:
        if not tile.row[i]:
            for p in range(tile.start[i], tile.start[i + 1]):
                add_one(planes, int(tile.places[p]))
