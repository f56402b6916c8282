"""Toy data small enough to check by eye, and a project folder to run stages in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity
from ppac.counting.popularity import popularity
from ppac.neighbours import nearest_users

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
ONE_THREAD = ("threads: 2 ", "threads: 1 ")  # of params.yaml: tests share the machine's cores

torch.set_num_threads(1)


def checkerboard(n: int) -> Interactions:
    """Even users have the even items, odd users the odd ones; each lacks the item of its number.

    Any model worth the name recommends exactly the lacking item.
    """
    users, items = np.nonzero(np.add.outer(np.arange(n), np.arange(n)) % 2 == 0)
    keep = users != items
    return Interactions.of(users[keep], items[keep], n, n)


def popularity_of(train: Interactions, k: int = 10, scale: str = "fraction") -> Popularity:
    return popularity(train, nearest_users(train, k), k, scale)


@pytest.fixture
def board() -> Interactions:
    return checkerboard(50)


@pytest.fixture
def train() -> Interactions:
    """Few users and items, some of these far more popular than others."""
    rng = np.random.default_rng(3)
    weights = 1 / np.arange(1, 41)
    items = rng.choice(40, size=900, p=weights / weights.sum())
    return Interactions.of(rng.integers(60, size=900), items, 60, 40)


@pytest.fixture
def shared_data() -> Path:
    """Gowalla, Yelp2018 and the released MovieLens-1M split, where they are beside the project."""
    if not SHARED.is_dir():
        pytest.skip("needs the datasets of ../shared/data beside the repository")
    return SHARED


def run_script(script: str) -> subprocess.CompletedProcess[str]:
    """A Python program in a process of its own, for what is measured or limited by process."""
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


class Project:
    """A folder in which stages run as DVC would run them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / ".dvc").mkdir(parents=True)
        shutil.copy(ROOT / "params.yaml", folder)
        self.set(*ONE_THREAD)

    def set(self, old: str, new: str) -> None:
        """Change a line of params.yaml."""
        path = self.folder / "params.yaml"
        text = path.read_text()
        assert old in text, old
        path.write_text(text.replace(old, new, 1))

    def run(self, stage: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("DVC_", "PPAC_"))}
        environment |= {"PYTHONPATH": str(ROOT)} | env
        command = [sys.executable, "-m", f"stages.{stage}", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )

    def ok(self, stage: str, *arguments: str, **env: str) -> str:
        done = self.run(stage, *arguments, **env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fails(self, stage: str, *arguments: str, **env: str) -> str:
        """The message of a stage that must fail with one line for people."""
        done = self.run(stage, *arguments, **env)
        assert done.returncode != 0, done.stdout
        assert "Traceback" not in done.stderr, done.stderr
        assert done.stderr.startswith("error: "), done.stderr
        return done.stderr

    def table(self, path: str) -> pl.DataFrame:
        return pl.read_parquet(self.folder / path)

    def prepare(self) -> None:
        """The synthetic dataset up to popularity."""
        self.ok("download", "--dataset", "synthetic", "--protocol", "balanced")
        self.ok("split", "--dataset", "synthetic", "--protocol", "balanced")
        self.ok("neighbours", "--dataset", "synthetic")
        self.ok("popularity", "--dataset", "synthetic")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


@pytest.fixture(scope="session")
def prepared_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Project(tmp_path_factory.mktemp("prepared") / "project")
    made.prepare()
    return made.folder


@pytest.fixture
def prepared(prepared_once: Path, tmp_path: Path) -> Project:
    """A project whose synthetic dataset is ready to train on; short trainings."""
    copy = Project.__new__(Project)
    copy.folder = tmp_path / "project"
    shutil.copytree(prepared_once, copy.folder)
    copy.set("epochs: 300", "epochs: 10")
    return copy
