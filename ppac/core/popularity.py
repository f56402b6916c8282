"""Global and personal popularity (the paper, definitions 1 and 4), as they are kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp

from ppac.core.files import read_json, read_table, write_json, write_table
from ppac.core.interactions import places_in


@dataclass(frozen=True)
class Popularity:
    """``gp`` per item, and ``pp`` as sparse neighbour counts with a unit per user.

    p_ui = counts[u, i] / unit[u]. Under ``fraction`` (the paper) the unit is the number of
    u's neighbours and gp the share of users; under ``l2`` (the release) both vectors are
    divided by their Euclidean length.
    """

    item_counts: np.ndarray  # (I,) train interactions
    gp: np.ndarray  # (I,) float32
    counts: sp.csr_matrix  # (U, I) int32, or weighted float32; column indices sorted
    unit: np.ndarray  # (U,) float32, never zero
    k: int  # neighbours counted
    scale: str

    def block(self, users: np.ndarray) -> np.ndarray:
        """Dense p of a few users, (len(users), I) float32."""
        rows = self.counts[users].astype(np.float32)
        rows.data /= np.repeat(self.unit[users], np.diff(rows.indptr))
        return rows.toarray()

    def lookup(self, users: np.ndarray, items: np.ndarray) -> np.ndarray:
        """p of each pair, float32."""
        places = places_in(self.counts.indptr, self.counts.indices, users, items)
        found = np.zeros(len(users), self.counts.dtype)
        found[places >= 0] = self.counts.data[places[places >= 0]]
        return (found / self.unit[users]).astype(np.float32)


def write_popularity(folder: Path, popular: Popularity) -> None:
    """Three tables: items (count, gp), users (unit), and pp's non-zero counts; what they mean."""
    counts = popular.counts
    users = np.repeat(np.arange(counts.shape[0], dtype=np.int32), np.diff(counts.indptr))
    items = pl.DataFrame({"count": popular.item_counts.astype(np.int32), "gp": popular.gp})
    write_table(folder / "gp.parquet", items.with_row_index("item").cast({"item": pl.Int32}))
    units = pl.DataFrame({"unit": popular.unit}).with_row_index("user")
    write_table(folder / "users.parquet", units.cast({"user": pl.Int32}))
    number = pl.Int16 if counts.dtype.kind == "i" else pl.Float32  # whole unless weighted
    pp = {"user": users, "item": counts.indices.astype(np.int32), "count": counts.data}
    write_table(folder / "pp.parquet", pl.DataFrame(pp).cast({"count": number}))
    write_json(folder / "manifest.json", {"k": popular.k, "scale": popular.scale})


def read_popularity(folder: Path) -> Popularity:
    items = read_table(folder / "gp.parquet")
    unit = read_table(folder / "users.parquet")["unit"].to_numpy()
    pp = read_table(folder / "pp.parquet")
    indptr = np.zeros(len(unit) + 1, dtype=np.int64)
    np.cumsum(np.bincount(pp["user"].to_numpy(), minlength=len(unit)), out=indptr[1:])
    shape = (len(unit), len(items))
    number = pl.Int32 if pp["count"].dtype == pl.Int16 else pl.Float32
    counts = sp.csr_matrix(
        (pp["count"].cast(number).to_numpy(), pp["item"].to_numpy(), indptr), shape
    )
    gp = items["gp"].to_numpy(writable=True)  # torch wants memory it may write to
    return Popularity(
        items["count"].to_numpy(), gp, counts, unit, **read_json(folder / "manifest.json")
    )
