"""Dividing interactions into train, validation, an intervened test and a random test.

In an intervened set every item has as equal a say as its count allows, so that a model
gains nothing there by recommending what is popular anyway (the paper, section 4.1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from ppac.core.config import FILE
from ppac.core.errors import Problem, nearest
from ppac.core.interactions import PARTS
from ppac.splitting.balancing import distinct, quota_facts, take_balanced
from ppac.splitting.pairs import Pairs, at_least, implicit
from ppac.splitting.parts import BOTH, RANDOM, TEST, TRAIN, VALID, Split, SplitConfig, parts_of
from ppac.splitting.released import released
from ppac.splitting.temporal import dated, temporal


def keep_everyone(pairs: Pairs, rng: np.random.Generator) -> np.ndarray:
    """One random interaction of every user and of every item, never held out.

    Each user and item then stays in train whatever is drawn.
    """
    kept = np.zeros(len(pairs), dtype=bool)
    order = rng.permutation(len(pairs))
    for ids in (pairs.user, pairs.item):
        _, first = np.unique(ids[order], return_index=True)
        kept[order[first]] = True
    return kept


def balanced(pairs: Pairs, config: SplitConfig, rng: np.random.Generator) -> Split:
    """Test and validation balanced over items alike; the random test is drawn before both."""
    where = np.full(len(pairs), TRAIN)
    free = ~keep_everyone(pairs, rng)
    drawn = rng.permutation(np.flatnonzero(free))[: round(config.random * len(pairs))]
    where[drawn] = RANDOM
    counts = np.bincount(pairs.item, minlength=len(pairs.items))
    given = np.bincount(pairs.item[drawn], minlength=len(pairs.items))
    limit = np.maximum(np.floor(config.max_share * counts).astype(np.int64) - given, 0)
    # Half of what an item may give goes to each set, the odd one by chance: what is chosen
    # on validation then meets the same mix of rare and popular items at test.
    half = (limit + rng.integers(2, size=len(limit))) // 2
    quota = {}
    for name, label, share, capacity in (
        ("test", TEST, config.test, half),
        ("valid", VALID, config.valid, limit - half),
    ):
        wanted = round(share * len(pairs))
        taken, q = take_balanced(pairs, free & (where == TRAIN), capacity, wanted, rng)
        where[taken] = label
        quota[name] = quota_facts(pairs.item[taken], q, wanted)
    return Split(parts_of(where), ["train", "valid"], quota)


def random(pairs: Pairs, config: SplitConfig, rng: np.random.Generator) -> Split:
    """A plain random holdout. Its test is the random test."""
    where = np.full(len(pairs), TRAIN)
    order = rng.permutation(np.flatnonzero(~keep_everyone(pairs, rng)))
    n_test, n_valid = round(config.test * len(pairs)), round(config.valid * len(pairs))
    where[order[:n_test]] = BOTH
    where[order[n_test : n_test + n_valid]] = VALID
    return Split(parts_of(where), ["train", "valid"], {})


PROTOCOLS: dict[str, Callable[[Pairs, SplitConfig, np.random.Generator], Split]] = {
    "balanced": balanced,
    "released": released,
    "random": random,
    "temporal": temporal,
}


def prepare(
    raw: pl.DataFrame, released: pl.DataFrame | None, protocol: str, config: SplitConfig
) -> Pairs:
    """The pairs that a protocol divides: implicit, frequent enough and, if by time, dated."""
    pairs = implicit(raw, released, config.threshold, timed=protocol == "temporal")
    pairs = at_least(pairs, config.min_user, config.min_item)
    return dated(pairs, config) if protocol == "temporal" else pairs


def divide(pairs: Pairs, protocol: str, config: SplitConfig, rng: np.random.Generator) -> Split:
    """Split by the named protocol and check what every protocol promises."""
    if protocol not in PROTOCOLS:
        raise Problem(f"unknown protocol '{protocol}': {nearest(protocol, PROTOCOLS)}.")
    if config.validation != "apart" and protocol != "released":
        raise Problem(
            f"{FILE}: 'split.validation' is '{config.validation}': only protocol 'released' "
            "chooses on test, because the authors do; here it must be 'apart'."
        )
    if len(pairs.users) < 2 or len(pairs.items) < 2:
        raise Problem(
            f"the dataset has {len(pairs.users)} user(s) and {len(pairs.items)} item(s): there is "
            "nobody to be similar to, or nothing to choose from."
        )
    split = PROTOCOLS[protocol](pairs, config, rng)
    check(pairs, split)
    return split


def check(pairs: Pairs, split: Split) -> None:
    """Nothing is empty, and nothing used for choosing or scoring is in train."""
    for part in ("train", "valid", "test"):
        if not len(split.parts[part]):
            single = np.bincount(pairs.item).max() < 2
            why = "too few for the shares in params.yaml 'split'"
            if single:
                why = "and no item has two, so that one could be held out and one stay in train"
            raise Problem(
                f"the split leaves '{part}' empty: the dataset has {len(pairs)} interactions of "
                f"{len(pairs.users)} users and {len(pairs.items)} items, {why}."
            )
    for one, other in (
        ("train", "valid"),
        ("train", "test"),
        ("train", "random"),
        *((("valid", "test"), ("valid", "random")) if split.disjoint else ()),
    ):
        inside = np.zeros(len(pairs), dtype=bool)  # np.intersect1d takes minutes for millions
        inside[split.parts[one]] = True
        if inside[split.parts[other]].any():
            raise AssertionError(f"{one} and {other} overlap")


def manifest(pairs: Pairs, split: Split, protocol: str) -> dict[str, Any]:
    """What one wants to know of a split without opening it."""
    train = split.parts["train"]
    n_users, n_items = len(pairs.users), len(pairs.items)
    held = np.concatenate([split.parts["valid"], split.parts["test"]])
    return {
        "protocol": protocol,
        "users": n_users,
        "items": n_items,
        "interactions": len(pairs),
        **{part: len(split.parts[part]) for part in PARTS},
        "masked": split.masked,
        "quota": split.quota,
        "left_out": pairs.left_out,
        "users_without_train": n_users - distinct(pairs.user[train]),
        "items_without_train": n_items - distinct(pairs.item[train]),
        "items_held_out": distinct(pairs.item[held]),
        "disjoint": split.disjoint,  # asserted by `check`, or this file would not exist
    }


def tables(pairs: Pairs, split: Split) -> dict[str, pl.DataFrame]:
    """Each part as a table of dense ids, sorted by user and item."""
    return {
        part: pl.DataFrame(
            {"user": pairs.user[where], "item": pairs.item[where]},
            schema={"user": pl.Int32, "item": pl.Int32},
        ).sort("user", "item")
        for part, where in split.parts.items()
    }
