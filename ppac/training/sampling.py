"""Drawing training triples: a positive of train, and an item the user does not have there."""

from __future__ import annotations

import numpy as np

from ppac.core.interactions import Interactions

ROUNDS = 20


def sample_negatives(
    train: Interactions, users: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """One item for each of ``users``, uniform over those the user does not have in train.

    Drawn again where it hits; what is left after some rounds (users who have nearly
    everything) is drawn from the list of what they lack. Each user must lack something.
    """
    items = rng.integers(train.n_items, size=len(users), dtype=np.int32)
    again = np.arange(len(users))
    for _ in range(ROUNDS):
        again = again[train.contains(users[again], items[again])]
        if not len(again):
            return items
        items[again] = rng.integers(train.n_items, size=len(again), dtype=np.int32)
    for place in again:
        user = users[place]
        own = train.items[train.indptr[user] : train.indptr[user + 1]]
        items[place] = rng.choice(np.setdiff1d(np.arange(train.n_items), own))
    return items


def trainable_pairs(train: Interactions) -> np.ndarray:
    """Indices of the train pairs whose user lacks at least one item."""
    return np.flatnonzero(train.user_counts[train.users] < train.n_items)
