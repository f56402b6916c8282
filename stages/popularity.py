"""Count how popular items are, globally and among each user's nearest users."""

from __future__ import annotations

from ppac.core.files import new_folder, read_table
from ppac.core.interactions import read_part
from ppac.core.popularity import write_popularity
from ppac.counting.popularity import PopularityConfig, check_k, popularity
from ppac.layout import Dataset
from ppac.neighbours import NeighboursConfig
from ppac.progress import say
from stages import door


def main() -> None:
    args = door.arguments(__doc__, "dataset")
    params = door.params()
    config = PopularityConfig.read(params, "popularity", dataset=args.dataset)
    k_max = NeighboursConfig.read(params, "neighbours", dataset=args.dataset).k_max
    place = Dataset(args.dataset)
    train = read_part(place.split, "train")
    k = check_k(params.get("k"), k_max, train.n_users)
    popular = popularity(train, read_table(place.neighbours), k, config.scale)
    with new_folder(place.popularity) as folder:
        write_popularity(folder, popular)
    say(
        f"popularity {args.dataset}: k {k}, {popular.counts.nnz:,} personal counts "
        f"({popular.counts.nnz / train.n_users:.0f} items a user), scale {config.scale}"
    )


if __name__ == "__main__":
    door.enter(main)
