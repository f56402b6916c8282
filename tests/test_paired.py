"""The perceptron over pairs against the same written in torch's own operations."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from ppac.scoring.paired import perceptron
from ppac.scoring.perceptron import through


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    lead=st.sampled_from([(), (1,), (2,), (2, 3)]),
    batch=st.integers(0, 7),
)
def test_values_and_gradients(seed, sizes, lead, batch):
    torch.manual_seed(seed)
    dim = 5
    user_half = nn.Linear(dim, sizes[0])
    first = nn.Linear(dim, sizes[0], bias=False)
    ends = [*sizes[1:], 1]
    rest = [nn.Linear(a, b) for a, b in zip(sizes, ends, strict=True)]
    inputs = [torch.randn(batch, dim), torch.randn(*lead, batch, dim)]
    users, items = (value.requires_grad_() for value in inputs)
    parameters = [p for layer in (user_half, first, *rest) for p in layer.parameters()]
    weight = torch.randn(*lead, batch)

    fast = perceptron(user_half(users), items, first, rest)
    slow = through(user_half(users) + first(items), rest)
    torch.testing.assert_close(fast, slow)
    wanted = [users, items, *parameters]
    pairs = zip(
        *(torch.autograd.grad((value * weight).sum(), wanted) for value in (fast, slow)),
        strict=True,
    )
    for one, other in pairs:
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_it_leaves_its_inputs_alone():
    first, rest = nn.Linear(3, 4, bias=False), [nn.Linear(4, 1)]
    users, items = torch.randn(6, 4), torch.randn(2, 6, 3)
    before = users.clone(), items.clone()
    items.requires_grad_()
    perceptron(users, items, first, rest).sum().backward()
    assert torch.equal(users, before[0])
    assert torch.equal(items, before[1])


@pytest.mark.parametrize("lead", [(), (2,)])
def test_one_user_for_all_items(lead):
    """Without a batch of users there is nothing to pair: broadcast as torch would."""
    first, rest = nn.Linear(3, 4, bias=False), [nn.Linear(4, 1)]
    users, items = torch.randn(4), torch.randn(*lead, 6, 3)
    expected = through(users + first(items), rest)
    torch.testing.assert_close(perceptron(users, items, first, rest), expected)
