"""A copy of the repository as a newcomer would clone it, in which DVC runs for real."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

from conftest import ONE_THREAD, ROOT

RESULTS = re.compile(r"(pipelines/[^/]+/)?(metrics/|report/|([\w-]+/)*dvc\.lock)")  # are one's own


def files_of_the_project() -> list[str]:
    """What Git has or would add, without results."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]
    return [name for name in names if not RESULTS.match(name)]


class Copy:
    """The repository as a newcomer would clone it, with everything made small."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in files_of_the_project():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
        path = folder / "params.yaml"
        text = path.read_text()
        for old, new in (
            ("datasets: [ml-100k]", "datasets: [synthetic]"),
            ("bases: [bprmf, ncf, lightgcn]", "bases: [bprmf]"),
            ("variants: [ppac-plus]", "variants: []"),
            ("rankers: [mostpop, mostppop, ppgp, pp-plus]", "rankers: [ppgp]"),
            ("epochs: 300", "epochs: 10"),
            ONE_THREAD,
        ):
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)
        for command in ("init -q", "add -A", "commit -qm start"):
            self.git(*command.split())

    def git(self, *words: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *identity, *words], cwd=self.folder, check=True)

    def dvc(self, *words: str, check: bool = True) -> str:
        dropped = ("DVC_", "PPAC_", "MLFLOW_")
        environment = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        environment["PYTHONPATH"] = str(self.folder)
        environment["GIT_AUTHOR_NAME"] = environment["GIT_COMMITTER_NAME"] = "t"
        environment["GIT_AUTHOR_EMAIL"] = environment["GIT_COMMITTER_EMAIL"] = "t@example.org"
        done = subprocess.run(
            [sys.executable, "-m", "dvc", *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or not check, done.stdout + done.stderr
        return done.stdout + done.stderr

    def metrics(self) -> dict[str, float]:
        return json.loads((self.folder / "metrics/synthetic/bprmf/ppac.json").read_text())

    def runs(self) -> list[tuple[str, str]]:
        """(name, status) of what MLflow shows."""
        with sqlite3.connect(self.folder / "mlflow.db") as database:
            query = "select name, status from runs where lifecycle_stage = 'active'"
            return database.execute(query).fetchall()


def ran(output: str) -> list[str]:
    """The stages that ran, without the pipeline's name."""
    return [name.split(":")[-1] for name in re.findall(r"Running stage '([^']+)'", output)]
