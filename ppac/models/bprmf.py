"""BPRMF: the score is the inner product of two embeddings (Rendle et al., 2009)."""

from __future__ import annotations

from pydantic import Field
from torch import Tensor

from ppac.core.config import Section
from ppac.core.interactions import Interactions
from ppac.scoring.gather import dot
from ppac.scoring.model import Model


class Config(Section):
    dim: int = Field(gt=0)


class Net(Model):
    def __init__(self, train: Interactions, config: Config) -> None:
        super().__init__(train, config)

    def pair(self, users: Tensor, items: Tensor) -> Tensor:
        return dot(users, items)

    def block(self, users: Tensor, items: Tensor) -> Tensor:
        return users @ items.T
