"""Inverse propensity weights of items: the rarer an item, the more its interactions count."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from ppac.scoring.method import Batch, Method, bpr
from ppac.scoring.model import Model


def inverse_propensity(counts: np.ndarray, exponent: float, cap: float = 1.0) -> np.ndarray:
    """w_i = ρ_i^-exponent with ρ_i = n_i / max n, above the ``cap``-quantile of items cut off.

    Normalised to mean 1 over train pairs, so that learning rate and L2 keep their meaning.
    The quantile is over items, not interactions; 1 cuts nothing.

    >>> inverse_propensity(np.array([1, 4]), exponent=1.0)
    array([2.5  , 0.625], dtype=float32)
    >>> inverse_propensity(np.array([1, 4]), exponent=0.0)
    array([1., 1.], dtype=float32)
    """
    there = np.maximum(counts, 1)
    weight = (there / there.max()) ** -exponent
    weight = np.minimum(weight, np.quantile(weight, cap))
    return (weight * counts.sum() / (weight * counts).sum()).astype(np.float32)


class Weighted(Method):
    """BPR with a weight for each positive item; negatives are not weighted."""

    def __init__(self, model: Model, l2: float, weight: np.ndarray) -> None:
        super().__init__(model, l2)
        self.weight = nn.Buffer(torch.from_numpy(weight), persistent=False)

    def weights(self, batch: Batch) -> Tensor:
        return self.weight[batch.positives]

    def loss(self, batch: Batch) -> Tensor:
        rep, ego = self.rows(batch)
        positive, negative = self.model.pair(rep.users, rep.items)
        return bpr(positive, negative, self.weights(batch)) + self.regulariser(ego)
