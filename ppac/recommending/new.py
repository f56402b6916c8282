"""Recommendations for people nobody knew at training, from their items alone.

Their similar users are found as for everyone (Jaccard, ties to the larger number), and items are
ranked by gamma * personal + beta * global popularity, at the weights that the ranker `ppgp` was
evaluated with: they were chosen for this score, which has no model in it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import torch

from ppac.core import registry
from ppac.core.errors import Problem
from ppac.core.files import read_table
from ppac.core.interactions import Interactions, read_part
from ppac.core.popularity import Popularity, read_popularity
from ppac.counting.popularity import popularity
from ppac.evaluation import rank
from ppac.layout import RANKERS, Cell, Dataset
from ppac.recommending.known import weights_of, with_own_ids
from ppac.recommending.lists import Near, RecommendConfig, with_reasons
from ppac.scoring.compute import ComputeConfig
from ppac.scoring.method import Shared
from ppac.scoring.ranking import Ranking, TieOrder

RANKER = "ppgp"
BY = "similar users alone"
PIECE = 256  # new users compared with everyone at a time


def for_new(
    dataset: str,
    rows: pl.DataFrame,
    config: RecommendConfig,
    compute: ComputeConfig,
    device: torch.device,
    seed: int,
) -> pl.DataFrame:
    """Lists for the users of ``rows`` (user, item: own ids); none for who has no known item."""
    weights = weights_of(Cell(dataset, RANKERS, RANKER))
    place = Dataset(dataset)
    train, everyone = read_part(place.split, "train"), read_popularity(place.popularity)
    users, mine = baskets(rows, read_table(place.split / "items.parquet"))
    near = nearest_among(train, mine, everyone.k)
    theirs = popularity_of(train, mine, near, everyone)
    ties = TieOrder.seeded(mine.n_users, train.n_items, seed, f"{dataset}/new")
    ranking = Ranking(mine, theirs, ties, device, compute.memory_mb)
    scorer = registry.find("rankers", RANKER).Ranker(Shared(train, theirs))
    numbers = np.arange(mine.n_users)
    items, scores = rank(scorer, weights, ranking, numbers, config.top)
    lists = with_reasons(
        numbers, items, scores, theirs, Near.of(near, everyone.k, mine.n_users), train,
        config.reasons,
    )  # fmt: skip
    return with_own_ids(lists.with_columns(by=pl.lit(BY)), place, users)


def baskets(rows: pl.DataFrame, items: pl.DataFrame) -> tuple[pl.Series, Interactions]:
    """The new users who have items that the training knows, and those items."""
    typed = rows.with_columns(pl.col("item").cast(items["id"].dtype, strict=False))
    known = typed.join(items.rename({"item": "i"}), left_on="item", right_on="id")
    if known.is_empty():
        raise Problem(f"none of the {rows['item'].n_unique()} items of the new users is known.")
    users = known["user"].unique().sort()
    numbered = pl.DataFrame({"user": users}).with_row_index("u")
    pairs = known.join(numbered, on="user")
    have = Interactions.of(pairs["u"].to_numpy(), pairs["i"].to_numpy(), len(users), len(items))
    return users, have


def nearest_among(train: Interactions, mine: Interactions, k: int) -> pl.DataFrame:
    """The ``k`` users of train most similar to each new one: user, rank, neighbour."""
    have, others = mine.matrix(), train.matrix().T.tocsr()
    sizes = train.user_counts
    found = []
    for first in range(0, mine.n_users, PIECE):
        common = (have[first : first + PIECE] @ others).tocsr()
        for row in range(common.shape[0]):
            where = slice(common.indptr[row], common.indptr[row + 1])
            neighbours, both = common.indices[where], common.data[where]
            similarity = both / (mine.user_counts[first + row] + sizes[neighbours] - both)
            found.append(neighbours[np.lexsort((-neighbours, -similarity))[:k]])
    lengths = np.array([len(row) for row in found])
    rank_from_1 = np.concatenate([np.arange(1, n + 1) for n in lengths])
    return pl.DataFrame(
        {
            "user": np.repeat(np.arange(len(found)), lengths),
            "rank": rank_from_1,
            "neighbour": np.concatenate(found),
        }
    )


def popularity_of(
    train: Interactions, mine: Interactions, near: pl.DataFrame, everyone: Popularity
) -> Popularity:
    """Personal popularity of the new users; they do not count among everyone."""
    n = train.n_users
    users, items = np.concatenate([train.users, mine.users + n]), [train.items, mine.items]
    both = Interactions.of(users, np.concatenate(items), n + mine.n_users, train.n_items)
    shifted = near.with_columns(pl.col("user") + n)
    counted = popularity(both, shifted, everyone.k, everyone.scale)
    return replace(everyone, counts=counted.counts[n:], unit=counted.unit[n:])
