"""Verbs for people: ``python -m ppac show``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from ppac.core.errors import Problem
from ppac.documents.blocks import DOCUMENTS, fill
from ppac.layout import Cell
from ppac.pipelines import write_all
from ppac.tracking import track
from ppac.tracking.mirror import mirror
from ppac.tracking.publish import links, publish

NEXT = """
Next:
  source .venv/bin/activate            then, in this folder:
  report/index.html                    in a browser: the report: table, significance, figures
  dvc exp run -S gamma=64              another gamma: evaluates again, trains nothing
  dvc metrics diff                     what it changed
  dvc exp run -S 'datasets=[ml-1m]'    a larger dataset
  make ui                              compare all runs in MLflow
"""


def show() -> None:
    """Print the results tables of the pipeline in this folder."""
    paths = sorted(Path("report").glob("**/results.md"))  # of one report, or of one for each base
    if not paths:
        raise Problem("report/results.md does not exist: run `dvc repro` first.")
    for path in paths:
        print(path.read_text(encoding="utf-8"))
    if sys.stdout.isatty():  # a pipe wants the table alone
        print(NEXT.strip())


def readme() -> None:
    """Copy the results table into README.md, between its markers."""
    path = Path("README.md")
    before, opening, rest = path.read_text(encoding="utf-8").partition("<!-- results")
    marker, _, rest = rest.partition("-->\n")
    _, closing, after = rest.partition("<!-- /results -->")
    table = Path("report/results.md").read_text(encoding="utf-8").replace("## ", "**", 1)
    table = table.replace(", top 50\n", ", top 50**\n", 1)
    text = f"{before}{opening}{marker}-->\n{table}{closing}{after}"
    path.write_text(text, encoding="utf-8")


def show_in_mlflow() -> None:
    """Fill MLflow from the artefacts in this folder; repeating it changes nothing."""
    files = sorted(Path("metrics").glob("*/*/*.json"))
    cells = [Cell(path.parent.parent.name, path.parent.name, path.stem) for path in files]
    # Metrics are in Git; what else a run shows comes with `dvc repro` or `dvc pull`.
    complete = [cell for cell in cells if cell.tuned.exists()]
    mirror(complete)
    datasets = dict.fromkeys(cell.dataset for cell in complete)
    for path in sorted(Path("report").glob("**/results.md")):
        if path.with_name("index.html").exists():  # kept by DVC, not by Git
            finding = path.read_text(encoding="utf-8").partition("\n\n")[0]
            of = path.parts[1:-1]  # a dataset and base, or nothing: all of them
            publish([name for name in datasets if name in of or not of], path.parent, finding)
    print(f"tracked {len(complete)} of {len(cells)} cells in {track.store_uri()}")


def ui() -> None:
    """Open MLflow's pages on the loopback address."""
    show_in_mlflow()
    port = os.environ.get("PORT", "5000")
    server = f"http://127.0.0.1:{port}"
    print("\n".join(links(server) or [server]))
    print("There: press a column's name to sort, tick two runs and press Compare. Ctrl-C ends it.")
    sys.stdout.flush()
    # Job execution starts a dozen processes that nothing here uses.
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", track.store_uri()]
    command += ["--host", "127.0.0.1", "--port", port, "--workers", "1"]
    # In this process's place: whoever ends it ends the server.
    os.execve(command[0], command, {**os.environ, **quiet})


def pipelines() -> None:
    """Make every folder of pipelines/ a DVC project, its dvc.yaml written from the root's."""
    for path in write_all(Path.cwd()):
        print(path.relative_to(Path.cwd()))


def numbers() -> None:
    """Write the tables of documents from what the pipelines and the benchmarks committed."""
    for path in DOCUMENTS:
        path.write_text(fill(path, Path.cwd()), encoding="utf-8")


def recommend(options: list[str]) -> None:
    """Write recommendations of a cell, for all, some or new users: see recommend --help."""
    from ppac.recommending import command  # torch: the other verbs need not wait for it

    command.recommend(options)


VERBS: dict[str, Callable[..., None]] = {
    "show": show,
    "readme": readme,
    "track": show_in_mlflow,
    "ui": ui,
    "pipelines": pipelines,
    "numbers": numbers,
    "recommend": recommend,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m ppac",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s <verb>",
        epilog="\n".join(f"  {name:11}{verb.__doc__}" for name, verb in VERBS.items()),
    )
    parser.add_argument("verb", choices=VERBS, nargs="?")
    args, options = parser.parse_args(sys.argv[1:2]), sys.argv[2:]
    if args.verb is None or (options == ["--help"] and args.verb != "recommend"):
        parser.print_help()
        return
    if options and args.verb != "recommend":
        parser.error(f"{args.verb} has no options: {' '.join(options)}")
    try:
        VERBS[args.verb](*([options] if args.verb == "recommend" else []))
    except Problem as problem:
        sys.exit(f"error: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
