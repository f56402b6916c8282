"""Write every user's best items, in their own ids, and why."""

from __future__ import annotations

from ppac.core.files import write_table
from ppac.layout import Cell
from ppac.progress import say
from ppac.recommending.known import for_known
from ppac.recommending.lists import RecommendConfig
from ppac.scoring.compute import ComputeConfig
from stages import door


def main() -> None:
    args = door.arguments(__doc__, "dataset", "base", "method")
    params = door.params()
    cell = Cell(**vars(args))
    config = RecommendConfig.read(params, "recommend", **vars(cell))
    compute = ComputeConfig.read(params, "compute")
    table = for_known(cell, None, config, compute, compute.use(), door.seed(params), params)
    write_table(cell.recommendations, table)
    say(f"recommend {cell}: {len(table):,} rows in {cell.recommendations}")


if __name__ == "__main__":
    door.enter(main)
