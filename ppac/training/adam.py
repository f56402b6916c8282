"""Adam: PyTorch's step, without what its optimiser class loads at the first use.

`torch.optim.Adam` imports PyTorch's compiler when it is made, which takes longer than training
a small model for several epochs. The function it calls in the end does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.optim.adam import adam


class Adam:
    """Equal to ``torch.optim.Adam(..., fused=True)`` bit by bit."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float) -> None:
        self.lr = lr
        self.parameters = list(parameters)
        self.means = [torch.zeros_like(value) for value in self.parameters]
        self.squares = [torch.zeros_like(value) for value in self.parameters]
        self.steps = [torch.zeros((), device=value.device) for value in self.parameters]

    def zero_grad(self) -> None:
        for value in self.parameters:
            value.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Parameters without a gradient stay as they are."""
        gradients = {i: p.grad for i, p in enumerate(self.parameters) if p.grad is not None}
        moved = list(gradients)
        adam(
            [self.parameters[i] for i in moved],
            list(gradients.values()),
            [self.means[i] for i in moved],
            [self.squares[i] for i in moved],
            [],
            [self.steps[i] for i in moved],
            fused=True,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=self.lr,
            weight_decay=0.0,
            eps=1e-8,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        return {"means": self.means, "squares": self.squares, "steps": self.steps}

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        for mine, theirs in (
            (self.means, saved["means"]),
            (self.squares, saved["squares"]),
            (self.steps, saved["steps"]),
        ):
            for value, other in zip(mine, theirs, strict=True):
                value.copy_(other)
