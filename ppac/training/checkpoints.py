"""Training state that survives a kill: kept outside DVC's outs and deleted on success.

DVC deletes a stage's outs before it runs and `persist` would turn its run-cache off, so a
checkpoint lies in ``.checkpoints/`` under a digest of everything that decides the result:
settings, data and code. Another configuration never picks it up.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch

from ppac.core.files import config_digest, file_digest, new_file

FOLDER = Path(".checkpoints")


class Checkpoint:
    """One training's state on disk, rewritten at most every ``seconds``.

    ``keep`` asks for the last state too, for a training that is to go on later.
    """

    def __init__(
        self, digest: str, seconds: float, folder: Path = FOLDER, keep: bool = False
    ) -> None:
        self.path = folder / f"{digest}.pt"
        self.seconds = seconds
        self.keep = keep
        self.saved = time.monotonic()

    def load(self) -> dict[str, Any] | None:
        if not self.path.exists():
            return None
        state: dict[str, Any] = torch.load(self.path, weights_only=True, map_location="cpu")
        return state

    def save(self, state: dict[str, Any], last: bool = False) -> None:
        """Write the state if the last time is long enough ago, or if it is one to keep."""
        if time.monotonic() - self.saved < self.seconds and not (last and self.keep):
            return
        with new_file(self.path) as temporary:
            torch.save(state, temporary)
        self.saved = time.monotonic()

    def delete(self) -> None:
        self.path.unlink(missing_ok=True)


def code_digest() -> str:
    """A digest of the library's code: a changed program does not continue an old training."""
    code = sorted(Path(__file__).parents[1].rglob("*.py"))
    return config_digest([file_digest(path) for path in code])
