"""Graph propagation: E + AE + A²E + ... over the user-item graph, both ways of autograd.

A is the symmetrically normalised adjacency. It is symmetric, and so is any polynomial of it:
the gradient is propagated by the very same function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from llvmlite import ir
from numba import types
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from ppac.core.compiled import intrinsic, loose_kernel
from ppac.core.interactions import Interactions
from ppac.scoring.threads import share_out

SHARES = 8  # of either side's rows, for threads to take
BLOCK, HALF = 64, 32  # columns: a number known to the compiler keeps their sums in registers
AHEAD = 16  # edges: their rows are on the way from memory while the ones before are added
LINE = 64  # bytes of a cache line
Pair = tuple[Tensor, Tensor]


class Graph:
    """The normalised graph, held as users x items and as items x users.

    Both are renumbered so that neighbours in the graph are near each other: rows worked on one
    after the other then need much the same rows of the other side, still in the cache.
    """

    def __init__(self, train: Interactions) -> None:
        ratings = train.matrix(np.float32)
        users = 1 / np.sqrt(np.maximum(train.user_counts, 1))
        items = 1 / np.sqrt(np.maximum(train.item_counts, 1))
        ratings.data = (users[train.users] * items[train.items]).astype(np.float32)
        self.plain = ratings
        self.names = nearby(ratings)
        self.inner_names = [np.arange(len(names)) for names in self.names]
        self.kept: list[Pair] = []
        inner = ratings[self.names[0]][:, self.names[1]]
        self.sides = [in_order(inner), in_order(inner.T.tocsr())]
        self.shares = [even_shares(indptr) for indptr, *_ in self.sides]
        self.sparse: Pair | None = None  # for other devices than the CPU

    def propagate(self, users: Tensor, items: Tensor, layers: int) -> Pair:
        """The mean of E, AE, ..., for users and for items."""
        if not layers:
            return users, items
        result: Pair = Propagate.apply(self, layers, users, items)
        return result

    def mean(self, ego: Pair, layers: int) -> Pair:
        """By Horner's rule: E + A(E + A(E + ...)), divided by their number."""
        if ego[0].device.type != "cpu":
            sides = self.on(ego[0].device)
            tables = ego
            for _ in range(layers):
                tables = (ego[0] + sides[0] @ tables[1], ego[1] + sides[1] @ tables[0])
            return tables[0] / (layers + 1), tables[1] / (layers + 1)
        inner, *spare = self.scratch(ego)
        for table, names, to in zip(ego, self.names, inner, strict=True):
            torch.index_select(table, 0, torch.from_numpy(names), out=to)
        tables = inner
        for layer in range(layers - 1):
            tables = self.step(inner, tables, spare[layer % 2], self.inner_names, 1.0)
        result = (torch.empty_like(ego[0]), torch.empty_like(ego[1]))
        return self.step(inner, tables, result, self.names, 1 / (layers + 1))

    def scratch(self, ego: Pair) -> list[Pair]:
        """Three tables kept from step to step: new memory would cost as much as the work."""
        if not self.kept or self.kept[0][0].shape != ego[0].shape:
            self.kept = [(torch.empty_like(ego[0]), torch.empty_like(ego[1])) for _ in range(3)]
        return self.kept

    def step(
        self, ego: Pair, tables: Pair, out: Pair, names: Sequence[np.ndarray], scale: float
    ) -> Pair:
        """(E + A t) scale: each side receives from the other."""

        def work(share: int) -> None:
            side, place = divmod(share, SHARES)
            table, own, to = (t.numpy() for t in (tables[1 - side], ego[side], out[side]))
            first, last = self.shares[side][place : place + 2]
            graph = self.sides[side]
            receive(*graph, table, own, to, names[side], np.float32(scale), first, last)

        share_out(work, 2 * SHARES)
        return out

    def on(self, device: torch.device) -> Pair:
        """The same as torch's sparse matrices."""
        if self.sparse is None or self.sparse[0].device != device:
            both = (self.plain, self.plain.T.tocsr())
            self.sparse = (torch_csr(both[0]).to(device), torch_csr(both[1]).to(device))
        return self.sparse


class Propagate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, graph: Graph, layers: int, users: Tensor, items: Tensor) -> Pair:
        ctx.graph, ctx.layers = graph, layers
        return graph.mean((users.contiguous(), items.contiguous()), layers)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, Tensor, Tensor]:
        users, items = (gradient.contiguous() for gradient in gradients)
        return None, None, *ctx.graph.mean((users, items), ctx.layers)


@loose_kernel
def receive(
    indptr: np.ndarray,
    neighbours: np.ndarray,
    weights: np.ndarray,
    table: np.ndarray,
    ego: np.ndarray,
    out: np.ndarray,
    names: np.ndarray,
    scale: np.float32,
    first: int,
    last: int,
) -> None:
    """out[names] = (ego + graph @ table) scale, for some rows, by blocks of columns."""
    whole = table.shape[1] // BLOCK * BLOCK
    known = table.shape[1] // HALF * HALF
    for r in range(first, last):
        total, own = out[names[r]], ego[r]
        for j in range(len(total)):
            total[j] = own[j]
        mine = neighbours[indptr[r] : indptr[last]]
        degree = indptr[r + 1] - indptr[r]
        for column in range(0, whole, BLOCK):
            gather(total, table, column, mine, weights[indptr[r] :], degree)
        if known > whole:
            gather_half(total, table, whole, mine, weights[indptr[r] :], degree)
        for e in range(degree):
            for j in range(known, len(total)):
                total[j] += weights[indptr[r] + e] * table[mine[e], j]
        if scale != 1:
            for j in range(len(total)):
                total[j] *= scale


def gatherer(block: int) -> Callable[..., None]:
    """A kernel for so many columns."""

    @loose_kernel
    def gather(
        total: np.ndarray,
        table: np.ndarray,
        column: int,
        rows: np.ndarray,
        weights: np.ndarray,
        n: int,
    ) -> None:
        """total += weights[:n] @ table[rows[:n]], four rows at a time, some columns from one on."""
        base, width = table.ctypes.data + 4 * column, table.strides[0]
        total = total[column:]
        e = 0
        while e + 4 <= n:
            for ahead in range(e + AHEAD, e + AHEAD + 4):
                row = base + np.int64(rows[min(ahead, len(rows) - 1)]) * width
                for line in range(0, 4 * block, LINE):
                    prefetch(row + line)
            a, b = table[rows[e]][column:], table[rows[e + 1]][column:]
            c, d = table[rows[e + 2]][column:], table[rows[e + 3]][column:]
            w, x, y, z = weights[e], weights[e + 1], weights[e + 2], weights[e + 3]
            for j in range(block):
                total[j] += w * a[j] + x * b[j] + y * c[j] + z * d[j]
            e += 4
        while e < n:
            a, w = table[rows[e]][column:], weights[e]
            for j in range(block):
                total[j] += w * a[j]
            e += 1

    return gather


gather, gather_half = gatherer(BLOCK), gatherer(HALF)


@intrinsic
def prefetch(typing: Any, address: Any) -> tuple[Any, Any]:
    """Ask for a cache line; any address will do."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, i32, i32, i32])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
        read, keep, data = (ir.Constant(i32, value) for value in (0, 3, 1))
        builder.call(ask, [builder.inttoptr(args[0], pointer), read, keep, data])
        return context.get_dummy_value()

    return types.void(types.int64), code


def nearby(ratings: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Users and items in an order in which neighbours in the graph are near each other."""
    n_users = ratings.shape[0]
    graph = sp.block_array([[None, ratings], [ratings.T, None]], format="csr")
    order = reverse_cuthill_mckee(graph, symmetric_mode=True)
    order = order.astype(np.int64)
    return order[order < n_users], order[order >= n_users] - n_users


def in_order(side: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays of a matrix, its columns ascending."""
    side.sort_indices()
    return side.indptr, side.indices, side.data


def even_shares(indptr: np.ndarray) -> np.ndarray:
    """Bounds of ranges of rows with about as many edges each."""
    wanted = np.linspace(0, indptr[-1], SHARES + 1)[1:-1]
    inner = np.searchsorted(indptr, wanted)
    return np.concatenate([[0], inner, [len(indptr) - 1]])


def torch_csr(matrix: sp.csr_matrix) -> Tensor:
    indptr, indices, data = map(torch.from_numpy, (matrix.indptr, matrix.indices, matrix.data))
    return torch.sparse_csr_tensor(indptr, indices, data, matrix.shape, check_invariants=False)
