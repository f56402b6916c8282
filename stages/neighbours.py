"""Find each user's most similar users on train (exact Jaccard)."""

from __future__ import annotations

from ppac.core.files import write_table
from ppac.core.interactions import read_part
from ppac.layout import Dataset
from ppac.neighbours import NeighboursConfig, nearest_users
from ppac.progress import say
from stages import door


def main() -> None:
    args = door.arguments(__doc__, "dataset")
    config = NeighboursConfig.read(door.params(), "neighbours", dataset=args.dataset)
    place = Dataset(args.dataset)
    train = read_part(place.split, "train")
    table = nearest_users(train, config.k_max)
    write_table(place.neighbours, table)
    say(
        f"neighbours {args.dataset}: {len(table):,} pairs, up to {config.k_max} for each of "
        f"{train.n_users:,} users"
    )


if __name__ == "__main__":
    door.enter(main)
