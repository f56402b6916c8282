"""A training of ours, epoch by epoch, for every work that needs one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bench import data
from ppac.core.config import SEARCH, read_params, with_exceptions
from ppac.core.seeds import rng, stream
from ppac.layout import Cell

DIM = 64
LAYERS = 3
HIDDEN = [256, 128]
BATCH = 8192
RATE = 1e-3
L2 = 1e-4
MODELS: dict[str, dict[str, Any]] = {
    "bprmf": {"dim": DIM},
    "ncf": {"dim": DIM, "hidden": HIDDEN},
    "lightgcn": {"dim": DIM, "layers": LAYERS},
}


@dataclass(frozen=True)
class Training:
    net: Any  # a ppac.scoring.method.Method
    epoch: Callable[[], float]  # trains one more and gives its mean loss


def ours(cell: Cell, rate: float = RATE) -> Training:
    """The cell with the sizes that all contenders have; a method's own settings are the defaults.

    This is the one place of the benchmark that knows how ppac trains.
    """
    from ppac.training.adam import Adam
    from ppac.training.loop import TrainConfig, run_epoch

    net = untrained(cell)
    sizes = {"batch": BATCH, "lr": rate, "l2": L2, "exceptions": []}
    config = TrainConfig.read({"train": read_params(data.ROOT)["train"] | sizes}, "train")
    train = data.train(cell.dataset)
    optimiser = Adam(net.parameters(), rate)
    streams: Iterator[Any] = (rng(data.SEED, "epoch", n) for n in itertools.count(1))
    return Training(net, lambda: run_epoch(net, optimiser, train, config, next(streams)))


def untrained(cell: Cell) -> Any:
    """The cell's method with seeded initial weights."""
    import torch

    from ppac.scoring.method import Shared
    from ppac.scoring.trained import build

    # Only methods that read popularity need the neighbours it takes.
    popular = data.unpopular if cell.method == "base" else data.popular
    section = with_exceptions(read_params(data.ROOT)[cell.method], cell.method, {})
    section.pop(SEARCH, None)
    settings = {cell.base: MODELS[cell.base], cell.method: section}
    torch.manual_seed(stream(data.SEED, "init"))
    return build(cell, settings, Shared(data.train(cell.dataset), popular(cell.dataset)), L2)
