"""Rank all items for all users and score the lists on the intervened and the random test."""

from __future__ import annotations

from ppac.core.files import new_folder, read_json, write_json, write_table
from ppac.core.interactions import read_masked, read_part
from ppac.core.popularity import read_popularity
from ppac.evaluation import EvaluateConfig, Forced, evaluate, with_source_ids
from ppac.layout import Cell, Dataset
from ppac.progress import say
from ppac.scoring.compute import ComputeConfig
from ppac.scoring.method import Shared
from ppac.scoring.ranking import Ranking
from ppac.scoring.trained import load_scorer
from stages import door


def main() -> None:
    args = door.arguments(__doc__, "dataset", "base", "method")
    params = door.params()
    cell, place = Cell(**vars(args)), Dataset(args.dataset)
    config = EvaluateConfig.read(params, "evaluate", **vars(cell))
    forced = Forced.of(params)
    compute = ComputeConfig.read(params, "compute")
    device = compute.use()

    train = read_part(place.split, "train")
    shared = Shared(train, read_popularity(place.popularity), place.neighbours)
    masked = read_masked(place.split)
    test, random_test = read_part(place.split, "test"), read_part(place.split, "random")
    ties = config.tie_order(test.n_users, test.n_items, door.seed(params), cell.dataset)
    ranking = Ranking(masked, shared.popularity, ties, device, compute.memory_mb)
    weights = forced.over(read_json(cell.tuned)["weights"])
    scorer = load_scorer(cell, shared, device, params)
    result = evaluate(scorer, weights, ranking, test, random_test, config)

    with new_folder(cell.top.parent) as folder:
        write_table(folder / cell.top.name, with_source_ids(result.top, place.split))
        write_table(folder / cell.per_user.name, with_source_ids(result.per_user, place.split))
    metrics = result.metrics | weights
    write_json(cell.metrics, metrics)
    headline = [name for name in config.headline() if name in metrics]
    shown = ", ".join(f"{name} {metrics[name]:.4f}" for name in headline)
    say(f"evaluate {cell}: {shown}")


if __name__ == "__main__":
    door.enter(main)
