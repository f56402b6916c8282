"""Adam that updates a row of a table when it is next read, not at every step.

A step's gradient reaches only the rows of its batch, but Adam moves all the others too, by what
is left of their momentum. That is put off: a row n steps behind makes n small updates in one go,
in the cache, when ``take`` reads it, and all rows when anything else does. Where a batch has a
good part of a table's rows, passing over all of them is faster, and none waits; the gradient still
has only the batch's. The numbers are those of ``torch.optim.Adam``, up to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ppac.scoring.lagging import Lagging
from ppac.scoring.team import together
from ppac.training.row_updates import EPSILON, MOMENTUM, SHARES, SQUARES, link, make_up, update

SCATTERED = 8  # times as long as a row in passing takes a row that is fetched from anywhere


class Adam(torch.optim.Adam):
    """Tables whose gradient came through ``take`` alone wait; all else is updated at once."""

    def __init__(self, parameters: Any, lr: float) -> None:
        super().__init__(parameters, lr, (MOMENTUM, SQUARES), EPSILON, fused=True)
        self.waiting: dict[nn.Parameter, Waiting] = {}
        for group in self.param_groups:
            for parameter in group["params"]:
                if may_wait(parameter):
                    parameter.__class__ = Lagging
                    parameter.updates = self.waiting[parameter] = Waiting(parameter)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        late = []
        for group in self.param_groups:
            for parameter in group["params"]:
                waiting = self.waiting.get(parameter)
                if waiting is None or parameter.grad is None:
                    continue
                if parameter.grad.is_sparse:
                    waiting.step(self.state[parameter], parameter.grad, group["lr"])
                    late.append((parameter, parameter.grad))
                    parameter.grad = None  # for the others' step
                else:
                    waiting.catch_up()
        super().step()
        for parameter, gradient in late:
            parameter.grad = gradient

    def settle(self) -> None:
        """Bring every row up to date."""
        for waiting in self.waiting.values():
            waiting.catch_up()

    def state_dict(self) -> dict[str, Any]:
        self.settle()
        return super().state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.settle()
        super().load_state_dict(state_dict)


def may_wait(parameter: Tensor) -> bool:
    kind = (parameter.device.type, parameter.dtype, parameter.dim())
    return kind == ("cpu", torch.float32, 2) and parameter.is_contiguous()


class Waiting:
    """The updates of one table that were put off, since all of its rows were last up to date."""

    def __init__(self, table: Tensor) -> None:
        self.table = table.detach()
        self.state: dict[str, Tensor] = {}
        self.done = np.zeros(len(table), np.int32)  # steps that each row has made
        self.first = np.empty(len(table), np.int32)  # see ``link``
        self.rates: list[tuple[float, float]] = []  # of each step: see ``rates_at``

    def step(self, state: dict[str, Tensor], gradient: Tensor, lr: float) -> None:
        """One step of Adam for the rows that the sparse gradient has; the others wait."""
        if not state:
            state["step"] = torch.zeros(())
            state["exp_avg"] = torch.zeros_like(self.table)
            state["exp_avg_sq"] = torch.zeros_like(self.table)
        self.state = state
        rows, values = gradient._indices()[0], gradient._values().contiguous()
        whole = len(rows) * SCATTERED > len(self.table)
        if whole or (self.done[rows.numpy()] != len(self.rates)).any():
            self.catch_up()  # the latter: a gradient that did not come through ``take``
        state["step"] += 1
        rate = rates_at(int(state["step"]), lr)
        if not whole:
            self.rates.append(rate)
        following = self.link(rows)
        now = len(self.rates)
        self.run(update, following, values.numpy(), np.array(rate, np.float32), now, whole)

    def take(self, rows: Tensor) -> Tensor:
        if not self.rates:
            return self.table.index_select(0, rows)
        out = torch.empty(len(rows), self.table.shape[1])
        self.make_up(rows, out)
        return out

    def catch_up(self) -> None:
        if self.rates:
            self.make_up(torch.arange(len(self.table)), torch.empty(0, self.table.shape[1]))
            self.rates.clear()
            self.done[:] = 0

    def make_up(self, rows: Tensor, out: Tensor) -> None:
        following = self.link(rows)
        self.run(make_up, following, np.array(self.rates, np.float32), out.numpy())

    def link(self, rows: Tensor) -> np.ndarray:
        following = np.empty(len(rows), np.int32)
        if not link(rows.numpy(), self.first, following):
            raise IndexError(f"rows of a table of {len(self.table)} that it does not have")
        return following

    def run(self, kernel: Any, *arguments: Any) -> None:
        """Every share has rows of its own, so the threads do not matter to the result."""
        means = (self.state["exp_avg"].numpy(), self.state["exp_avg_sq"].numpy())
        arrays = (self.table.numpy(), *means, self.done, self.first, *arguments)
        together(lambda share: kernel(share, *arrays), SHARES)


def rates_at(step: int, lr: float) -> tuple[float, float]:
    """What Adam multiplies the momentum and the root of the squares by: its bias corrections."""
    return lr / (1 - MOMENTUM**step), (1 - SQUARES**step) ** -0.5
