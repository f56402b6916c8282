"""Made-up interactions of any size with power laws on both sides, for what no file here has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ppac.core.interactions import Interactions


@dataclass(frozen=True)
class Shape:
    """How large, and how uneven.

    User counts follow a Pareto law cut at ``most``. Item weights follow the Zipf-Mandelbrot law
    (rank + ``shift``) ** -``zipf``; the shift flattens the head, as in real data.
    """

    users: int
    items: int
    interactions: int
    fewest: int = 20  # of a user
    most: int = 9_000
    zipf: float = 1.0
    shift: float = 100.0


def user_counts(shape: Shape) -> np.ndarray:
    """The quantiles of the Pareto law whose exponent makes them sum to ``interactions``.

    >>> counts = user_counts(Shape(users=100, items=500, interactions=4_000, most=400))
    >>> int(counts.sum()), int(counts.min())
    (4000, 20)
    """
    if not shape.fewest <= shape.interactions / shape.users < shape.most < shape.items:
        raise ValueError(f"no power law fits {shape}")
    quantiles = (np.arange(shape.users) + 0.5) / shape.users
    low, high = 0.01, 100.0
    for _ in range(100):  # the larger the exponent, the fewer interactions
        exponent = (low + high) / 2
        counts = np.minimum(shape.fewest * quantiles ** (-1 / exponent), shape.most)
        low, high = (exponent, high) if counts.sum() > shape.interactions else (low, exponent)
    whole = np.floor(counts).astype(np.int64)
    # Rounding down lost less than one of each user: hand it back to the largest losses.
    lost = shape.interactions - int(whole.sum())
    whole[np.argsort(whole - counts)[:lost]] += 1
    return whole


def make(shape: Shape, rng: np.random.Generator) -> Interactions:
    """Exactly ``interactions`` distinct pairs, the items of a user drawn by weight.

    Everybody draws more than they want and duplicates fall away. Who still lacks some draws
    again, each time twice as many: some want a third of all items, the rare ones included.
    """
    wanted = rng.permutation(user_counts(shape))
    weights = (np.arange(1, shape.items + 1) + shape.shift) ** -shape.zipf
    edges = np.cumsum(weights) / weights.sum()
    ids = rng.permutation(shape.items)  # an id must not tell how popular the item is
    active, codes, draws = np.arange(shape.users), np.empty(0, dtype=np.int64), 1.5
    done = []
    while len(active):
        users = np.repeat(active, np.ceil(wanted[active] * draws).astype(np.int64))
        ranks = np.searchsorted(edges, rng.random(len(users))).clip(max=shape.items - 1)
        codes = distinct(np.concatenate([codes, users * shape.items + ids[ranks]]))
        counts = np.bincount(codes // shape.items, minlength=shape.users)
        ready = np.repeat(counts >= wanted, counts)
        done.append(codes[ready][some_of_each(counts, wanted, rng)])
        active, codes, draws = active[counts[active] < wanted[active]], codes[~ready], draws * 2
    indptr = np.concatenate([[0], np.cumsum(wanted)])
    items = (np.sort(np.concatenate(done)) % shape.items).astype(np.int32)
    return Interactions(shape.items, indptr, items)


def distinct(values: np.ndarray) -> np.ndarray:
    """The sorted distinct values; for tens of millions far faster than np.unique's hashing."""
    values = np.sort(values)
    return values[np.concatenate([[True], values[1:] != values[:-1]])]


def some_of_each(counts: np.ndarray, wanted: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Which to keep of consecutive runs of ``counts``: ``wanted`` of each run that has enough.

    What is kept is a window of the run, its start drawn by chance and its end wrapped around,
    so that every member is as likely to stay; cheaper than shuffling each run.
    """
    enough = counts >= wanted
    counts, wanted = counts[enough], wanted[enough]
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    start = (rng.random(len(counts)) * counts).astype(np.int64)
    place += np.repeat(start, counts)
    return place % np.repeat(counts, counts) < np.repeat(wanted, counts)
