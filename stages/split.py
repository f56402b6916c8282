"""Divide a dataset's interactions into train, validation, test and random test."""

from __future__ import annotations

from ppac.core.files import new_folder, read_table, rows_digest, write_json, write_table
from ppac.core.seeds import rng
from ppac.layout import Dataset
from ppac.progress import say
from ppac.splitting import protocols as splits
from stages import door


def main() -> None:
    args = door.arguments(__doc__, "dataset", "protocol")
    params = door.params()
    config = splits.SplitConfig.of(params, args.dataset)
    place = Dataset(args.dataset)
    raw = read_table(place.raw / "interactions.parquet")
    released = None
    if args.protocol == "released":
        released = read_table(place.raw / "released.parquet")
    pairs = splits.prepare(raw, released, args.protocol, config)
    stream = rng(door.seed(params), "split", args.dataset, args.protocol)
    split = splits.divide(pairs, args.protocol, config, stream)
    facts = splits.manifest(pairs, split, args.protocol)

    with new_folder(place.split) as folder:
        digests = {}
        for part, table in splits.tables(pairs, split).items():
            write_table(folder / f"{part}.parquet", table)
            digests[part] = rows_digest(table)
        write_table(folder / "users.parquet", pairs.users)
        write_table(folder / "items.parquet", pairs.items)
        write_json(folder / "manifest.json", facts | {"digests": digests})
    say(
        f"split {args.dataset} ({args.protocol}): {facts['users']:,} users, "
        f"{facts['items']:,} items, train {facts['train']:,}, valid {facts['valid']:,}, "
        f"test {facts['test']:,}, random test {facts['random']:,}"
    )


if __name__ == "__main__":
    door.enter(main)
