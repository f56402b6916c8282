"""What a variant is: another way to rank with a model that a method has trained already."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from ppac.core.config import Section
from ppac.scoring.method import Method, Shared
from ppac.scoring.scorer import Scorer


class Variant(Scorer):
    """The trained method's parts, ranked by as they are; a file of ppac/variants/ changes that."""

    Config: type[Section] = Section

    def __init__(self, trained: Method, shared: Shared, config: Section | None = None) -> None:
        self.trained, self.shared, self.config = trained, shared, config

    def parts(self, users: Tensor, items: slice) -> Tensor:
        return self.trained.parts(users, items)

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        assert parts is not None
        return parts
