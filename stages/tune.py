"""Choose a cell's inference-only weights on validation, and write the whole surface."""

from __future__ import annotations

from ppac.core.files import new_folder, write_csv, write_json
from ppac.core.interactions import read_part
from ppac.core.popularity import read_popularity
from ppac.layout import Cell, Dataset
from ppac.progress import say
from ppac.scoring.compute import ComputeConfig
from ppac.scoring.method import Shared
from ppac.scoring.ranking import Ranking, TieOrder
from ppac.scoring.trained import load_scorer
from ppac.tuning import TuneConfig, tune
from stages import door


def main() -> None:
    args = door.arguments(__doc__, "dataset", "base", "method")
    params = door.params()
    cell, place = Cell(**vars(args)), Dataset(args.dataset)
    config = TuneConfig.read(params, "tune", **vars(cell))
    compute = ComputeConfig.read(params, "compute")
    device = compute.use()

    train, valid = read_part(place.split, "train"), read_part(place.split, "valid")
    shared = Shared(train, read_popularity(place.popularity), place.neighbours)
    ties = TieOrder.seeded(train.n_users, train.n_items, door.seed(params), cell.dataset)
    ranking = Ranking(train, shared.popularity, ties, device, compute.memory_mb)
    tuned, surface = tune(load_scorer(cell, shared, device, params), ranking, valid, config)

    with new_folder(cell.tuned.parent) as folder:
        write_json(folder / cell.tuned.name, tuned)
        write_csv(folder / cell.surface.name, surface)
    weights = ", ".join(f"{name} {value:g}" for name, value in tuned["weights"].items())
    say(
        f"tune {cell}: {weights or 'nothing to choose'}, validation {config.metric} "
        f"{tuned['valid'][config.metric]:.4f} (neutral {tuned['neutral'][config.metric]:.4f})"
    )


if __name__ == "__main__":
    door.enter(main)
