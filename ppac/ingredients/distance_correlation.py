"""How dependent two sets of rows are: distance correlation (Székely et al., 2007).

With the distances between all rows of x, less the mean of their row, of their column, and
plus the mean of all, as A, and B the same of y,

    dCor² = mean(A B) / sqrt(mean(A A) mean(B B)),

0 for independent rows, as they grow many, and 1 for the same up to rotation and scale.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

SMALL = 1e-12  # added to what is divided by
SAME = 1e-6  # of the mean square: closer rows cannot be told apart by their products


def distance_correlation(x: Tensor, y: Tensor) -> Tensor:
    """dCor of rows x (n, d) with rows y (n, e): a scalar, finite for any rows."""
    result: Tensor = Correlation.apply(x, y)
    return result


class Correlation(torch.autograd.Function):
    """Its gradient is written out: autograd's would make ten more n x n matrices.

    Centring is a symmetric projection, so the gradient for the distances in x is that for A,
    dCor / 2 (B / mean(A B) - A / mean(A A)) / n², which is centred already.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        x, y = x - x.mean(0), y - y.mean(0)  # precise however far from 0 they all are
        a, b = distances(x), distances(y)
        A, B = centred(a), centred(b)
        products = tuple(mean_product(*both) for both in ((A, B), (A, A), (B, B)))
        ab, aa, bb = products
        result = (ab / (aa.sqrt() * bb.sqrt() + SMALL)).sqrt()
        ctx.save_for_backward(x, y, a, b, A, B, *products, result)
        return result

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        x, y, a, b, A, B, ab, aa, bb, result = ctx.saved_tensors
        scale = gradients[0] * result / (2 * A.numel())
        together = scale / (ab + SMALL)
        to_a = (B * together).addcmul_(A, -scale / (aa + SMALL))
        to_b = (A * together).addcmul_(B, -scale / (bb + SMALL))
        return to_rows(x, a, to_a), to_rows(y, b, to_b)


def distances(x: Tensor) -> Tensor:
    """Euclidean, between all rows of mean 0."""
    squares = x.square().sum(1)
    squared = torch.addmm(squares, x, x.T, alpha=-2).add_(squares[:, None])
    squared.masked_fill_(squared <= SAME * squares.mean(), 0)
    return squared.sqrt_()


def centred(a: Tensor) -> Tensor:
    mean = a.mean(0)
    return (a - (mean - mean.mean())).sub_(mean[:, None])


def mean_product(A: Tensor, B: Tensor) -> Tensor:
    return torch.dot(A.flatten(), B.flatten()).clamp(min=0) / A.numel()


def to_rows(x: Tensor, a: Tensor, gradient: Tensor) -> Tensor:
    """From the distances to the rows, Σ_j 2 g_ij (x_i - x_j) / a_ij; overwrites ``gradient``."""
    pull = gradient.div_(a).masked_fill_(a == 0, 0)
    return 2 * (pull.sum(1, keepdim=True) * x - pull @ x)
