"""Products and perceptrons of compiled kernels have torch's own as their twins."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from torch import Tensor, nn

from ppac.scoring.batches import MOST, PIECE
from ppac.scoring.paired import paired
from ppac.scoring.products import COLUMNS, FEW, ROWS, matmul

SIZES = st.sampled_from([0, 1, 2, ROWS, ROWS + 1, FEW, FEW + 3, COLUMNS, 2 * COLUMNS + FEW + 1])
NUMBERS = st.floats(-4, 4, width=32)


def matrix(rows: int, columns: int) -> st.SearchStrategy[np.ndarray]:
    return arrays.arrays(np.float32, (rows, columns), elements=NUMBERS, fill=NUMBERS)


@settings(deadline=None)  # the first call compiles
@given(st.data(), SIZES, SIZES, SIZES, st.booleans(), st.booleans())
def test_a_product_is_numpys(data, rows, depth, columns, transposed, goes_on):
    left = data.draw(matrix(rows, depth))
    left = np.asfortranarray(left) if transposed else left
    right, out = data.draw(matrix(depth, columns)), data.draw(matrix(rows, columns))
    exact = left.astype(float) @ right.astype(float) + (out if goes_on else 0)
    matmul(left, right, goes_on, out)
    np.testing.assert_allclose(out, exact, rtol=1e-4, atol=1e-3)


def test_a_number_is_the_same_wherever_it_stands_in_a_product():
    """Its sum has one order: in the bulk, at the edges, alone, transposed or not."""
    rng = np.random.default_rng(0)
    rows, columns = 2 * ROWS + 1, COLUMNS + FEW + 1
    left, right = (rng.normal(size=s).astype(np.float32) for s in ((rows, 99), (99, columns)))
    whole = np.empty((rows, columns), np.float32)
    matmul(np.asfortranarray(left), right, False, whole)
    for row, column in np.ndindex(whole.shape):
        alone = np.empty((1, 1), np.float32)
        matmul(left[row : row + 1], right[:, column : column + 1].copy(), False, alone)
        assert alone[0, 0] == whole[row, column]


class Plain(nn.Module):
    """The same perceptron in torch's words."""

    def __init__(self, dim: int, hidden: list[int], last: int) -> None:
        super().__init__()
        self.of_users, self.of_items = (nn.Linear(dim, hidden[0], bias=b) for b in (True, False))
        self.rest = nn.ModuleList(nn.Linear(*n) for n in itertools.pairwise([*hidden, last]))

    def parameters_in_order(self) -> list[Tensor]:
        first = (self.of_users.weight, self.of_items.weight, self.of_users.bias)
        return [*first, *self.rest.parameters()]

    def forward(self, users: Tensor, items: Tensor, leaks: Tensor) -> Tensor:
        hidden = self.of_users(users) + self.of_items(items)
        hidden = torch.where(hidden < 0, hidden * leaks, hidden)
        for number, layer in enumerate(self.rest):
            hidden = layer(torch.relu(hidden) if number else hidden)
        return hidden


@pytest.mark.parametrize("pairs", [0, 1, MOST, MOST * PIECE + 5])
@pytest.mark.parametrize(
    ("dim", "hidden", "last"), [(3, [2], 1), (19, [40], 2), (8, [20, 7, 5], 1)]
)
def test_a_perceptron_over_pairs_both_ways(pairs, dim, hidden, last):
    torch.manual_seed(0)
    plain = Plain(dim, hidden, last)
    users, items = torch.randn(pairs, dim), torch.randn(pairs, 2, dim).movedim(1, 0)
    weight, leaks = torch.randn(2, pairs, last), torch.rand(hidden[0]).round(decimals=1)
    for value in (users, items):
        value.requires_grad_()
    inputs = [users, items, *plain.parameters_in_order()]

    def both_ways(scores: Tensor) -> list[Tensor]:
        return [scores, *torch.autograd.grad((scores * weight).sum(), inputs)]

    ours = both_ways(paired(users, items, plain.parameters_in_order(), leaks))
    theirs = both_ways(plain(users, items, leaks))
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.shape == other.shape
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-3)


def test_units_that_see_the_item_alone():
    """As if the user's weights of these units were zero."""
    torch.manual_seed(0)
    users, items, leaks = torch.randn(70, 6), torch.randn(70, 6), torch.zeros(9)
    plain = Plain(6, [9], 1)
    of_users, *others = plain.parameters_in_order()
    less = of_users.detach()[:4].clone().requires_grad_()
    padded = torch.cat([less, torch.zeros(5, 6)])
    found = []
    for some in (less, padded):
        scores = paired(users, items, [some, *others], leaks)
        found.append([scores, *torch.autograd.grad(scores.square().sum(), [less, *others])])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_threads_do_not_change_a_bit():
    torch.manual_seed(0)
    plain = Plain(16, [32, 8], 1)
    users, items = torch.randn(999, 16), torch.randn(2, 999, 16)
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            scores = paired(users, items, plain.parameters_in_order(), torch.zeros(32))
            found.append([scores, *torch.autograd.grad(scores.square().sum(), plain.parameters())])
    finally:
        torch.set_num_threads(before)
    for others in found[1:]:
        assert all(map(torch.equal, found[0], others))


def test_what_is_infinite_or_no_number_goes_both_ways_as_in_torch():
    plain = Plain(2, [3], 1)
    users, items = torch.zeros(3, 2), torch.zeros(3, 2)
    users[0], users[1] = torch.nan, torch.inf
    inputs = [users, items, *plain.parameters_in_order()]
    for value in inputs[:2]:
        value.requires_grad_()
    with torch.no_grad():
        plain.of_users.weight.copy_(torch.tensor([[1.0, 1.0], [-1.0, -1.0], [1.0, 1.0]]))
    leaks = torch.tensor([0.0, 0.0, 0.1])
    ours = paired(users, items, plain.parameters_in_order(), leaks)
    hidden = plain.of_users(users) + plain.of_items(items)
    leaky = nn.functional.leaky_relu(hidden[:, 2:], 0.1)
    theirs = plain.rest[0](torch.cat([torch.relu(hidden[:, :2]), leaky], dim=1))
    for one, other in (
        (ours, theirs),
        *zip(*(torch.autograd.grad(s[2:].sum(), inputs) for s in (ours, theirs)), strict=True),
    ):
        torch.testing.assert_close(one, other, equal_nan=True)


def test_other_numbers_than_float32_are_refused():
    plain = Plain(4, [3], 1).double()
    pairs = torch.zeros(2, 4, dtype=torch.float64)
    with pytest.raises(TypeError, match="float32"):
        paired(pairs, pairs, plain.parameters_in_order(), torch.zeros(3))
