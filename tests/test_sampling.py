from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ppac.core.interactions import Interactions
from ppac.core.seeds import rng
from ppac.scoring.sampling import sample_negatives, trainable_pairs


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60))
def test_negatives_are_never_in_train(seed, rows):
    chance = np.random.default_rng(seed)
    train = Interactions.of(chance.integers(6, size=rows), chance.integers(7, size=rows), 6, 7)
    users = train.users[trainable_pairs(train)]
    negatives = sample_negatives(train, users, chance)
    assert not train.contains(users, negatives).any()


def test_negatives_are_uniform_over_what_is_lacking():
    train = Interactions.of(np.zeros(90, int), np.arange(90), 2, 100)
    drawn = sample_negatives(train, np.zeros(5000, int), rng(1))
    counts = np.bincount(drawn, minlength=100)
    assert counts[:90].sum() == 0
    assert counts[90:].min() > 400


def test_a_user_who_lacks_one_item_gets_that_one():
    train = Interactions.of(np.zeros(999, int), np.arange(999), 1, 1000)
    assert (sample_negatives(train, np.zeros(5, int), rng(1)) == 999).all()


def test_a_user_who_has_everything_is_left_out():
    train = Interactions.of(np.array([0, 0, 1]), np.array([0, 1, 0]), 2, 2)
    assert train.users[trainable_pairs(train)].tolist() == [1]
