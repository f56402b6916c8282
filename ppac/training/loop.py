"""Training any method: shuffled batches, Adam, early stopping on validation, resumable."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from pydantic import Field

from ppac.core.config import Section
from ppac.core.errors import Problem
from ppac.core.interactions import Interactions
from ppac.progress import bar
from ppac.scoring.method import Batch, Method
from ppac.scoring.ranking import Ranking
from ppac.scoring.sampling import trainable_pairs
from ppac.scoring.validation import score_grid
from ppac.training.adam import Adam
from ppac.training.checkpoints import Checkpoint

Row = dict[str, float]


class TrainConfig(Section):
    lr: float = Field(gt=0)
    batch: int = Field(gt=0)
    l2: float = Field(ge=0)
    average: float = Field(ge=0, lt=1)
    epochs: int = Field(gt=0)
    patience: int = Field(gt=0)
    validate_every: int = Field(gt=0)
    validate_users: int = Field(gt=0)
    checkpoint_seconds: float = Field(ge=0)

    def decisive(self) -> dict[str, Any]:
        """The settings that decide the result: how often it is saved does not, nor no mean."""
        idle = set() if self.average else {"average"}
        return self.model_dump(exclude={"checkpoint_seconds", *idle})


@dataclass
class State:
    """Where a training is: everything that the next epoch depends on."""

    epoch: int = 0
    best: float = -1.0
    stale: int = 0  # validations since the best one
    weights: dict[str, torch.Tensor] = field(default_factory=dict)  # of the best one
    mean: dict[str, torch.Tensor] = field(default_factory=dict)  # of the epochs' weights, if asked
    curve: list[Row] = field(default_factory=list)


def fit(
    method: Method,
    train: Interactions,
    valid: Interactions,
    ranking: Ranking,
    config: TrainConfig,
    stream: Callable[..., np.random.Generator],
    checkpoint: Checkpoint,
    on_epoch: Callable[[Row], None] = lambda row: None,
) -> State:
    """Train until validation stops improving; the state holds the best weights and the curve.

    ``stream(name, ...)`` gives named random generators. Every epoch has its own, so the epoch
    number is all the randomness there is to remember.
    """
    optimiser = Adam(method.parameters(), config.lr)
    state = resume(method, optimiser, checkpoint)
    for row in state.curve:
        on_epoch(row)
    watched = sample_users(valid, config.validate_users, stream("validate"))
    with bar(total=config.epochs, initial=state.epoch, desc="training", unit="epoch") as progress:
        while state.epoch < config.epochs and state.stale < config.patience:
            state.epoch += 1
            method.start_epoch(state.epoch)
            loss = run_epoch(method, optimiser, train, config, stream("epoch", state.epoch))
            if not math.isfinite(loss):
                raise Problem(
                    f"training diverged in epoch {state.epoch}: the loss is {loss}. "
                    f"Lower train.lr ({config.lr:g})."
                )
            if config.average:
                average(state, method, config.average)
            row = {"epoch": state.epoch, "loss": loss}
            if state.epoch % config.validate_every == 0 or state.epoch == config.epochs:
                row |= judge(state, method, ranking, watched)
            state.curve.append(row)
            on_epoch(row)
            progress.update()
            progress.set_postfix(loss=f"{loss:.4f}", ndcg=f"{state.best:.4f}")
            checkpoint.save(snapshot(method, optimiser, state))
    checkpoint.save(snapshot(method, optimiser, state), last=True)
    return state


def run_epoch(
    method: Method,
    optimiser: Adam,
    train: Interactions,
    config: TrainConfig,
    rng: np.random.Generator,
) -> float:
    """One pass over all train pairs in a new order with new negatives; the mean loss."""
    device = next(method.parameters()).device
    pairs = rng.permutation(trainable_pairs(train))
    if not len(pairs):
        raise Problem("every user has every item in train: there is nothing to learn.")
    users, positives = train.users[pairs], train.items[pairs]
    negatives = method.negatives(train, users, positives, rng)
    columns = [
        torch.from_numpy(column.astype(np.int64)).to(device)
        for column in (users, positives, negatives, pairs)
    ]
    method.train()
    total = torch.zeros((), device=device)
    for start in range(0, len(pairs), config.batch):
        batch = Batch(*(column[start : start + config.batch] for column in columns))
        optimiser.zero_grad()
        loss = method.loss(batch)
        loss.backward()
        optimiser.step()
        total += loss.detach() * len(batch.users)
    return float(total) / len(pairs)


def sample_users(valid: Interactions, size: int, rng: np.random.Generator) -> Interactions:
    """Validation interactions of at most ``size`` users."""
    users = np.flatnonzero(valid.user_counts)
    chosen = rng.permutation(users)[:size]
    keep = np.isin(valid.users, chosen)
    return Interactions.of(valid.users[keep], valid.items[keep], valid.n_users, valid.n_items)


def validate(method: Method, ranking: Ranking, watched: Interactions) -> Row:
    """Validation metrics of the method's scores at its neutral weights."""
    method.eval()
    neutral = dict(method.neutral)
    scores = score_grid(method, ranking, watched, [neutral]).row(0, named=True)
    return {name: value for name, value in scores.items() if name not in neutral}


def average(state: State, method: Method, share: float) -> None:
    """Move the running mean to the weights of this epoch: ``share`` of it stays, at first less.

    Steps of one size leave weights astray by about that size; their mean is astray by less.
    """
    stays = min(share, 1 - 1 / state.epoch)  # at first all epochs count alike
    for name, value in method.state_dict().items():
        mean = state.mean.setdefault(name, torch.zeros_like(value))
        mean.mul_(stays).add_(value, alpha=1 - stays)


@contextmanager
def with_weights(method: Method, weights: dict[str, torch.Tensor]) -> Iterator[None]:
    """The method with other weights for a while; with its own, if there are none."""
    own = copy.deepcopy(method.state_dict()) if weights else {}
    if weights:
        method.load_state_dict(weights)
    yield
    if weights:
        method.load_state_dict(own)


def judge(state: State, method: Method, ranking: Ranking, watched: Interactions) -> Row:
    """Validation metrics of the weights, or of their mean: kept if they are the best so far."""
    with with_weights(method, state.mean):
        row = validate(method, ranking, watched)
        note_validation(state, method, row)
    return row


def note_validation(state: State, method: Method, row: Row) -> None:
    """Keep the weights if they are the best so far."""
    if row["ndcg_at_50"] > state.best:
        state.best, state.stale = row["ndcg_at_50"], 0
        state.weights = copy.deepcopy(
            {name: value.detach().cpu() for name, value in method.state_dict().items()}
        )
    else:
        state.stale += 1


def snapshot(method: Method, optimiser: Adam, state: State) -> dict[str, Any]:
    return {
        "method": method.state_dict(),
        "optimiser": optimiser.state_dict(),
        "torch": torch.get_rng_state(),
        "state": vars(state),
    }


def resume(method: Method, optimiser: Adam, checkpoint: Checkpoint) -> State:
    """The state to go on from: the checkpoint's, or a new one."""
    saved = checkpoint.load()
    if saved is None:
        return State()
    method.load_state_dict(saved["method"])
    optimiser.load_state_dict(saved["optimiser"])
    torch.set_rng_state(saved["torch"])
    return State(**saved["state"])
