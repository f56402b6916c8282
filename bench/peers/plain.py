"""What most published code does, written out in plain torch: the steps, not any one's source."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from bench.training import BATCH, DIM, L2, LAYERS, RATE
from ppac.core.interactions import Interactions

Triple = tuple[Tensor, Tensor, Tensor]


def negatives(train: Interactions, users: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Uniform items that the users lack, drawn again where they do not."""
    items = rng.integers(train.n_items, size=len(users))
    hit = np.flatnonzero(train.contains(users, items))
    while len(hit):
        items[hit] = rng.integers(train.n_items, size=len(hit))
        hit = hit[train.contains(users[hit], items[hit])]
    return items


def shuffled(train: Interactions, rng: np.random.Generator) -> Iterator[Triple]:
    """All train pairs once, in batches."""
    order = rng.permutation(len(train))
    users, positives = train.users[order], train.items[order]
    yield from batches(users, positives, negatives(train, users, rng))


def uniform(train: Interactions, rng: np.random.Generator) -> Iterator[Triple]:
    """As many triples as there are pairs, the users drawn uniformly, as LightGCN-PyTorch does.

    Drawn batch by batch, so that a share of the epoch pays for a share of the drawing.
    """
    for start in range(0, len(train), BATCH):
        users = rng.integers(train.n_users, size=min(BATCH, len(train) - start))
        place = (rng.random(len(users)) * train.user_counts[users]).astype(np.int64)
        positives = train.items[train.indptr[users] + place]
        yield from batches(users, positives, negatives(train, users, rng))


def batches(*columns: np.ndarray) -> Iterator[Triple]:
    tensors = [torch.from_numpy(column.astype(np.int64)) for column in columns]
    for start in range(0, len(tensors[0]), BATCH):
        users, positives, others = (tensor[start : start + BATCH] for tensor in tensors)
        yield users, positives, others


def graph(train: Interactions) -> Tensor:
    """D^-1/2 A D^-1/2 of users and items together, a coalesced COO tensor."""
    ratings = train.matrix(np.float32)
    whole = sp.bmat([[None, ratings], [ratings.T, None]], format="coo")
    degree = np.maximum(np.asarray(whole.sum(axis=1)).ravel(), 1)
    values = (degree[whole.row] * degree[whole.col]) ** -0.5
    places = torch.from_numpy(np.stack([whole.row, whole.col]).astype(np.int64))
    return torch.sparse_coo_tensor(
        places, torch.from_numpy(values.astype(np.float32)), whole.shape
    ).coalesce()


class Plain:
    """BPR on two embedding tables, propagated over a graph if there is one; Adam."""

    def __init__(self, train: Interactions, adjacency: Tensor | None = None) -> None:
        self.users = nn.Embedding(train.n_users, DIM)
        self.items = nn.Embedding(train.n_items, DIM)
        for table in (self.users, self.items):
            nn.init.normal_(table.weight, std=0.1)
        self.adjacency = adjacency
        weights = [*self.users.parameters(), *self.items.parameters()]
        self.optimiser = torch.optim.Adam(weights, lr=RATE)

    def propagated(self) -> tuple[Tensor, Tensor]:
        """The mean of the embeddings and their propagations."""
        assert self.adjacency is not None
        layers = [torch.cat([self.users.weight, self.items.weight])]
        for _ in range(LAYERS):
            layers.append(torch.sparse.mm(self.adjacency, layers[-1]))
        mean = torch.stack(layers, dim=1).mean(dim=1)
        users, items = mean.split([len(self.users.weight), len(self.items.weight)])
        return users, items

    def looked_up(self, triple: Triple) -> Triple:
        """The embeddings of a batch."""
        users, positives, others = triple
        return self.users(users), self.items(positives), self.items(others)

    def step(self, triple: Triple) -> float:
        own = scored = self.looked_up(triple)
        if self.adjacency is not None:
            user_table, item_table = self.propagated()
            users, positives, others = triple
            scored = user_table[users], item_table[positives], item_table[others]
        user, positive, negative = scored
        ranking = softplus((user * negative).sum(1) - (user * positive).sum(1)).mean()
        norms = sum(one.square().sum() for one in own) / (2 * len(user))
        loss = ranking + L2 * norms
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return loss.item()


def epoch(model: Plain, triples: Callable[[], Iterator[Triple]], steps: int | None) -> float:
    """The loss summed over an epoch, or over its first ``steps``."""
    total = 0.0
    for number, triple in enumerate(triples()):
        if number == steps:
            break
        total += model.step(triple)
    return total
