"""Say how personal popularity is in a dataset, and whether what is popular is liked."""

from __future__ import annotations

from ppac.core.files import new_folder, read_table, write_csv
from ppac.core.interactions import read_part
from ppac.core.popularity import read_popularity
from ppac.core.seeds import rng
from ppac.description import DescribeConfig, histogram, own_favourites, rating_by_popularity
from ppac.layout import Dataset
from ppac.progress import say
from stages import door


def main() -> None:
    args = door.arguments(__doc__, "dataset")
    params = door.params()
    config = DescribeConfig.read(params, "describe", dataset=args.dataset)
    place = Dataset(args.dataset)
    popular = read_popularity(place.popularity)
    n_items = read_part(place.split, "train").n_items
    ties = rng(door.seed(params), "describe", args.dataset).permutation(n_items)
    differences = own_favourites(popular, config.top, ties)
    items = read_table(place.split / "items.parquet")
    raw = read_table(place.raw / "interactions.parquet")
    ratings = raw.join(items.rename({"item": "dense"}), left_on="item", right_on="id")
    ratings = ratings.drop("item").rename({"dense": "item"})

    with new_folder(place.description) as folder:
        write_csv(folder / "differences.csv", histogram(differences, config.top))
        write_csv(folder / "ratings.csv", rating_by_popularity(popular, ratings, config.groups))
    say(
        f"describe {args.dataset}: of {config.top} items most popular among similar users, "
        f"{differences.mean():.1f} are not among the {config.top} most popular of all"
    )


if __name__ == "__main__":
    door.enter(main)
