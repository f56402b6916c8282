"""Ratings or events as distinct (user, item) pairs with dense ids."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from ppac.core.errors import Problem


@dataclass(frozen=True)
class Pairs:
    """All interactions of a dataset with dense ids, and what the release says of them."""

    user: np.ndarray
    item: np.ndarray
    users: pl.DataFrame  # user (dense), id (the source's)
    items: pl.DataFrame  # item (dense), id (the source's)
    released: np.ndarray | None = None  # per pair: 0 train, 1 biased test, 2 balanced test
    left_out: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.user)


def implicit(raw: pl.DataFrame, released: pl.DataFrame | None, threshold: float) -> Pairs:
    """Ratings above the threshold as distinct pairs, with ids 0..n-1 in the source's order."""
    rated = raw.filter(pl.col("rating") > threshold) if "rating" in raw.columns else raw
    pairs = rated.select("user", "item").unique().sort("user", "item")
    if pairs.is_empty():
        raise Problem(
            f"the dataset is empty: {len(raw)} rows were read and none is above "
            f"split.threshold {threshold}."
        )
    left_out = {"below_threshold": len(raw) - len(rated), "duplicates": len(rated) - len(pairs)}
    users = dense(pairs["user"], "user")
    items = dense(pairs["item"], "item")
    coded = (
        pairs.rename({"user": "user_id", "item": "item_id"})
        .join(users.rename({"id": "user_id"}), on="user_id", maintain_order="left")
        .join(items.rename({"id": "item_id"}), on="item_id", maintain_order="left")
    )
    return Pairs(
        user=coded["user"].cast(pl.Int64).to_numpy(),
        item=coded["item"].cast(pl.Int64).to_numpy(),
        users=users,
        items=items,
        released=None if released is None else released_labels(pairs, released),
        left_out=left_out,
    )


def dense(ids: pl.Series, name: str) -> pl.DataFrame:
    """Numbers 0..n-1 for the distinct ids, in the ids' own order."""
    table = pl.DataFrame({"id": ids.unique().sort()}).with_row_index(name)
    return table.cast({name: pl.Int32})


def released_labels(pairs: pl.DataFrame, released: pl.DataFrame) -> np.ndarray:
    """0, 1 or 2 per pair: only in the release's train, in its test, in its balanced test."""
    codes = {"test": 1, "balanced": 2}
    label = released.select("user", "item", label=pl.col("part").replace_strict(codes))
    label = label.group_by("user", "item").agg(pl.col("label").max())
    joined = pairs.join(label, on=["user", "item"], how="left", maintain_order="left")
    found = joined["label"].fill_null(0).to_numpy()
    if (missing := len(label) - int((found > 0).sum())) > 0:
        raise Problem(
            f"{missing} of {len(label)} released test pairs are not among the dataset's "
            "interactions: the release and the dataset do not belong together."
        )
    return found
