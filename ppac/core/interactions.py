"""Users' item sets as one sparse matrix: what every computation downstream reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp

from ppac.core.compiled import kernel
from ppac.core.files import read_json, read_table

PARTS = ("train", "valid", "test", "random")


@dataclass(frozen=True)
class Interactions:
    """Who has what: row u of the CSR arrays lists u's items in ascending order, once each."""

    n_items: int
    indptr: np.ndarray  # (n_users + 1,) int64
    items: np.ndarray  # (n,) int32

    @classmethod
    def of(cls, users: np.ndarray, items: np.ndarray, n_users: int, n_items: int) -> Interactions:
        """From pairs in any order, duplicates collapsed.

        >>> Interactions.of(np.array([1, 0, 1, 1]), np.array([2, 0, 1, 2]), 2, 3).items
        array([0, 1, 2], dtype=int32)
        """
        codes = np.sort(users.astype(np.int64) * n_items + items)
        codes = codes[np.diff(codes, prepend=-1) > 0]  # np.unique takes a hundred times as long
        rows, columns = np.divmod(codes, n_items)
        indptr = np.zeros(n_users + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=n_users), out=indptr[1:])
        return cls(n_items, indptr, columns.astype(np.int32))

    @property
    def n_users(self) -> int:
        return len(self.indptr) - 1

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def users(self) -> np.ndarray:
        """The user of each pair, aligned with ``items``."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), self.user_counts)

    @cached_property
    def user_counts(self) -> np.ndarray:
        return np.diff(self.indptr)

    @cached_property
    def item_counts(self) -> np.ndarray:
        return np.bincount(self.items, minlength=self.n_items)

    @cached_property
    def codes(self) -> np.ndarray:
        """Each pair as one ascending integer, for membership tests by binary search."""
        return self.users.astype(np.int64) * self.n_items + self.items

    def contains(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Whether each pair is among the interactions.

        >>> some = Interactions.of(np.array([0, 1]), np.array([2, 1]), 2, 3)
        >>> some.contains(np.array([0, 0, 1]), np.array([2, 1, 1]))
        array([ True, False,  True])
        """
        return places_in(self.indptr, self.items, users, items) >= 0

    def matrix(self, dtype: type = np.int32) -> sp.csr_matrix:
        """The 0/1 users x items matrix."""
        data: np.ndarray = np.ones(len(self), dtype=dtype)
        return sp.csr_matrix((data, self.items, self.indptr), (self.n_users, self.n_items))


@kernel
def places_in(
    indptr: np.ndarray, columns: np.ndarray, users: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """Where each pair stands in rows of ascending columns, -1 where it does not."""
    places = np.full(len(users), -1, np.int64)
    for pair in range(len(users)):
        low, end = indptr[users[pair]], indptr[users[pair] + 1]
        high = end
        while low < high:
            middle = (low + high) >> 1
            if columns[middle] < wanted[pair]:
                low = middle + 1
            else:
                high = middle
        if low < end and columns[low] == wanted[pair]:
            places[pair] = low
    return places


def read_part(split: Path, *parts: str) -> Interactions:
    """The union of the named parts of a split."""
    sizes = read_json(split / "manifest.json")
    pairs = pl.concat([read_table(split / f"{part}.parquet") for part in parts])
    users, items = pairs["user"].to_numpy(), pairs["item"].to_numpy()
    return Interactions.of(users, items, sizes["users"], sizes["items"])


def read_masked(split: Path) -> Interactions:
    """What may not be recommended at test: the parts that the protocol names."""
    masked: Sequence[str] = read_json(split / "manifest.json")["masked"]
    return read_part(split, *masked)
