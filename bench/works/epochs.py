"""One training epoch of BPRMF, of PPAC around it, and of NCF: batches of 8192 pairs, Adam."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from bench import data, training
from bench.targets import Costs, Faster, Record
from bench.work import Contender, Prepared, Work
from ppac.layout import Cell


def ours(base: str, method: str, case: str, threads: int) -> Prepared:
    return Prepared(training.ours(Cell(case, base, method)).epoch)


def torch_bpr(case: str, threads: int) -> Prepared:
    from bench.peers import plain

    train = data.train(case)
    model = plain.Plain(train)
    triples = partial(plain.shuffled, train, np.random.default_rng(data.SEED))
    return Prepared(lambda: plain.epoch(model, triples, None))


def recbole_bpr(case: str, threads: int) -> Prepared:
    from bench.peers.recbole import recbole

    it = recbole("BPR", case, threads, train_batch_size=training.BATCH)
    return Prepared(lambda: it.trainer._train_epoch(it.train, 0))


def recbole_neumf(case: str, threads: int) -> Prepared:
    from bench.peers.recbole import recbole

    it = recbole(
        "NeuMF",
        case,
        threads,
        # It counts positives and negatives together: as many positives in a step as ours.
        train_batch_size=2 * training.BATCH,
        mlp_embedding_size=training.DIM,
        mlp_hidden_size=training.HIDDEN,
        dropout_prob=0.0,
        mf_train=False,  # no product branch, as in ours
    )
    return Prepared(lambda: it.trainer._train_epoch(it.train, 0))


def implicit_bpr(case: str, threads: int) -> Prepared:
    from implicit.cpu.bpr import BayesianPersonalizedRanking

    ratings = data.train(case).matrix(np.float32)
    model = BayesianPersonalizedRanking(
        factors=training.DIM, iterations=1, num_threads=threads, random_state=data.SEED
    )
    return Prepared(lambda: model.fit(ratings, show_progress=False))


def cornac_bpr(case: str, threads: int) -> Prepared:
    from cornac.data import Dataset
    from cornac.models import BPR

    train = data.train(case)
    pairs = zip(train.users.tolist(), train.items.tolist(), [1.0] * len(train), strict=True)
    ratings = Dataset.build(pairs)
    model = BPR(k=training.DIM, max_iter=1, num_threads=threads, seed=data.SEED)
    return Prepared(lambda: model.fit(ratings))


def ncf_products(case: str, threads: int) -> Prepared:
    """The matrix products of an epoch of ours-ncf, forward and for both gradients, alone."""
    import torch

    dim, (first, second) = training.DIM, training.HIDDEN
    one, two = training.BATCH, 2 * training.BATCH  # rows: users, and positives with negatives
    layers = [(one, dim, first), (two, dim, first), (two, first, second), (two, second, 1)]
    random = partial(torch.randn, generator=torch.Generator().manual_seed(data.SEED))
    products = []
    for n, a, b in layers:
        rows, weight, gradient = random(n, a), random(b, a), random(n, b)
        products += [(rows, weight.T), (gradient.T, rows), (gradient, weight)]
    # Into the same memory every time: new memory is no part of the arithmetic.
    rooms = [left @ right for left, right in products]
    steps = -(-len(data.train(case)) // training.BATCH)

    def epoch() -> None:
        for _ in range(steps):
            for (left, right), room in zip(products, rooms, strict=True):
                torch.mm(left, right, out=room)

    return Prepared(epoch)


HEAD = 32  # hidden units of each of PPAC's two heads


def products(sizes: Sequence[tuple[float, int, int]]) -> float:
    """Thousands of operations of layers (rows, from, to), forward and for both gradients."""
    return sum(6 * rows * n * m for rows, n, m in sizes) / 1000


def where_time_goes(records: Sequence[Record]) -> list[str]:
    """What no implementation gets around: the arithmetic of a train pair and its negative."""
    dim, (first, second) = training.DIM, training.HIDDEN
    rest = [(2, first, second), (2, second, 1)]
    split = products([(1, dim, first), (2, dim, first), *rest])  # the user's half once for both
    whole = products([(2, 2 * dim, first), *rest])
    heads = products([(1, dim, HEAD), (2, dim, 2 * HEAD), (2, 2 * HEAD, 1)])
    return [
        f"A pair's matrix products are {split:.0f} thousand operations in ours-ncf and {whole:.0f}"
        f" in recbole-neumf: {whole / split:.2f} times, at one speed of products. PPAC's heads are"
        f" {heads:.0f} thousand; BPRMF, which moves memory, has no products at all."
    ]


OTHER_ALGORITHM = "for reference: one pair at a time by plain SGD, another algorithm than Adam"

WORK = Work(
    title="BPRMF, PPAC and NCF: one training epoch",
    cases=("gowalla",),
    contenders={
        "ours-bprmf": Contender(partial(ours, "bprmf", "base")),
        "torch-bpr": Contender(torch_bpr, "torch", note="nn.Embedding, Adam, numpy negatives"),
        "recbole-bpr": Contender(recbole_bpr, "recbole"),
        "implicit-bpr": Contender(implicit_bpr, "implicit", note=OTHER_ALGORITHM),
        "cornac-bpr": Contender(cornac_bpr, "cornac", note=OTHER_ALGORITHM),
        "ours-ppac-bprmf": Contender(partial(ours, "bprmf", "ppac")),
        "ours-ncf": Contender(partial(ours, "ncf", "base"), against="ours-ncf"),
        "recbole-neumf": Contender(
            recbole_neumf,
            "recbole",
            against="ours-ncf",
            note="its MLP branch alone, the same layers as ours-ncf; pointwise loss",
        ),
        "ncf-products": Contender(
            ncf_products,
            "torch",
            against="ours-ncf",
            note="the matrix products of ours-ncf by torch's own product, and nothing else: what is"
            " left to gain without faster products",
        ),
    },
    targets=(
        Faster("ours-bprmf", "recbole-bpr", 3),
        Faster("ours-ncf", "recbole-neumf", 3),
        Costs("ours-ppac-bprmf", "ours-bprmf", 1.5),
    ),
    closing=where_time_goes,
)
