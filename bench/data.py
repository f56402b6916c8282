"""The datasets of the benchmark, each made once and kept in .bench/ so that processes start fast.

``ml-1m``, ``gowalla`` and ``yelp2018`` are the released splits, read as the pipeline reads
them. ``ml-20m-like`` is made up to the size of MovieLens-20M, and ``growth-x1`` to ``growth-x8``
are one made-up dataset with ever more users over the same items.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bench import synthetic
from ppac.core.config import read_params
from ppac.core.files import new_file
from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity
from ppac.core.seeds import rng
from ppac.counting.popularity import popularity
from ppac.sources.fetching import MIRROR
from ppac.sources.raw import gather
from ppac.splitting import protocols
from ppac.splitting.pairs import implicit

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".bench"
BESIDE = ROOT.parent / "shared" / "data"  # the mirror, unless PPAC_MIRROR names another
SEED = 2024
K = 30

MADE_UP = {
    # Sizes of MovieLens-20M; the law of the items gives its sum of squared item counts, 2.1e11,
    # which is what an exact comparison of all users costs.
    "ml-20m-like": synthetic.Shape(138_493, 26_744, 20_000_000, 20, 9_254, zipf=1.63, shift=60.0),
} | {
    f"growth-x{times}": synthetic.Shape(
        20_000 * times, 40_000, 540_000 * times, 10, 800, zipf=0.8, shift=100.0
    )
    for times in (1, 2, 4, 8)
}


def train(dataset: str) -> Interactions:
    """The train part."""
    return part(dataset, "train")


def held_out(dataset: str) -> Interactions:
    """Everything of the release that is not train: every user of gowalla has some of it."""
    return part(dataset, "held_out")


def valid(dataset: str) -> Interactions:
    return part(dataset, "valid")


def part(dataset: str, name: str) -> Interactions:
    arrays = kept(f"{dataset}.npz", lambda: make(dataset))
    return Interactions(int(arrays["n_items"]), arrays[f"{name}_indptr"], arrays[f"{name}_items"])


def make(dataset: str) -> dict[str, np.ndarray]:
    """All parts of a dataset as arrays; a made-up one is all train."""
    if dataset in MADE_UP:
        parts = {"train": synthetic.make(MADE_UP[dataset], rng(SEED, "bench", dataset))}
    else:
        parts = released(dataset)
    arrays = {"n_items": np.array(parts["train"].n_items)}
    for name, some in parts.items():
        arrays |= {f"{name}_indptr": some.indptr, f"{name}_items": some.items}
    return arrays


def released(dataset: str) -> dict[str, Interactions]:
    """The parts of the authors' split, through the code of the stages download and split."""
    if MIRROR not in os.environ and BESIDE.is_dir():
        os.environ[MIRROR] = str(BESIDE)
    params = read_params(ROOT)
    with working_in(CACHE):
        raw = gather(params, dataset, "released")
    config = protocols.SplitConfig.read(params, "split", dataset=dataset)
    pairs = implicit(raw.interactions, raw.released, config.threshold)
    stream = rng(params["seed"], "split", dataset, "released")
    parts = protocols.divide(pairs, "released", config, stream).parts
    in_train = np.isin(np.arange(len(pairs)), parts["train"])
    chosen = {"train": parts["train"], "valid": parts["valid"], "held_out": ~in_train}
    size = len(pairs.users), len(pairs.items)
    return {
        name: Interactions.of(pairs.user[where], pairs.item[where], *size)
        for name, where in chosen.items()
    }


def neighbours(dataset: str) -> pl.DataFrame:
    """The table that ``nearest_users`` gives for k = 30."""
    from ppac.neighbours import nearest_users  # compiles: only where it is wanted

    def compute() -> dict[str, np.ndarray]:
        table = nearest_users(train(dataset), K)
        return {column.name: column.to_numpy() for column in table}

    return pl.DataFrame(dict(kept(f"{dataset}-neighbours.npz", compute)))


def popular(dataset: str) -> Popularity:
    """Real pp and gp."""
    return popularity(train(dataset), neighbours(dataset), K, "fraction")


def unpopular(dataset: str) -> Popularity:
    """What ``popular`` gives where nobody has neighbours: for what does not look at pp."""
    nobody = pl.DataFrame(schema={"user": pl.Int32, "rank": pl.Int16, "neighbour": pl.Int32})
    return popularity(train(dataset), nobody, K, "fraction")


def kept(name: str, compute: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Arrays from the cache, computed where they are not there yet."""
    path = CACHE / name
    if not path.exists():
        arrays: dict[str, Any] = compute()
        with new_file(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **arrays)
    with np.load(path) as file:
        return {key: file[key] for key in file.files}


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Downloads and other libraries' logs belong to the cache, not where one happens to be."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.chdir(folder):
        yield
