"""Made-up interactions with a planted truth, for runs without a network and for tests.

User u and item i belong to the interest groups ``u % groups`` and ``i % groups``. Item i's
weight is ``(i + 1) ** -popularity``, so that a smaller id is a more popular item, both overall
and within its group. A user draws about ``per_user`` different items by these weights: the share
``loyalty`` from the own group, the others from the other groups.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic import Field

from ppac.core.config import Section
from ppac.core.seeds import rng as named

FEWEST = 5  # interactions of a user, so that every user survives the split

Count = Annotated[int, Field(ge=1)]


class Entry(Section):
    format: str
    seed: int
    users: Count
    items: Count
    groups: Count
    per_user: Annotated[float, Field(ge=0)]
    loyalty: Annotated[float, Field(ge=0, le=1)]
    popularity: Annotated[float, Field(ge=0)]


def groups_of(count: int, groups: int) -> npt.NDArray[np.int64]:
    """The planted group of each of ``count`` users or items.

    >>> groups_of(5, 2).tolist()
    [0, 1, 0, 1, 0]
    """
    return np.arange(count, dtype=np.int64) % groups


def weights(items: int, exponent: float) -> npt.NDArray[np.float64]:
    """Zipf's law: the planted popularity of each item.

    >>> weights(4, 1.0).tolist()
    [1.0, 0.5, 0.3333333333333333, 0.25]
    """
    return np.arange(1, items + 1, dtype=np.float64) ** -exponent


def draw(
    pool: npt.NDArray[np.int64],
    weight: npt.NDArray[np.float64],
    count: int,
    rng: np.random.Generator,
) -> npt.NDArray[np.int64]:
    """``count`` different items of ``pool`` by weight, or all of them if there are no more.

    The largest ``log(weight) + Gumbel noise`` are a weighted draw without replacement, also
    where the weights are too uneven for drawing one after another.
    """
    keys = np.log(weight[pool]) + rng.gumbel(size=len(pool))
    return pool[np.argsort(-keys, kind="stable")[:count]]


def make(entry: Entry) -> pl.DataFrame:
    """The interactions, the same for the same entry."""
    rng = named(entry.seed, "synthetic")
    item_groups = groups_of(entry.items, entry.groups)
    weight = weights(entry.items, entry.popularity)
    counts = np.maximum(rng.poisson(entry.per_user, entry.users), FEWEST)
    loyal = rng.binomial(counts, entry.loyalty)
    rows = []
    for user, group in enumerate(groups_of(entry.users, entry.groups)):
        inside = draw(np.flatnonzero(item_groups == group), weight, loyal[user], rng)
        others = np.flatnonzero(item_groups != group)
        outside = draw(others, weight, counts[user] - len(inside), rng)
        rows.append(np.concatenate((inside, outside)))
    users = np.repeat(np.arange(entry.users, dtype=np.int64), [len(row) for row in rows])
    return pl.DataFrame({"user": users, "item": np.concatenate(rows)})
