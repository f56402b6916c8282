"""`dvc exp run -S gamma=256` as a user types it, on one trained cell of gowalla."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from bench import data
from bench.targets import Record, Under, amount, by_case, typical
from bench.work import Contender, Prepared, Work
from ppac.sources.fetching import MIRROR

EPOCHS = 2  # training and tuning are no part of what is timed
# DVC restores an experiment it has run before, so every run has a gamma of its own.
GAMMAS = (256, 128, 64, 32, 16, 8, 4, 2, 1, 512, 1024, 2048)


def ours(case: str, threads: int) -> Prepared:
    folder, env = reproduced(case)
    gammas = itertools.cycle(GAMMAS)
    return Prepared(lambda: call(["dvc", "exp", "run", "-S", f"gamma={next(gammas)}"], folder, env))


def stages(case: str, threads: int) -> Prepared:
    """The same work without DVC: what another gamma runs again."""
    folder, env = reproduced(case)
    words = (f"evaluate --dataset {case} --base bprmf --method ppac", "report")
    commands = [[sys.executable, "-m", *f"stages.{word}".split()] for word in words]
    return Prepared(lambda: [call(command, folder, env) for command in commands])


def reading(case: str, threads: int) -> Prepared:
    """What DVC does before, between and after: it reads its pipeline and lock files."""
    folder, env = workspace(case), environment()
    return Prepared(lambda: call(["dvc", "stage", "list", "--all"], folder, env))


def reproduced(case: str) -> tuple[Path, dict[str, str]]:
    folder, env = workspace(case), environment()
    call(["dvc", "repro", "--quiet"], folder, env)
    return folder, env


def workspace(dataset: str) -> Path:
    """The project as it stands here, committed to a Git of its own, with one cell to run."""
    folder = Path(tempfile.mkdtemp(prefix="ppac-bench-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=data.ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    for name in listed:
        if (data.ROOT / name).exists() and name != "dvc.lock":
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(data.ROOT / name, folder / name, follow_symlinks=False)
    narrow(folder / "params.yaml", dataset)
    me = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for command in (["init", "--quiet"], ["add", "."], [*me, "commit", "--quiet", "-m", "bench"]):
        call(["git", *command], folder, dict(os.environ))
    return folder


def narrow(path: Path, dataset: str) -> None:
    """One cell, and as little before the experiment as will do."""
    params = yaml.safe_load(path.read_text())
    params |= {
        "datasets": [dataset],
        "bases": ["bprmf"],
        "methods": ["ppac"],
        "rankers": [],
        "protocol": "released",
    }
    params["train"]["epochs"] = EPOCHS
    params["tune"] |= {"gamma": [0, 64], "beta": [0, -64]}
    path.write_text(yaml.safe_dump(params, sort_keys=False))


def environment() -> dict[str, str]:
    """This Python's tools first, the mirror beside the repository unless there is another."""
    mirror = {MIRROR: str(data.BESIDE)} if data.BESIDE.is_dir() else {}
    tools = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return mirror | os.environ | tools


def call(command: list[str], folder: Path, env: dict[str, str]) -> None:
    """Run quietly; what it said is told only if it fails."""
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")


def where_time_goes(records: Sequence[Record]) -> list[str]:
    """What is DVC's, and what the stages do with the rest."""
    whole, alone = by_case(records, "ours"), by_case(records, "stages")
    lines = [
        f"On {case}, DVC takes {amount(typical(whole[case]) - typical(alone[case]))} s of"
        f" {amount(typical(whole[case]))}, the stages the rest: `evaluate` mostly for ranking,"
        " where PPAC's heads are computed for every user and item, and then for starting Python;"
        " `report` for drawing, testing significance and writing to MLflow."
        for case in whole
        if case in alone
    ]
    tried = (
        "What brought it down from minutes: the folders of pipelines/ became DVC projects of their"
        " own, the loop over the heads' units was made of vectors, and the report no longer imports"
        " torch. Worth a second or two each: MLflow is imported in a process of its own while the"
        " report is assembled, the sums over units stay in registers, what the heads make of the"
        " items is kept, and so is Vega-Lite's script. Tried and left: importing MLflow in a thread"
        " instead, which holds Python's lock; other sizes of blocks and tiles. Not tried: leaving"
        " out the heads of items that cannot enter the list whatever the head says, which needs a"
        " large gamma."
    )
    return [*lines, "", tried]


WORK = Work(
    title="`dvc exp run -S gamma=256` on one cell of gowalla",
    cases=("gowalla",),
    contenders={
        "ours": Contender(ours, children=True, note="bprmf with ppac, another gamma every time"),
        "stages": Contender(
            stages, children=True, note="the stages of it alone, started one after the other"
        ),
        "reading": Contender(
            reading,
            "dvc",
            children=True,
            note="`dvc stage list --all`: DVC's start and one reading of the pipeline files, of"
            " which an experiment takes several",
        ),
    },
    targets=(Under("ours", 20),),
    closing=where_time_goes,
    packages=("dvc",),
)
