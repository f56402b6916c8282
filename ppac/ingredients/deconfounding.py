"""PD's training: popularity, which confounds interest, is a factor of its own (Zhang et al., 2021).

    y_ui = ELU'(r_ui) π_i^power

ELU' makes scores positive, so that popularity always raises them; then r is what is left of
interest once popularity is accounted for. PD ranks by it, PDA puts some popularity back.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from ppac.scoring.method import Batch, Method, Shared, bpr
from ppac.scoring.model import Model


def relative_popularity(counts: np.ndarray) -> np.ndarray:
    """π_i = (n_i + 1) / (max n + 1), over all of train: there are no times to forecast from.

    Never 0, unlike min-max scaling, under which the rarest items could not be learned at all.

    >>> relative_popularity(np.array([0, 1, 3]))
    array([0.25, 0.5 , 1.  ])
    """
    return (counts + 1) / (counts.max() + 1)


def positive(scores: Tensor) -> Tensor:
    """ELU'(x): x + 1 above 0, e^x below.

    >>> positive(torch.tensor([-1000.0, 0.0, 2.0]))
    tensor([0., 1., 3.])
    """
    return torch.relu(scores) + torch.exp(scores.clamp(max=0))


class Deconfounded(Method):
    """BPR on y; without more, ranks by r."""

    def __init__(self, model: Model, shared: Shared, l2: float, power: float) -> None:
        super().__init__(model, l2)
        factor = relative_popularity(shared.train.item_counts) ** power
        self.factor = nn.Buffer(torch.from_numpy(factor.astype(np.float32)), persistent=False)

    def loss(self, batch: Batch) -> Tensor:
        rep, ego = self.rows(batch)
        factor = self.factor[torch.stack([batch.positives, batch.negatives])]
        liked, other = positive(self.model.pair(rep.users, rep.items)) * factor
        return bpr(liked, other) + self.regulariser(ego)
