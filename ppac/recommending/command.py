"""``python -m ppac recommend``: lists of some users, or of new ones, into a file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ppac.core.config import FILE, read_params
from ppac.core.errors import Problem
from ppac.core.files import write_table, write_text
from ppac.formats.table import load
from ppac.layout import Cell
from ppac.recommending.known import for_known
from ppac.recommending.lists import RecommendConfig
from ppac.recommending.new import for_new
from ppac.scoring.compute import ComputeConfig
from ppac.sources.raw import own_table

BETWEEN = "|"  # ids of similar users in a CSV


def recommend(words: Sequence[str]) -> None:
    """Write the lists of a cell to a file: all users', some users', or new users'."""
    args = parse(words)
    writer = writer_of(args.out)
    params = read_params(Path.cwd())
    section = dict(params.get("recommend") or {})
    config = RecommendConfig.check(
        section | ({} if args.top is None else {"top": args.top}), "recommend"
    )
    compute = ComputeConfig.read(params, "compute")
    common = (config, compute, compute.use(), int(params["seed"]))
    names = columns(params, args.dataset)
    told = ""
    if args.new:
        rows = load(args.new, names)
        table = for_new(args.dataset, rows, *common)
        left = rows["user"].n_unique() - table["user"].n_unique()
        if left:
            who = "1 new user has" if left == 1 else f"{left:,} new users have"
            told = f"; {who} no known item, and no list"
    else:
        wanted = pl.Series(args.user) if args.user else None
        if args.users:
            wanted = load(args.users, {"user": names["user"]})["user"]
        cell = Cell(args.dataset, args.base, args.method)
        table = for_known(cell, wanted, *common, params)
    writer(args.out, table)
    users = table["user"].n_unique()
    whose = "1 user" if users == 1 else f"{users:,} users"
    print(f"{len(table):,} rows for {whose} in {args.out}{told}")


def parse(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ppac recommend", description=recommend.__doc__)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--base", help="a base model, or rankers; not needed for --new")
    parser.add_argument("--method", help="a method, variant or ranker; not needed for --new")
    parser.add_argument("--out", type=Path, required=True, help="a .parquet, .csv or .tsv file")
    parser.add_argument("--top", type=int, help=f"items for each user; else as in {FILE}")
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--user", action="append", help="one user's id; may be repeated")
    who.add_argument("--users", type=Path, help="a table with a column of user ids")
    who.add_argument("--new", type=Path, help="a table of new users and the items they have")
    args = parser.parse_args(words)
    if not args.new and not (args.base and args.method):
        parser.error("--base and --method say whose lists, or --new for whom")
    if args.top is not None and args.top < 1:
        parser.error(f"--top is {args.top}: it must be at least 1")
    return args


def columns(params: Mapping[str, Any], dataset: str) -> dict[str, str | int]:
    """How user and item are called: as in the dataset's own table, if it is one."""
    entry = own_table(params, dataset)
    if entry is None:
        return {"user": "user", "item": "item"}
    return {"user": entry.columns.user, "item": entry.columns.item}


def writer_of(path: Path) -> Any:
    """How a file of this name is written."""
    writers = {".parquet": write_table, ".csv": as_text, ".tsv": as_text}
    if path.suffix not in writers:
        raise Problem(f"--out {path}: it must end in one of {', '.join(writers)}.")
    return writers[path.suffix]


def as_text(path: Path, table: pl.DataFrame) -> None:
    joined = pl.col("neighbours").cast(pl.List(pl.String)).list.join(BETWEEN)
    separator = "\t" if path.suffix == ".tsv" else ","
    write_text(path, table.with_columns(joined).write_csv(separator=separator))
