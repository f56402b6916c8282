from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppac.core.errors import Problem
from ppac.splitting.balancing import water_fill
from ppac.splitting.pairs import implicit
from ppac.splitting.protocols import SplitConfig, divide, manifest, tables

CONFIG = SplitConfig(
    threshold=3,
    min_user=1,
    min_item=1,
    test=0.1,
    valid=0.1,
    random=0.05,
    max_share=0.5,
    validation="apart",
)


def skewed(seed: int = 0, users: int = 200, items: int = 120, rows: int = 6000) -> pl.DataFrame:
    """Interactions whose items follow a steep power law."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, items + 1)
    return pl.DataFrame(
        {
            "user": rng.integers(users, size=rows) + 1000,
            "item": rng.choice(items, size=rows, p=weights / weights.sum()),
        }
    )


@pytest.mark.parametrize("protocol", ["balanced", "random"])
def test_parts_are_disjoint_and_complete(protocol):
    pairs = implicit(skewed(), None, 3)
    parts = divide(pairs, protocol, CONFIG, np.random.default_rng(1)).parts
    distinct = [parts["train"], parts["valid"], parts["test"]]
    if protocol == "balanced":
        distinct.append(parts["random"])
    assert sorted(np.concatenate(distinct)) == list(range(len(pairs)))


@pytest.mark.parametrize("protocol", ["balanced", "random"])
def test_every_user_and_item_stays_in_train(protocol):
    pairs = implicit(skewed(), None, 3)
    split = divide(pairs, protocol, CONFIG, np.random.default_rng(1))
    facts = manifest(pairs, split, protocol)
    assert facts["users_without_train"] == facts["items_without_train"] == 0


def test_the_balanced_test_is_as_equal_as_counts_allow():
    pairs = implicit(skewed(), None, 3)
    split = divide(pairs, "balanced", CONFIG, np.random.default_rng(1))
    counts = np.bincount(pairs.item)
    for part in ("test", "valid"):
        quota = split.quota[part]["quota"]
        given = np.bincount(pairs.item[split.parts[part]], minlength=len(counts))
        assert given.max() == quota
        # Whoever gives less than the quota gives all it may, but for the protected few.
        short = given < quota
        assert (given[short] >= np.floor(0.5 * counts[short]) // 2 - 6).all()
        assert abs(len(split.parts[part]) - 0.1 * len(pairs)) < 0.03 * len(pairs)
    held = np.bincount(
        np.concatenate([pairs.item[split.parts[p]] for p in ("test", "valid")]),
        minlength=len(counts),
    )
    assert (held <= 0.5 * counts).all()
    # The raw data is skewed; what is held out is not.
    assert counts.max() / np.median(counts) > 5
    given = np.bincount(pairs.item[split.parts["test"]], minlength=len(counts))
    assert given.max() / np.median(given) < 2


def test_validation_has_the_mix_of_the_test():
    """What is chosen on validation must meet the same items at test."""
    pairs = implicit(skewed(rows=20000), None, 3)
    split = divide(pairs, "balanced", CONFIG, np.random.default_rng(1))
    counts = np.bincount(pairs.item)
    test, valid = (counts[pairs.item[split.parts[p]]].mean() for p in ("test", "valid"))
    assert test == pytest.approx(valid, rel=0.1)


def test_the_random_test_follows_the_data():
    pairs = implicit(skewed(rows=20000), None, 3)
    split = divide(pairs, "balanced", CONFIG, np.random.default_rng(1))
    counts = np.bincount(pairs.item)
    assert counts[pairs.item[split.parts["random"]]].mean() == pytest.approx(
        counts[pairs.item].mean(), rel=0.1
    )


def test_the_same_seed_gives_the_same_split_and_another_another():
    pairs = implicit(skewed(), None, 3)
    one, same, other = (
        tables(pairs, divide(pairs, "balanced", CONFIG, np.random.default_rng(seed)))["test"]
        for seed in (1, 1, 2)
    )
    assert one.equals(same)
    assert not one.equals(other)


@given(st.lists(st.integers(0, 30), min_size=1), st.integers(0, 400))
def test_water_fill_comes_nearest(capacity, wanted):
    capacity = np.array(capacity)

    def off(q: int) -> int:
        return abs(int(np.minimum(capacity, q).sum()) - wanted)

    q = water_fill(capacity, wanted)
    assert off(q) == min(off(other) for other in range(capacity.max() + 2))


def test_ratings_become_implicit_by_threshold():
    raw = pl.DataFrame({"user": [1, 1, 2, 2], "item": [5, 6, 5, 5], "rating": [4, 3, 5, 4]})
    pairs = implicit(raw, None, 3)
    assert pairs.users["id"].to_list() == [1, 2]
    assert pairs.items["id"].to_list() == [5]
    assert pairs.left_out == {"below_threshold": 1, "duplicates": 1}


def test_text_ids_keep_their_order():
    raw = pl.DataFrame({"user": ["bob", "al", "bob"], "item": ["x", "y", "y"]})
    pairs = implicit(raw, None, 3)
    assert pairs.users["id"].to_list() == ["al", "bob"]
    assert list(zip(pairs.user, pairs.item, strict=True)) == [(0, 1), (1, 0), (1, 1)]


def test_nothing_above_the_threshold():
    with pytest.raises(Problem, match="the dataset is empty: 1 rows"):
        implicit(pl.DataFrame({"user": [1], "item": [1], "rating": [1.0]}), None, 3)


def test_too_small_to_split():
    with pytest.raises(Problem, match="too few for the shares"):
        divide(
            implicit(pl.DataFrame({"user": [1, 2, 2], "item": [1, 2, 1]}), None, 3),
            "balanced",
            CONFIG,
            np.random.default_rng(0),
        )


def test_unknown_protocol():
    with pytest.raises(Problem, match="did you mean 'balanced'"):
        divide(implicit(skewed(), None, 3), "balancd", CONFIG, np.random.default_rng(0))


def released_toy() -> tuple[pl.DataFrame, pl.DataFrame]:
    raw = skewed().unique(maintain_order=True)
    test = raw.sample(fraction=0.3, seed=1)
    balanced = test.head(len(test) // 3)
    parts = [test.with_columns(part=pl.lit("test")), balanced.with_columns(part=pl.lit("balanced"))]
    return raw, pl.concat(parts)


def test_released_uses_the_authors_files_and_validates_on_neither():
    raw, released = released_toy()
    pairs = implicit(raw, released, 3)
    split = divide(pairs, "released", CONFIG, np.random.default_rng(1))
    n_test = (released["part"] == "test").sum()
    n_balanced = (released["part"] == "balanced").sum()
    parts = {name: set(where) for name, where in split.parts.items()}
    assert len(parts["test"]) == n_balanced
    assert len(parts["train"]) == len(raw) - n_test
    assert not parts["valid"] & (parts["test"] | parts["train"] | parts["random"])
    assert parts["test"] < parts["random"]
    assert len(parts["valid"]) + len(parts["random"]) == n_test
    assert split.masked == ["train"]


def test_released_validates_on_items_as_popular_as_the_tests():
    """The authors' rule admits items with q held-out interactions alone, for the best q |E(q)|."""
    random = np.random.default_rng(3)
    likely = 1 / (1 + np.arange(300.0))
    raw = pl.DataFrame(
        {
            "user": np.repeat(np.arange(400), 30),
            "item": np.concatenate(
                [random.choice(300, 30, replace=False, p=likely / likely.sum()) for _ in range(400)]
            ),
        }
    )
    test = raw.sample(fraction=0.3, seed=1).with_columns(
        place=pl.int_range(pl.len()).over("item"), count=pl.len().over("item")
    )
    quota = max(
        range(1, 100), key=lambda q: q * test.filter(pl.col("count") >= q)["item"].n_unique()
    )
    balanced = test.filter((pl.col("count") >= quota) & (pl.col("place") < quota))
    parts = {"test": test, "balanced": balanced}
    released = pl.concat(
        [rows.select("user", "item", part=pl.lit(part)) for part, rows in parts.items()]
    )
    pairs = implicit(raw, released, 3)
    split = divide(pairs, "released", CONFIG, np.random.default_rng(1))
    counts = np.bincount(pairs.item[split.parts["train"]], minlength=len(pairs.items))
    popular = {part: counts[pairs.item[where]] for part, where in split.parts.items()}
    assert popular["random"].mean() > 1.5 * popular["test"].mean()
    assert popular["valid"].mean() == pytest.approx(popular["test"].mean(), rel=0.05)
    assert popular["valid"].min() >= popular["test"].min()


@pytest.mark.parametrize(("validation", "share"), [("in_test", 0.95), ("test", 1.0)])
def test_released_can_choose_on_test_as_the_authors_do_and_says_so(validation, share):
    pairs = implicit(*released_toy(), 3)
    config = CONFIG.model_copy(update={"validation": validation})
    split = divide(pairs, "released", config, np.random.default_rng(1))
    parts = {name: set(where) for name, where in split.parts.items()}
    assert parts["valid"] <= parts["test"]
    assert len(parts["valid"]) == round(share * len(parts["test"]))
    assert not parts["test"] & parts["train"]
    assert manifest(pairs, split, "released")["disjoint"] is False


def test_no_other_protocol_chooses_on_test():
    config = CONFIG.model_copy(update={"validation": "test"})
    with pytest.raises(Problem, match=r"'split.validation' is 'test': only protocol 'released'"):
        divide(implicit(skewed(), None, 3), "balanced", config, np.random.default_rng(1))


def test_released_files_of_another_dataset_are_refused():
    raw, released = released_toy()
    alien = released.with_columns(pl.col("user") + 10**6)
    with pytest.raises(Problem, match="released test pairs are not among"):
        implicit(raw, alien, 3)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(30, 400))
def test_any_table_splits_or_says_why(seed, rows):
    pairs = implicit(skewed(seed, users=20, items=15, rows=rows), None, 3)
    try:
        divide(pairs, "balanced", CONFIG, np.random.default_rng(seed))
    except Problem as problem:
        assert "too few" in str(problem)


def test_the_stage_writes_its_manifest(prepared):
    facts = json.loads((prepared.folder / "data/split/synthetic/manifest.json").read_text())
    assert facts["disjoint"] is True
    assert facts["users"] == 400
    assert facts["train"] == len(prepared.table("data/split/synthetic/train.parquet"))
    assert set(facts["digests"]) == {"train", "valid", "test", "random"}
