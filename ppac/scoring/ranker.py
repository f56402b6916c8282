"""What a learning-free ranker is: popularity alone, no model."""

from __future__ import annotations

from ppac.core.config import Section
from ppac.scoring.method import Shared
from ppac.scoring.scorer import Scorer


class Ranker(Scorer):
    """A file of ppac/rankers/ says in ``combine`` how it scores, by the settings in ``Config``."""

    Config: type[Section] = Section

    def __init__(self, shared: Shared, config: Section | None = None) -> None:
        self.shared, self.config = shared, config
