"""The past is train, then comes validation, and the latest interactions are the test."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ppac.core.errors import Problem
from ppac.splitting.pairs import Pairs, narrowed
from ppac.splitting.parts import BOTH, TRAIN, VALID, Split, SplitConfig, parts_of


def dated(pairs: Pairs, config: SplitConfig) -> Pairs:
    """Which part each pair belongs to by its time; without users and items that train lacks.

    Nothing is learned about those, so nothing could be recommended to them or of them.
    """
    if pairs.time is None:
        raise Problem(
            "protocol 'temporal' needs to know when: the dataset has no timestamps. Name that "
            "column in its entry, or choose the protocol 'balanced' or 'random'."
        )
    era = eras(pairs.time, config.valid, config.test)
    past = era == TRAIN
    known_user = np.zeros(len(pairs.users), dtype=bool)
    known_item = np.zeros(len(pairs.items), dtype=bool)
    known_user[pairs.user[past]] = True
    known_item[pairs.item[past]] = True
    warm = known_user[pairs.user] & known_item[pairs.item]
    return narrowed(replace(pairs, era=era), warm, "not_in_train_yet")


def eras(time: np.ndarray, valid: float, test: float) -> np.ndarray:
    """TRAIN, VALID or BOTH for each pair; what happened at one moment stays together.

    >>> eras(np.array([1, 2, 3, 4, 5, 5, 6, 7, 8, 9]), valid=0.2, test=0.2).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 4, 4]
    """
    order = np.sort(time)
    latest, later = (len(order) - round(share * len(order)) for share in (test, test + valid))
    first_test, first_valid = (order[min(n, len(order) - 1)] for n in (latest, later))
    return np.where(time >= first_test, BOTH, np.where(time >= first_valid, VALID, TRAIN))


def temporal(pairs: Pairs, config: SplitConfig, rng: np.random.Generator) -> Split:
    """By time. As nothing is balanced, the test is the random test, too."""
    assert pairs.era is not None
    if not (pairs.era == TRAIN).any():
        raise Problem("protocol 'temporal': everything happened at once, so there is no past.")
    return Split(parts_of(pairs.era), ["train", "valid"], {})
