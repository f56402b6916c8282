"""Show a part of what the pipeline in another folder reported, as one of the paper's figures."""

from __future__ import annotations

from pathlib import Path

from ppac.core import registry
from ppac.progress import say
from ppac.reporting.view import Source, write
from stages import door

PLACE = Path("report")


def main() -> None:
    args = door.arguments(__doc__, "name", "of")
    write(registry.find("views", args.name).view(Source(Path(args.of))), PLACE)
    say(f"view {args.name} of {args.of}: see {PLACE / 'results.md'}")


if __name__ == "__main__":
    door.enter(main)
