"""What a learning-free ranker is: popularity alone, no model."""

from __future__ import annotations

from ppac.scoring.method import Shared
from ppac.scoring.scorer import Scorer


class Ranker(Scorer):
    """A file of ppac/rankers/ says in ``combine`` how it scores."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared
