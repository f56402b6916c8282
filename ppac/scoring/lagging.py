"""A table of parameters whose rows may be behind with their updates, and nobody can tell.

An optimiser may put a row's updates off until somebody reads it. ``take`` brings the rows it
takes up to date, and any other operation on the table all of them: no reader sees an old value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

# What can be asked about a table without reading its values.
PROPERTIES = ("shape", "device", "dtype", "grad", "requires_grad")
ABOUT = {
    getattr(getattr(Tensor, name), way) for name in PROPERTIES for way in ("__get__", "__set__")
} | {Tensor.size, Tensor.dim, Tensor.__len__, Tensor.__hash__}


class Updates(Protocol):
    """The updates that were put off."""

    def take(self, rows: Tensor) -> Tensor:
        """Some rows, after their updates."""

    def catch_up(self) -> None:
        """Make all of them."""


class Lagging(nn.Parameter):
    updates: Updates | None = None

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if function not in ABOUT:
            for table in lagging_in([*args, *kwargs.values()]):
                if table.updates:
                    table.updates.catch_up()
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **kwargs)


def lagging_in(values: Iterable[Any]) -> Iterator[Lagging]:
    for value in values:
        if isinstance(value, Lagging):
            yield value
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield from lagging_in(value)
