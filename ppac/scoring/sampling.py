"""Drawing training triples: a positive of train, and an item the user does not have there."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from ppac.core.compiled import kernel
from ppac.core.interactions import Interactions
from ppac.core.parallel import in_order

ROUNDS = 20
PIECE = 1 << 16  # pairs that one thread looks up at a time


def sample_negatives(
    train: Interactions, users: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """One item for each of ``users``, uniform over those the user does not have in train.

    Each user must lack something.
    """
    items = rng.integers(train.n_items, size=len(users), dtype=np.int32)
    again = had(train, users, items)
    for _ in range(ROUNDS):
        if not len(again):
            return items
        items[again] = rng.integers(train.n_items, size=len(again), dtype=np.int32)
        again = again[had(train, users[again], items[again])]
    # What is left belongs to users who have nearly everything: the n-th item that they lack.
    lacking = train.n_items - train.user_counts[users[again]]
    items[again] = absent(train.indptr, train.items, users[again], rng.integers(lacking))
    return items


def had(train: Interactions, users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Where the user has the item."""
    starts = range(0, max(len(users), 1), PIECE)
    pieces = (partial(train.contains, users[n : n + PIECE], items[n : n + PIECE]) for n in starts)
    return np.flatnonzero(np.concatenate([*in_order(pieces, torch.get_num_threads())]))


def trainable_pairs(train: Interactions) -> np.ndarray:
    """Indices of the train pairs whose user lacks at least one item."""
    return np.flatnonzero(train.user_counts[train.users] < train.n_items)


@kernel
def absent(indptr: np.ndarray, have: np.ndarray, users: np.ndarray, nth: np.ndarray) -> np.ndarray:
    """Of the items each user lacks, the one with so many before it."""
    items = np.empty(len(users), np.int32)
    for place in range(len(users)):
        item = nth[place]
        for p in range(indptr[users[place]], indptr[users[place] + 1]):
            if have[p] > item:
                break
            item += 1
        items[place] = item
    return items
