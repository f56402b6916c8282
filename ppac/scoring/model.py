"""What a base model is to the methods around it.

A base model keeps a table of embeddings for users and one for items (``ego``), turns them
into the representations it scores with (``rep``: the same tables, or propagated ones), and
scores representations, either pair by pair (``pair``) or users against all items (``block``).
Representations are computed once a step and handed around, so that a method with several
terms in its loss pays for a graph propagation once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from ppac.core.interactions import Interactions

EMBEDDING_STD = 0.1


class Model(nn.Module, ABC):
    """A base model over ``train``'s users and items."""

    def __init__(self, train: Interactions, config: Any) -> None:
        super().__init__()
        self.made_of = (train, config)
        self.dim: int = config.dim
        self.user_table = nn.Parameter(torch.randn(train.n_users, self.dim) * EMBEDDING_STD)
        self.item_table = nn.Parameter(torch.randn(train.n_items, self.dim) * EMBEDDING_STD)

    def another(self, dim: int) -> Model:
        """One of the same kind with weights of its own, in so many dimensions."""
        train, config = self.made_of
        return type(self)(train, config.model_copy(update={"dim": dim}))

    def ego(self) -> tuple[Tensor, Tensor]:
        """The embeddings themselves: users (U, d), items (I, d)."""
        return self.user_table, self.item_table

    def rep(self) -> tuple[Tensor, Tensor]:
        """The representations that are scored. The embeddings, unless a model says otherwise."""
        return self.ego()

    @abstractmethod
    def pair(self, users: Tensor, items: Tensor) -> Tensor:
        """Scores (..., B) of users (B, d) paired with items (..., B, d)."""

    @abstractmethod
    def block(self, users: Tensor, items: Tensor) -> Tensor:
        """Scores (B, I) of every user representation (B, d) with every item's (I, d)."""
