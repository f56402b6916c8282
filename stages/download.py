"""Fetch one dataset from the first source that has it, verify it, and write it as one table."""

from __future__ import annotations

from ppac.core.files import new_folder
from ppac.layout import Dataset
from ppac.progress import say
from ppac.sources import raw
from stages import door


def main() -> None:
    args = door.arguments(__doc__, "dataset", "protocol")
    found = raw.gather(door.params(), args.dataset, args.protocol)
    with new_folder(Dataset(args.dataset).raw) as folder:
        raw.write(folder, args.dataset, found)
    say(raw.summary(args.dataset, found))


if __name__ == "__main__":
    door.enter(main)
