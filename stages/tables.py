"""Tell by its digest which table of one's own a dataset is read from, if it is one.

DVC cannot name a path that params.yaml gives under the dataset's name, so this stage looks at the
whole folder `tables`, and `download` only at what it writes: a changed table re-runs its own
dataset, and nothing else.
"""

from __future__ import annotations

from ppac.core.files import write_json
from ppac.formats.table import WATCHED, fingerprint, watched
from ppac.layout import Dataset
from ppac.progress import say
from ppac.sources.raw import own_table
from stages import door


def main() -> None:
    args = door.arguments(__doc__, "dataset")
    entry = own_table(door.params(), args.dataset)
    files = {} if entry is None else fingerprint(entry)
    write_json(Dataset(args.dataset).table, files)
    if entry is not None:
        unseen = f"; outside {WATCHED}/, so `dvc repro` will not see it change"
        say(f"table {args.dataset}: {entry.path}{'' if watched(entry) else unseen}")


if __name__ == "__main__":
    door.enter(main)
