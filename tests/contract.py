"""What the pipeline files declare and what the code does, side by side."""

from __future__ import annotations

import ast
import functools
from pathlib import Path
from typing import Any

import yaml

from ppac.pipelines import EVERY_CELL

ROOT = Path(__file__).resolve().parents[1]
PIPELINES = [ROOT, *(path.parent for path in sorted(ROOT.glob("pipelines/*/params.yaml")))]
# Folders that show what another reported: a dvc.yaml by hand, without params.
VIEWS = [
    path.parent
    for path in sorted(ROOT.glob("pipelines/*/dvc.yaml"))
    if not (path.parent / "params.yaml").exists()
]

# Folders that no machine runs all cells of: a report on each dataset and base, none on all.
BLANK = [
    path
    for path in PIPELINES
    if yaml.safe_load((path / "params.yaml").read_text()).get("report", {}).get("missing")
    == "blank"
]

# Folders that only try training settings: their stages end at train, and its trials go to Git.
SEARCHES = [
    path
    for path in PIPELINES[1:]
    if {"search", "report"} & yaml.safe_load((path / "params.yaml").read_text()).keys()
    == {"search"}
]

# These cannot change what a stage writes: where (DVC would not find it elsewhere), bars, closing
# lines, the mirror in MLflow, and the door, which lets in or refuses.
BYSTANDERS = (
    "ppac/__init__.py",
    "ppac/layout.py",
    "ppac/progress.py",
    "ppac/tracking/",
    "stages/door.py",
)
# What only things found by name import, or what is looked through by name.
FOUND_BY_NAME_WHOLE = (
    "ppac/formats",
    "ppac/metrics",
    "ppac/counting",
    "ppac/neighbours",
    "ppac/ingredients",
    "ppac/methods/ppac.py",
)
# Found by name at run time (ppac/core/registry.py): the axis that names the file.
FOUND_BY_NAME = {"models": "base", "methods": "method", "variants": "variant", "rankers": "ranker"}


@functools.cache
def stages_of(pipeline: Path) -> dict[str, dict[str, Any]]:
    """The stages of a pipeline's folder, whichever of its files they are in."""
    files = [pipeline / "dvc.yaml"]
    for kind in (*EVERY_CELL, "report") if pipeline != ROOT else ():
        files += sorted(pipeline.glob(f"*/{kind}/dvc.yaml"))
    found = [yaml.safe_load(path.read_text())["stages"] for path in files]
    return {name: stage for stages in found for name, stage in stages.items()}


def module_of(stage: dict[str, Any]) -> Path:
    """The file behind ``python -m stages.x``, a stage's first command if it has several."""
    first = stage["cmd"] if isinstance(stage["cmd"], str) else stage["cmd"][0]
    words = first.split()
    return ROOT / (words[words.index("-m") + 1].replace(".", "/") + ".py")


def imports_of(path: Path) -> set[Path]:
    """The project's own modules that a file imports, packages' __init__ included."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            found |= files_of_module(name)
    return found


def files_of_module(name: str) -> set[Path]:
    if name.split(".")[0] not in ("ppac", "stages"):
        return set()
    base = ROOT / name.replace(".", "/")
    files = {path for path in (base.with_suffix(".py"), base / "__init__.py") if path.exists()}
    parents = {parent / "__init__.py" for parent in base.parents if parent.is_relative_to(ROOT)}
    return files | {path for path in parents if path.exists()}


def closure(path: Path) -> set[Path]:
    """Everything that a file imports and that may change a result, and the file itself."""
    seen, todo = set(), [path]
    while todo:
        current = todo.pop()
        if current not in seen and not stands_by(current):
            seen.add(current)
            todo += imports_of(current)
    return seen


def stands_by(path: Path) -> bool:
    """Whether a file cannot change what a stage writes: a bystander, or only a docstring."""
    if str(path.relative_to(ROOT)).startswith(BYSTANDERS):
        return True
    body = ast.parse(path.read_text()).body
    return path.name == "__init__.py" and len(body) <= 1 + ("__version__" in path.read_text())


def code_of(stage: dict[str, Any]) -> set[str]:
    """The files whose change may change what the stage writes, as paths from the root."""
    return {str(path.relative_to(ROOT)) for path in closure(module_of(stage))}


def declared_code(stage: dict[str, Any], folder: Path) -> set[str]:
    """The stage's deps that are code of the project, as paths from the root."""
    deps = [str((folder / dep).resolve().relative_to(ROOT)) for dep in stage.get("deps", [])]
    return {dep for dep in deps if dep.split("/")[0] in ("ppac", "stages")}


def declared_params(stage: dict[str, Any]) -> set[str]:
    """Names of declared params, whichever file they come from."""
    names: set[str] = set()
    for entry in stage.get("params", []):
        if isinstance(entry, dict):
            names.update(*entry.values())
        else:
            names.add(entry)
    return names


def shared_params(stage: dict[str, Any]) -> set[str]:
    """Declared params but for what a folder says of a dataset and base model alone."""
    return {name for name in declared_params(stage) if not name.startswith("cells.")}
