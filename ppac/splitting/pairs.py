"""Ratings or events as distinct (user, item) pairs with dense ids."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from ppac.core.errors import Problem


@dataclass(frozen=True)
class Pairs:
    """All interactions of a dataset with dense ids, sorted, and what else is known of them."""

    user: np.ndarray
    item: np.ndarray
    users: pl.DataFrame  # user (dense), id (the source's)
    items: pl.DataFrame  # item (dense), id (the source's)
    released: np.ndarray | None = None  # per pair: 0 train, 1 biased test, 2 balanced test
    time: np.ndarray | None = None  # per pair: when it first happened
    era: np.ndarray | None = None  # per pair: the part it belongs to by its time
    left_out: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.user)


def implicit(
    raw: pl.DataFrame, released: pl.DataFrame | None, threshold: float, timed: bool = False
) -> Pairs:
    """Ratings above the threshold as distinct pairs, with ids 0..n-1 in the source's order.

    A pair counts once, if any of its rows is above the threshold, and from the first such row on.
    """
    rated = raw.filter(pl.col("rating") > threshold) if "rating" in raw.columns else raw
    if rated.is_empty():
        raise Problem(
            f"the dataset is empty: {len(raw)} rows were read and none is above "
            f"the threshold {threshold:g}."
        )
    users, user = dense(rated["user"], "user")
    items, item = dense(rated["item"], "item")
    codes = user.astype(np.int64) * len(items) + item
    time = None
    if timed and "timestamp" in rated.columns:
        when = rated["timestamp"].to_numpy()
        order = np.lexsort((when, codes))
        codes, when = codes[order], when[order]
        first = np.diff(codes, prepend=-1) > 0
        codes, time = codes[first], when[first]
    else:
        codes = np.sort(codes)
        codes = codes[np.diff(codes, prepend=-1) > 0]
    user, item = np.divmod(codes, len(items))
    left_out = {"below_threshold": len(raw) - len(rated), "duplicates": len(rated) - len(codes)}
    pairs = Pairs(user, item, users, items, time=time, left_out=left_out)
    return pairs if released is None else replace(pairs, released=released_labels(pairs, released))


def dense(ids: pl.Series, name: str) -> tuple[pl.DataFrame, np.ndarray]:
    """Numbers 0..n-1 for the distinct ids, in the ids' own order, and each row's number."""
    distinct = ids.unique().sort()
    table = pl.DataFrame({"id": distinct}).with_row_index(name).cast({name: pl.Int32})
    if ids.dtype == pl.String:
        rows = ids.cast(pl.Enum(distinct)).to_physical().to_numpy()
    else:
        rows = np.searchsorted(distinct.to_numpy(), ids.to_numpy())
    return table, rows


def at_least(pairs: Pairs, per_user: int, per_item: int) -> Pairs:
    """Only users and items with so many interactions, counted among those that are left."""
    keep = np.ones(len(pairs), dtype=bool)
    while (per_user, per_item) != (1, 1):
        by_user = np.bincount(pairs.user[keep], minlength=len(pairs.users))
        by_item = np.bincount(pairs.item[keep], minlength=len(pairs.items))
        still = keep & (by_user[pairs.user] >= per_user) & (by_item[pairs.item] >= per_item)
        if still.sum() == keep.sum():
            if not keep.any():
                raise Problem(
                    f"no user has {per_user} interactions with items of {per_item} (min_user, "
                    f"min_item): nothing of {len(pairs)} interactions is left."
                )
            return narrowed(pairs, keep, "below_minimum")
        keep = still
    return pairs


def narrowed(pairs: Pairs, keep: np.ndarray, why: str) -> Pairs:
    """Some of the pairs, with ids as if there had never been others."""
    user, item = pairs.user[keep], pairs.item[keep]
    columns = {
        name: None if (column := getattr(pairs, name)) is None else column[keep]
        for name in ("released", "time", "era")
    }
    users, items = (np.flatnonzero(np.bincount(ids)) for ids in (user, item))
    return replace(
        pairs,
        user=np.searchsorted(users, user),
        item=np.searchsorted(items, item),
        users=pairs.users[users].with_columns(user=pl.int_range(len(users), dtype=pl.Int32)),
        items=pairs.items[items].with_columns(item=pl.int_range(len(items), dtype=pl.Int32)),
        left_out={**pairs.left_out, why: int((~keep).sum())},
        **columns,
    )


def released_labels(pairs: Pairs, released: pl.DataFrame) -> np.ndarray:
    """0, 1 or 2 per pair: only in the release's train, in its test, in its balanced test."""
    codes = {"test": 1, "balanced": 2}
    label = released.select("user", "item", label=pl.col("part").replace_strict(codes))
    label = label.group_by("user", "item").agg(pl.col("label").max())
    known = pl.DataFrame(
        {"user": pairs.users["id"].gather(pairs.user), "item": pairs.items["id"].gather(pairs.item)}
    )
    joined = known.join(label, on=["user", "item"], how="left", maintain_order="left")
    found = joined["label"].fill_null(0).to_numpy()
    if (missing := len(label) - int((found > 0).sum())) > 0:
        raise Problem(
            f"{missing} of {len(label)} released test pairs are not among the dataset's "
            "interactions: the release and the dataset do not belong together."
        )
    return found
