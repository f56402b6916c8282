"""RecBole 1.2.1 on our datasets: the same train pairs, the same held-out pairs, its own code.

RecBole is older than the libraries it runs with here; ``mend`` gives it back the few names that
they have dropped since. Nothing that is timed goes through any of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from bench import data
from ppac.core.files import new_file
from ppac.core.interactions import Interactions

FOLDER = data.CACHE / "recbole"


def mend() -> None:
    """Names of numpy 1 and a method of old scipy that RecBole calls when it starts."""
    for name, today in {
        "float_": np.float64,
        "complex_": np.complex128,
        "unicode_": np.str_,
    }.items():
        if not hasattr(np, name):
            setattr(np, name, today)
    # RecBole fills its graph through dict.update; scipy's matrix is no longer a dict itself.
    sp.dok_matrix._update = lambda matrix, entries: matrix._dict.update(entries)


@dataclass(frozen=True)
class RecBole:
    """A model with its trainer, and data for one epoch or one evaluation."""

    model: Any
    trainer: Any
    train: Any
    test: Any
    users: np.ndarray  # RecBole's number of each of our users
    items: np.ndarray  # and items; its 0 is padding


def recbole(model: str, dataset: str, threads: int, **settings: Any) -> RecBole:
    """Set up as its quick start does, with logging, checkpoints and progress bars left out."""
    mend()
    from recbole.config import Config
    from recbole.data import create_dataset
    from recbole.data.dataloader import FullSortEvalDataLoader, TrainDataLoader
    from recbole.sampler import Sampler
    from recbole.utils import get_model, get_trainer, init_seed

    with data.working_in(FOLDER):  # it logs to where it runs
        write_files(dataset)
        config = Config(model=model, dataset=dataset, config_dict=common(threads) | settings)
        init_seed(config["seed"], reproducibility=True)
        whole = create_dataset(config)
        train, test = whole.build()
        sampler = Sampler(["train", "test"], [train, test], "uniform")
        loader = TrainDataLoader(config, train, sampler.set_phase("train"), shuffle=True)
        tester = FullSortEvalDataLoader(config, test, sampler.set_phase("test"), shuffle=False)
        net = get_model(model)(config, train).to(config["device"])
        trainer = get_trainer(config["MODEL_TYPE"], model)(config, net)
        trainer.eval_collector.data_collect(loader)
    ours = data.train(dataset)
    return RecBole(
        model=net,
        trainer=trainer,
        train=loader,
        test=tester,
        users=numbers(whole, "user", ours.n_users),
        items=numbers(whole, "item", ours.n_items),
    )


def common(threads: int) -> dict[str, Any]:
    """What is the same for every model here."""
    return {
        "data_path": str(FOLDER),
        "checkpoint_dir": str(FOLDER / "saved"),
        "benchmark_filename": ["train", "test"],
        "load_col": {"inter": ["user", "item"]},
        "USER_ID_FIELD": "user",
        "ITEM_ID_FIELD": "item",
        "use_gpu": False,
        "state": "ERROR",
        "show_progress": False,
        "torch_num_threads": threads,
        "metrics": ["Recall", "NDCG"],
        "topk": [50],
        "valid_metric": "NDCG@50",
        "embedding_size": 64,
        "learner": "adam",
        "learning_rate": 1e-3,
        "seed": data.SEED,
    }


def write_files(dataset: str) -> None:
    """The dataset as RecBole's atomic files, with our numbers as its tokens."""
    for name, some in {"train": data.train(dataset), "test": data.held_out(dataset)}.items():
        path = FOLDER / dataset / f"{dataset}.{name}.inter"
        if not path.exists():
            write_file(path, some)


def write_file(path: Path, some: Interactions) -> None:
    pairs = pl.DataFrame({"user:token": some.users, "item:token": some.items})
    with new_file(path) as temporary:
        pairs.write_csv(temporary, separator="\t")


def numbers(whole: Any, field: str, count: int) -> np.ndarray:
    """RecBole's own number of each of ours."""
    return np.asarray(whole.token2id(field, [str(number) for number in range(count)]))
