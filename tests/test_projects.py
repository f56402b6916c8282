"""The folders of pipelines/ as DVC projects: each sees its own stages, all share what is run."""

from __future__ import annotations

import configparser
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from ppac.projects import CONFIG, TEMPLATES, make_projects, project_files

FOLDERS = sorted(ROOT.glob("pipelines/*/"))
SOME = [ROOT, *(ROOT / "pipelines" / name for name in ("smoke", "release-differences", "ablation"))]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_each_folder_is_a_project(folder: Path) -> None:
    for name, text in project_files(ROOT).items():
        assert (folder / name).read_text() == text, "run `python -m ppac pipelines`"
    assert (folder / TEMPLATES).resolve() == ROOT / TEMPLATES
    config = configparser.ConfigParser()
    config.read_string("\n".join(map(str.strip, (folder / CONFIG).read_text().splitlines())))
    assert (folder / ".dvc" / config["cache"].pop("dir")).resolve() == ROOT / ".dvc/cache"
    root = configparser.ConfigParser()
    root.read_string("\n".join(map(str.strip, (ROOT / CONFIG).read_text().splitlines())))
    assert config["cache"] == root["cache"]


@pytest.mark.parametrize("folder", SOME, ids=lambda path: path.name)
def test_dvc_sees_the_stages_of_its_project_alone(folder: Path) -> None:
    """Those of all folders would take it seconds, several times a command."""
    command = [sys.executable, "-m", "dvc", "stage", "list", "--all", "--name-only"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    seen = {name.rpartition(":")[0] or "dvc.yaml" for name in done.stdout.split()}
    own = {str(path.relative_to(folder)) for path in folder.rglob("dvc.yaml")}
    assert seen == {name for name in own if not name.startswith("pipelines/")}


def test_a_new_folder_becomes_one_and_a_remote_is_kept(tmp_path: Path) -> None:
    for name in (".dvc/.gitignore", ".dvcignore"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name in ("old", "new"):
        (tmp_path / "pipelines" / name).mkdir(parents=True)
    make_projects(tmp_path)
    added = tmp_path / "pipelines/old" / CONFIG
    added.write_text(added.read_text() + "['remote \"mine\"']\n    url = /mine\n")
    (tmp_path / "pipelines/new" / CONFIG).unlink()
    make_projects(tmp_path)
    assert "mine" in added.read_text()
    assert (tmp_path / "pipelines/new" / CONFIG).read_text() == project_files(tmp_path)[CONFIG]


def test_no_bytecode_is_left_beside_the_code(tmp_path: Path) -> None:
    """Outside of a project DVC ignores nothing: all cells would look changed, and train again."""
    for name in ("ppac", "stages"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", "import stages.report, stages.train"]
    subprocess.run(command, cwd=tmp_path, env=env | {"PYTHONPATH": str(tmp_path)}, check=True)
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("__pycache__")}
    assert left <= {"ppac/__pycache__", "stages/__pycache__"}  # no stage depends on these
