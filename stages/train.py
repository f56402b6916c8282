"""Train a base model with a method around it; validation decides when to stop."""

from __future__ import annotations

from functools import partial

import polars as pl
import torch

from ppac.core.files import config_digest, new_folder, write_csv
from ppac.core.interactions import read_part
from ppac.core.layout import Cell, Dataset
from ppac.core.popularity import read_popularity
from ppac.core.seeds import rng, stream
from ppac.progress import say
from ppac.scoring import trained
from ppac.scoring.compute import ComputeConfig
from ppac.scoring.method import Shared
from ppac.scoring.ranking import Ranking, TieOrder
from ppac.tracking import track
from ppac.training.checkpoints import Checkpoint, code_digest
from ppac.training.loop import TrainConfig, fit
from stages import door


def main() -> None:
    args = door.arguments(__doc__, "dataset", "base", "method")
    params = door.params()
    seed = door.seed(params)
    cell, place = Cell(**vars(args)), Dataset(args.dataset)
    config = TrainConfig.read(params, "train", **vars(cell))
    compute = ComputeConfig.read(params, "compute")
    device = compute.use()

    train, valid = read_part(place.split, "train"), read_part(place.split, "valid")
    shared = Shared(train, read_popularity(place.popularity))
    ties = TieOrder.seeded(train.n_users, train.n_items, seed, cell.dataset)
    ranking = Ranking(train, shared.popularity, ties, device, compute.memory_mb)
    facts = trained.Facts(
        cell=str(cell),
        settings=trained.settings_of(params, cell),
        train={"seed": seed, **compute.model_dump(), "device": str(device), **config.decisive()},
        data=trained.data_digests(place),
    )
    names = ("train", *vars(cell).values())
    torch.manual_seed(stream(seed, *names, "init"))
    method = trained.build(cell, facts.settings, shared, config.l2).to(device)
    checkpoint = Checkpoint(config_digest([facts.digest, code_digest()]), config.checkpoint_seconds)
    named = partial(rng, seed, *names)
    with track.live(cell, facts.digest, facts.params) as run:
        state = fit(method, train, valid, ranking, config, named, checkpoint, run.epoch)
    with new_folder(cell.model.parent) as folder:
        trained.save(folder / cell.model.name, facts, state.weights)
        write_csv(folder / cell.curve.name, pl.DataFrame(state.curve, infer_schema_length=None))
    checkpoint.delete()
    say(f"train {cell}: {state.epoch} epochs, best validation ndcg_at_50 {state.best:.4f}")


if __name__ == "__main__":
    door.enter(main)
