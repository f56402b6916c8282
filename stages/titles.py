"""Fetch what a dataset's items are called, for the report's examples; without them it shows ids."""

from __future__ import annotations

import polars as pl

from ppac.core.errors import Problem
from ppac.core.files import write_table
from ppac.layout import Dataset
from ppac.progress import say
from ppac.titles import SCHEMA, entry_of, fetched
from stages import door


def main() -> None:
    args = door.arguments(__doc__, "dataset")
    entry = entry_of(door.params(), args.dataset)
    titles, trouble = pl.DataFrame(schema=SCHEMA), ""
    try:
        titles = fetched(args.dataset, entry) if entry else titles
    except Problem as problem:  # a report with ids is better than none
        trouble = f" ({problem})"
    write_table(Dataset(args.dataset).titles, titles)
    say(f"titles {args.dataset}: {len(titles):,}{trouble}")


if __name__ == "__main__":
    door.enter(main)
