"""The commands that a page tells its readers, as they apply to the pipeline it is about."""

from __future__ import annotations

from pathlib import Path

from ppac.core.config import FILE, repository


def experiment(**weights: float | None) -> str:
    """The experiment with these inference-only weights; of none, nothing."""
    under = "../" * len(folder().parts)
    where = f"{under}{FILE}:" if under else ""  # weights stand in the root's params.yaml
    words = [f"-S {where}{name}={value:g}" for name, value in weights.items() if value is not None]
    return " ".join([dvc("exp run"), *words]) if words else ""


def dvc(command: str) -> str:
    """A command of DVC as it is typed at the root of the repository."""
    project = folder()
    return f"dvc --cd {project} {command}" if project.parts else f"dvc {command}"


def folder() -> Path:
    """The pipeline's folder as seen from the root of the repository: nothing, if it is that."""
    here = Path.cwd()
    return here.relative_to(repository(here))


def usual() -> str:
    """What somebody who has read a page types next."""
    lines = {
        dvc("repro"): "run what has changed, and write this page",
        experiment(gamma=256): "another weight: evaluation and report only, no training",
        dvc("metrics diff"): "what that changed",
        dvc("plots show"): "the tables behind these figures, as DVC draws them",
    }
    width = max(map(len, lines))
    return "\n".join(f"{line:{width}}     # {what}" for line, what in lines.items())
