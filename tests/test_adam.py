"""Adam with updates put off gives what torch's gives, whoever reads the tables and when."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from ppac.scoring.gather import take
from ppac.scoring.lagging import Lagging
from ppac.training.adam import Adam
from ppac.training.row_updates import FADED

CLOSE = {"rtol": 2e-5, "atol": 2e-7}


class Net(nn.Module):
    """Two tables and a weight, so that some parameters wait and others do not."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.users = nn.Parameter(torch.randn(rows, width))
        self.items = nn.Parameter(torch.randn(rows, width))
        self.weight = nn.Linear(width, 1)

    def loss(self, rows: Tensor, whole: bool, again: bool) -> Tensor:
        picked = take(self.users, rows) * take(self.items, rows.flip(0))
        value = self.weight(picked).sigmoid().sum()
        if again:  # the same table through two takes
            value = value + take(self.items, rows[:1]).square().sum()
        if whole:  # a reader of all rows, which makes the gradient a dense one
            value = value + self.items.square().mean()
        return value


def twins(seed: int, rows: int, width: int, lr: float):
    torch.manual_seed(seed)
    net = Net(rows, width)
    slow = copy.deepcopy(net)
    return net, Adam(net.parameters(), lr), slow, torch.optim.Adam(slow.parameters(), lr)


def train(net: Net, optimiser: torch.optim.Optimizer, rows: Tensor, whole=False, again=False):
    optimiser.zero_grad()
    loss = net.loss(rows, whole, again)
    loss.backward()
    optimiser.step()
    return loss.item()


def assert_same(net: Net, optimiser, slow: Net, its) -> None:
    for (name, one), other in zip(net.named_parameters(), slow.parameters(), strict=True):
        torch.testing.assert_close(one.detach(), other.detach(), **CLOSE, msg=name)
    states = [o.state_dict()["state"] for o in (optimiser, its)]
    assert states[0].keys() == states[1].keys()
    for key in states[1]:
        for part, value in states[1][key].items():
            torch.testing.assert_close(states[0][key][part], value, rtol=1e-4, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(1, 150),
    width=st.integers(1, 17),
    steps=st.lists(
        st.tuples(st.integers(0, 12), st.booleans(), st.booleans()), min_size=1, max_size=25
    ),
    threads=st.sampled_from([1, 2]),
)
def test_it_is_torchs_adam(seed, rows, width, steps, threads, threads_kept):
    torch.set_num_threads(threads)
    chance = np.random.default_rng(seed)
    net, optimiser, slow, its = twins(seed, rows, width, 0.05)
    for size, whole, again in steps:
        picked = torch.from_numpy(chance.integers(rows, size=size))
        losses = [train(*pair, picked, whole, again) for pair in ((net, optimiser), (slow, its))]
        assert losses[0] == pytest.approx(losses[1], rel=1e-4, abs=1e-6)
    assert_same(net, optimiser, slow, its)


@pytest.fixture(scope="module")
def threads_kept():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_a_row_that_waited_long():
    net, optimiser, slow, its = twins(0, 40, 8, 0.05)
    for pair in ((net, optimiser), (slow, its)):
        train(*pair, torch.arange(40))
        for _ in range(3 * FADED):
            train(*pair, torch.tensor([4]))
    assert_same(net, optimiser, slow, its)


READERS = {
    "sum": lambda table: table.sum(),
    "index": lambda table: table[3],
    "in a list": lambda table: torch.cat([table, table])[3],
    "keyword": lambda table: torch.sum(input=table),
    "right operand": lambda table: torch.ones(2, 40) @ table,
    "embedding": lambda table: nn.functional.embedding(torch.tensor([3]), table),
    "copy": lambda table: copy.deepcopy(table).detach(),
    "array": lambda table: torch.from_numpy(table.detach().numpy().copy()),
    "data": lambda table: table.data.clone(),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS.keys())
def test_no_reader_sees_a_row_that_is_behind(reader):
    net, optimiser, slow, its = twins(1, 40, 8, 0.05)
    for rows in (torch.arange(40), torch.tensor([0]), torch.tensor([1])):
        for pair in ((net, optimiser), (slow, its)):
            train(*pair, rows)
    with torch.no_grad():
        assert (optimiser.waiting[net.users].done < 2).any()  # something is behind
        torch.testing.assert_close(reader(net.users), reader(slow.users), **CLOSE)


def test_what_is_saved_is_up_to_date_and_goes_on_the_same():
    net, optimiser, _, _ = twins(2, 40, 8, 0.05)
    for rows in (torch.arange(40), torch.tensor([0]), torch.tensor([1])):
        train(net, optimiser, rows)
    optimiser.settle()
    saved = copy.deepcopy((net.state_dict(), optimiser.state_dict()))
    other = Net(40, 8)
    its = Adam(other.parameters(), 0.05)
    other.load_state_dict(saved[0])
    its.load_state_dict(saved[1])
    for pair in ((net, optimiser), (other, its)):
        train(*pair, torch.tensor([2, 5, 5]))
        pair[1].settle()
    for one, another in zip(net.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, another)


def test_gradients_of_other_training_stay_dense():
    net = Net(4, 3)
    net.loss(torch.tensor([1]), False, False).backward()
    assert not isinstance(net.users, Lagging)
    assert net.users.grad is not None and not net.users.grad.is_sparse
