"""Train a base model with a method around it; validation decides on settings and when to stop."""

from __future__ import annotations

import polars as pl

from ppac.core.files import new_folder, write_csv
from ppac.core.interactions import read_part
from ppac.core.popularity import read_popularity
from ppac.core.seeds import rng
from ppac.layout import Cell, Dataset
from ppac.progress import say
from ppac.scoring import trained
from ppac.scoring.compute import ComputeConfig
from ppac.scoring.method import Shared
from ppac.scoring.ranking import Ranking, TieOrder
from ppac.tracking import track
from ppac.training import search
from ppac.training.loop import TrainConfig
from ppac.training.run import Training
from stages import door


def main() -> None:
    args = door.arguments(__doc__, "dataset", "base", "method")
    params = door.params()
    seed = door.seed(params)
    cell, place = Cell(**vars(args)), Dataset(args.dataset)
    config = TrainConfig.read(params, "train", **vars(cell))
    wanted = search.SearchConfig.read(params, "search", **vars(cell))
    device = (compute := ComputeConfig.read(params, "compute")).use()

    train, valid = read_part(place.split, "train"), read_part(place.split, "valid")
    shared = Shared(train, read_popularity(place.popularity))
    ties = TieOrder.seeded(train.n_users, train.n_items, seed, cell.dataset)
    ranking = Ranking(train, shared.popularity, ties, device, compute.memory_mb)
    where = {**compute.model_dump(), "device": str(device)}
    training = Training(cell, shared, valid, ranking, seed, where, trained.data_digests(place))
    settings = {"train": config.model_dump(), **trained.settings_of(params, cell)}
    stream = rng(seed, "search", *vars(cell).values())
    grid = search.grid_of(params, settings, vars(cell))
    candidates = wanted.candidates(settings, grid, cell.method, stream)
    trials = search.search(candidates, lambda some: training.trial(wanted, some))
    chosen = trials[0].settings if trials else settings

    facts = training.facts(chosen)
    with track.live(cell, facts.digest, facts.params) as run:
        _, state = training.fit(chosen, training.checkpoint(chosen), run.epoch)
    with new_folder(cell.model.parent) as folder:
        trained.save(folder / cell.model.name, facts, state.weights)
        write_csv(folder / cell.curve.name, pl.DataFrame(state.curve, infer_schema_length=None))
        if trials:
            write_csv(folder / cell.search.name, search.table(trials, grid))
    for some in candidates:
        training.checkpoint(some).delete()
    say(f"train {cell}: {state.epoch} epochs, best validation ndcg_at_50 {state.best:.4f}")


if __name__ == "__main__":
    door.enter(main)
