"""Everyone's best k by Jaccard similarity, exactly, a tile of candidates after the other.

Users are renumbered by size (how many items they have), so that a tile's users are of like
size: together with the similarity a candidate has to beat, sizes say how many items it must
have in common, and whole vectors of candidates are dismissed by one comparison.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import NamedTuple

import numpy as np

from ppac.core.compiled import kernel
from ppac.core.parallel import cores, share_out
from ppac.neighbours.counting import (
    Scratch,
    Tile,
    Users,
    by_size,
    count_lists,
    count_planes,
    prefers_lists,
    scratch_for,
    tile_of,
)
from ppac.neighbours.planes import forget
from ppac.neighbours.scanning import scan_counts, scan_planes
from ppac.progress import bar

TILE = 32768  # candidates at a time: their counts, a byte each, stay in a cache
STRETCH = 256  # users of like size that a thread takes at a time
EXPECTED = 0.85  # of the bar that users of like size have had is where it starts,
FOLLOW = 0.1  # each of them moving that by so much;
LOWER = 0.8  # it goes down in such steps until k candidates are found,
FAINT = 0.01  # and from here to nothing


class Best(NamedTuple):
    """Each user's best so far, best first."""

    similarity: np.ndarray  # (U, k)
    user: np.ndarray  # (U, k)
    held: np.ndarray  # (U,)


def search(indptr: np.ndarray, items: np.ndarray, n_items: int, k: int, tile: int = TILE) -> Best:
    """The best ``k`` of every user (a row of the CSR arrays), best first."""
    users = by_size(indptr, items)
    n = len(users.size)
    best = Best(np.zeros((n, k)), np.zeros((n, k), np.int32), np.zeros(n, np.int64))
    scratch = threading.local()

    def offer_to(share: int, some: Tile, own: bool) -> None:
        """The users of a stretch, counted from the end: the largest first."""
        if not hasattr(scratch, "own"):
            scratch.own = scratch_for(int(users.size[-1]), min(tile, n))
        begin, end = (some.first, some.last) if own else (0, n)
        end -= share * STRETCH
        meet(users, some, own, best, scratch.own, max(begin, end - STRETCH), end)

    with bar(total=2 * n, desc="neighbours", unit="user") as progress:
        for own in (True, False):  # their own tile first: it sets the bar for the others
            for first in range(0, n, tile):
                last = min(first + tile, n)
                if own or n > tile:
                    some = tile_of(users, first, last, n_items)
                    shares = -(-(last - first if own else n) // STRETCH)
                    share_out(partial(offer_to, some=some, own=own), shares, cores())
                progress.update(last - first)
    return best


@kernel
def meet(
    users: Users, tile: Tile, own: bool, best: Best, scratch: Scratch, begin: int, end: int
) -> None:
    """Offer a tile's candidates to users ``begin`` to ``end`` of the same tile, or of others."""
    planes, counts, rows, hits = scratch
    usual = 0.0
    for u in range(begin, end):
        if not own and (tile.first <= u < tile.last or hopeless(users, tile, best, u)):
            continue
        items = users.items[users.indptr[u] : users.indptr[u + 1]]
        along_lists = prefers_lists(tile, items)
        if along_lists:
            count_lists(tile, items, counts)
        else:
            count_planes(tile, items, planes, rows)
        if own:
            counts[u - tile.first] = 0
            forget(planes, u - tile.first)
        hint = EXPECTED * usual if usual else 0.5
        collect(users, tile, u, along_lists, counts, planes, hits, hint, best)
        if best.held[users.name[u]] == best.user.shape[1]:
            worst = best.similarity[users.name[u], -1]
            usual += (FOLLOW if usual else 1.0) * (worst - usual)


@kernel
def hopeless(users: Users, tile: Tile, best: Best, u: int) -> bool:
    """Whether sizes alone exclude every candidate: |A ∩ B| / |A ∪ B| <= min size / max size."""
    name = users.name[u]
    if best.held[name] < best.user.shape[1]:
        return False
    mine, least, most = users.size[u], users.size[tile.first], users.size[tile.last - 1]
    bound = 1.0
    if mine < least:
        bound = mine / least
    elif mine > most:
        bound = most / mine
    return bound < best.similarity[name, -1]


@kernel
def collect(
    users: Users,
    tile: Tile,
    u: int,
    along_lists: bool,
    counts: np.ndarray,
    planes: np.ndarray,
    hits: np.ndarray,
    hint: float,
    best: Best,
) -> None:
    """Offer u what was counted: first the most similar, until there are k to set the bar."""
    mine, name = users.size[u], users.name[u]
    sizes, names = users.size[tile.first : tile.last], users.name[tile.first : tile.last]
    similarity, user, held = best.similarity[name], best.user[name], best.held[name]
    floor, ceiling = hint, 2.0
    if held == len(user):
        floor = similarity[-1]
    while True:
        if along_lists:
            held = scan_counts(mine, sizes, names, floor, ceiling, counts, similarity, user, held)
        else:
            held = scan_planes(
                mine, sizes, names, floor, ceiling, planes, hits, similarity, user, held
            )
        if floor == 0 or (held == len(user) and similarity[-1] >= floor):
            break  # whatever is less similar than the floor could not enter
        floor, ceiling = (floor * LOWER if floor > FAINT else 0.0), floor
    best.held[name] = held
