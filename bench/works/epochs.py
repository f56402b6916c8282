"""One training epoch of BPRMF, of PPAC around it, and of NCF: batches of 8192 pairs, Adam."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from bench import data, training
from bench.targets import Costs, Faster, Record, by_case, typical
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


def products_alone(layers: Sequence[tuple[int, int, int]], case: str, threads: int) -> Prepared:
    """The matrix products of an epoch with layers (rows, from, to), forward and back, alone."""
    import torch

    random = partial(torch.randn, generator=torch.Generator().manual_seed(data.SEED))
    products = []
    for n, a, b in layers:
        rows, weight, gradient = random(n, a), random(b, a), random(n, b)
        products += [(rows, weight.T), (gradient.T, rows), (gradient, weight)]
    # Into the same memory every time: new memory is no part of the arithmetic.
    rooms = [left @ right for left, right in products]

    def epoch() -> None:
        for _ in range(steps(case)):
            for (left, right), room in zip(products, rooms, strict=True):
                torch.mm(left, right, out=room)

    return Prepared(epoch)


def adam_alone(case: str, threads: int) -> Prepared:
    """Adam over both tables, with gradients that are there already."""
    import torch

    from ppac.training.adam import Adam

    train = data.train(case)
    tables = [
        torch.nn.Parameter(torch.ones(n, training.DIM)) for n in (train.n_users, train.n_items)
    ]
    for table in tables:
        table.grad = torch.ones_like(table)
    adam = Adam(tables, training.RATE)
    return Prepared(lambda: [adam.step() for _ in range(steps(case))])


def steps(case: str) -> int:
    return -(-len(data.train(case)) // training.BATCH)


HEAD = 32  # hidden units of each of PPAC's two heads
ONE, TWO = training.BATCH, 2 * training.BATCH  # rows: users, and positives with negatives
DIM, (FIRST, SECOND) = training.DIM, training.HIDDEN
NCF = ((ONE, DIM, FIRST), (TWO, DIM, FIRST), (TWO, FIRST, SECOND), (TWO, SECOND, 1))
HEADS = ((ONE, DIM, HEAD), (TWO, DIM, 2 * HEAD))


WHOLE = ((TWO, 2 * DIM, FIRST), *NCF[2:])  # NCF with its first layer in one piece


def thousands(layers: Sequence[tuple[int, int, int]]) -> float:
    """Operations of a train pair and its negative, forward and for both gradients."""
    return sum(6 * rows * n * m for rows, n, m in layers) / training.BATCH / 1000


def where_time_goes(records: Sequence[Record]) -> list[str]:
    """What no implementation gets around, and what was tried."""
    split, whole, heads = thousands(NCF), thousands(WHOLE), thousands(HEADS)
    return [
        f"A pair's matrix products are {split:.0f} thousand operations in ours-ncf and {whole:.0f}"
        f" in recbole-neumf: {whole / split:.2f} times, at one speed of products. PPAC's heads are"
        f" {heads:.0f} thousand; BPRMF, which moves memory, has no products at all: whatever makes"
        " it faster makes PPAC dearer in comparison.",
        *least_cost(records),
        "",
        "Tried for BPRMF and left out, because turns with and without showed no gain: moving rows"
        " when they are read, step by step or with one root for all the steps a row has missed"
        " (reading rows in random order, also with prefetching, costs what passing over all of them"
        " does); gradients kept in place of new tables; adding gradients on two threads.",
        "",
        "NCF's layers and PPAC's heads run on torch's own OpenMP threads: threads of our own"
        " shared the cores with those, which wait by spinning, and in turns took longer. Tried"
        " for them and left out: less of that waiting (PPAC gains what BPRMF loses); one"
        " thread for torch and two for the kernels (NCF gains a little, BPRMF and PPAC lose);"
        " memory that the allocator keeps (no gain to be seen).",
    ]


def least_cost(records: Sequence[Record]) -> list[str]:
    """What PPAC would cost if its heads were their matrix products and nothing else."""
    alone, heads = by_case(records, "ours-bprmf"), by_case(records, "heads-products")
    return [
        f"On {case}, BPRMF and the heads' products, at the speed of torch's product, take"
        f" {1 + typical(heads[case]) / typical(alone[case]):.2f} times BPRMF's time."
        for case in alone
        if case in heads
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
        "adam-alone": Contender(
            adam_alone, note="of ours-bprmf: Adam over both tables, with gradients that are there"
        ),
        "heads-products": Contender(
            partial(products_alone, HEADS),
            "torch",
            note="of ours-ppac-bprmf: the matrix products of its heads, and nothing else",
        ),
        "ncf-products": Contender(
            partial(products_alone, NCF),
            "torch",
            against="ours-ncf",
            note="the matrix products of ours-ncf by torch's own product, of whole batches, alone",
        ),
    },
    targets=(
        Faster("ours-bprmf", "recbole-bpr", 3),
        Faster("ours-ncf", "recbole-neumf", 3),
        Costs("ours-ppac-bprmf", "ours-bprmf", 1.5),
    ),
    closing=where_time_goes,
)
