"""A cell's training: from settings to a fitted method, with the checkpoint that belongs to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch

from ppac.core.config import FILE
from ppac.core.errors import Problem
from ppac.core.files import config_digest
from ppac.core.interactions import Interactions
from ppac.core.seeds import rng, stream
from ppac.layout import Cell
from ppac.scoring import trained
from ppac.scoring.grid import grid_of
from ppac.scoring.method import Method, Shared
from ppac.scoring.ranking import Ranking
from ppac.scoring.validation import score_grid
from ppac.training.checkpoints import Checkpoint, code_digest
from ppac.training.loop import Row, State, TrainConfig, fit, sample_users
from ppac.training.search import METRIC, SearchConfig, Settings, Trial

TRAIN = "train"


@dataclass(frozen=True)
class Training:
    cell: Cell
    shared: Shared
    valid: Interactions
    ranking: Ranking
    seed: int
    compute: Mapping[str, Any]
    data: dict[str, str]  # digests of what is learned from

    def facts(self, settings: Settings) -> trained.Facts:
        config = TrainConfig.check(settings[TRAIN], TRAIN)
        return trained.Facts(
            cell=str(self.cell),
            settings=trained.settings_of(settings, self.cell),
            train={"seed": self.seed, **self.compute, **config.decisive()},
            data=self.data,
        )

    def checkpoint(self, settings: Settings, keep: bool = False) -> Checkpoint:
        """Under everything that decides the result but its length: a trial is a beginning."""
        facts = asdict(self.facts(settings))
        facts["train"].pop("epochs")
        digest = config_digest([facts, code_digest()])
        return Checkpoint(digest, settings[TRAIN]["checkpoint_seconds"], keep=keep)

    def fit(
        self,
        settings: Settings,
        checkpoint: Checkpoint,
        on_epoch: Callable[[Row], None] = lambda row: None,
    ) -> tuple[Method, State]:
        config = TrainConfig.check(settings[TRAIN], TRAIN)
        names = (TRAIN, *vars(self.cell).values())
        torch.manual_seed(stream(self.seed, *names, "init"))
        sections = self.facts(settings).settings
        method = trained.build(self.cell, sections, self.shared, config.l2)
        method.to(self.ranking.device)
        streams = partial(rng, self.seed, *names)
        train = self.shared.train
        args = (method, train, self.valid, self.ranking, config, streams, checkpoint, on_epoch)
        return method, fit(*args)

    def trial(self, search: SearchConfig, settings: Settings) -> Trial:
        """The first epochs of a training, judged at the best of a few inference-only weights."""
        if search.epochs % settings[TRAIN]["validate_every"]:
            raise Problem(
                f"{FILE}: 'search.epochs' is {search.epochs}: it must be a multiple of "
                f"'train.validate_every' ({settings[TRAIN]['validate_every']})."
            )
        short = {**settings, TRAIN: {**settings[TRAIN], "epochs": search.epochs}}
        method, state = self.fit(short, self.checkpoint(settings, keep=True))
        method.load_state_dict(state.weights)
        method.eval()
        grid = grid_of(method.neutral, search.weights, "search.weights")
        if len(grid) == 1:  # nothing to choose: what stopping looked at is the score
            return Trial(settings, state.epoch, grid[0], state.best)
        names = (TRAIN, *vars(self.cell).values(), "validate")
        most = settings[TRAIN]["validate_users"]
        watched = sample_users(self.valid, most, rng(self.seed, *names))
        surface = score_grid(method, self.ranking, watched, grid)
        best = int(surface[METRIC].arg_max() or 0)
        return Trial(settings, state.epoch, grid[best], surface[METRIC][best])
