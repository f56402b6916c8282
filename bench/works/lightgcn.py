"""One training epoch of LightGCN: 64 dimensions, 3 layers, batches of 8192, Adam."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial

import numpy as np

from bench import data, training
from bench.targets import Faster
from bench.work import Contender, Prepared, Work
from ppac.layout import Cell

STEPS = 20  # of the peers' epochs of a minute


def ours(case: str, threads: int) -> Prepared:
    return Prepared(training.ours(Cell(case, "lightgcn", "base")).epoch)


def torch_coo(case: str, threads: int) -> Prepared:
    from bench.peers import plain

    train = data.train(case)
    model = plain.Plain(train, plain.graph(train))
    triples = partial(plain.uniform, train, np.random.default_rng(data.SEED))
    return a_share(case, lambda: plain.epoch(model, triples, STEPS))


def recbole(case: str, threads: int) -> Prepared:
    from bench.peers.recbole import recbole

    it = recbole(
        "LightGCN",
        case,
        threads,
        n_layers=training.LAYERS,
        reg_weight=training.L2,
        train_batch_size=training.BATCH,
    )
    return a_share(
        case, lambda: it.trainer._train_epoch(itertools.islice(iter(it.train), STEPS), 0)
    )


def a_share(case: str, run: Callable[[], float]) -> Prepared:
    """The first steps of an epoch, which all cost the same."""
    whole = math.ceil(len(data.train(case)) / training.BATCH)
    share = f"{STEPS} of an epoch's {whole} steps, scaled"
    return Prepared(run, scale=whole / STEPS, share=share)


WORK = Work(
    title="LightGCN: one training epoch",
    cases=("gowalla",),
    contenders={
        "ours": Contender(ours),
        "torch-coo": Contender(
            torch_coo,
            "torch",
            note="the step of LightGCN-PyTorch written out: torch.sparse.mm of a COO graph",
        ),
        "recbole": Contender(recbole, "recbole", note="its Trainer's epoch"),
    },
    targets=(Faster("ours", "torch-coo", 6), Faster("ours", "recbole", 6)),
)
