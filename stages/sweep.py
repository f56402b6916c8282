"""Vary a cell's inference weights and k on both tests, after the choice, to see what each does."""

from __future__ import annotations

from functools import partial

from ppac.core.files import new_folder, read_json, read_table, write_csv
from ppac.core.interactions import read_masked, read_part
from ppac.core.popularity import read_popularity
from ppac.counting.popularity import popularity
from ppac.evaluation import EvaluateConfig
from ppac.layout import Cell, Dataset
from ppac.progress import say
from ppac.scoring.compute import ComputeConfig
from ppac.scoring.method import Shared
from ppac.scoring.ranking import Ranking
from ppac.scoring.trained import load_scorer
from ppac.sweeping import Against, SweepConfig, sweep
from stages import door


def main() -> None:
    args = door.arguments(__doc__, "dataset", "base", "method")
    params = door.params()
    cell, place = Cell(**vars(args)), Dataset(args.dataset)
    config = SweepConfig.read(params, "sweep", **vars(cell))
    how = EvaluateConfig.read(params, "evaluate", **vars(cell))
    compute = ComputeConfig.read(params, "compute")
    device = compute.use()

    train, test = read_part(place.split, "train"), read_part(place.split, "test")
    tests = Against(test, read_part(place.split, "random"), how)
    shared = Shared(train, read_popularity(place.popularity), place.neighbours)
    ties = how.tie_order(test.n_users, test.n_items, door.seed(params), cell.dataset)
    masked = read_masked(place.split)
    ranking = Ranking(masked, shared.popularity, ties, device, compute.memory_mb)
    near, scale = read_table(place.neighbours), shared.popularity.scale
    at_k = partial(popularity, train, near, scale=scale)
    weights = read_json(cell.tuned)["weights"]
    scorer = load_scorer(cell, shared, device, params)
    alone, together = sweep(scorer, weights, ranking, tests, lambda k: at_k(k=k), config)

    with new_folder(cell.swept.parent) as folder:
        write_csv(folder / cell.swept.name, alone)
        write_csv(folder / cell.front.name, together)
    say(f"sweep {cell}: {len(together)} points of gamma and beta, {len(config.k)} of k")


if __name__ == "__main__":
    door.enter(main)
