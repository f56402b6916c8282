"""Personal popularity, second edition, and the inference that goes with it: docs/ppac-plus.md.

    s_ui = y_ui + gamma p_ui (ḡ / g_i)^delta + beta g_i

p is the share of a user's neighbours who have the item, each counting by a power of similarity,
and ḡ the mean of g, so that an item of average popularity keeps its p, and gamma its meaning,
at any delta. At delta 0, with neighbours found and counted as in the paper, this is ``ppac``.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field
from torch import Tensor

from ppac.core.config import Section
from ppac.core.interactions import Interactions
from ppac.core.popularity import Popularity
from ppac.counting.likeness import Similarity, alike
from ppac.counting.popularity import popularity
from ppac.scoring import ranker, variant
from ppac.scoring.method import Method, Shared
from ppac.scoring.scorer import Scorer

LEAST = 1e-12  # a global popularity below any that an item can have


class PlusConfig(Section):
    similarity: Similarity
    rarity: float = Field(ge=0)
    k: int = Field(gt=0)
    power: float = Field(ge=0)


def popularity_plus(train: Interactions, config: PlusConfig, scale: str) -> Popularity:
    """Popularity by the neighbours that ``config`` describes."""
    near = alike(train, config.k, config.similarity, config.rarity)
    return popularity(train, near, config.k, scale, config.power)


def discounted(pp: Tensor, gp: Tensor, usual: float, delta: float) -> Tensor:
    """pp (ḡ / g)^delta, ``usual`` being ḡ.

    Half of the neighbours have each of three items; the rarer it is, the more that says:

    >>> import torch
    >>> gp = torch.tensor([0.4, 0.1, 0.025])
    >>> discounted(torch.tensor([0.5, 0.5, 0.5]), gp, usual=0.1, delta=0.5)
    tensor([0.2500, 0.5000, 1.0000])
    """
    # Of an item that nobody has pp is 0 as well: any number that is not infinite will do.
    # In place, because a grid has hundreds of points and memory costs more than arithmetic.
    return pp * gp.clamp_min(LEAST).pow_(-delta).mul_(usual**delta)


class Plus(Scorer):
    """What the variant and the ranker share."""

    personal = frozenset({"gamma", "delta"})
    usual: float

    def prepare(self, shared: Shared, config: Section | None) -> None:
        assert isinstance(config, PlusConfig)
        self.popularity = popularity_plus(shared.train, config, shared.popularity.scale)
        self.usual = float(self.popularity.gp.mean())

    def correction(self, pp: Tensor, gp: Tensor, weights: Mapping[str, float]) -> Tensor:
        personal = discounted(pp, gp, self.usual, weights.get("delta", 0.0))
        return personal.mul_(weights["gamma"]).add_(weights["beta"] * gp)


class PlusVariant(Plus, variant.Variant):
    """A file of ppac/variants/ that leaves delta out of ``neutral`` ranks without it."""

    Config = PlusConfig
    neutral: Mapping[str, float] = {"gamma": 0.0, "beta": 0.0, "delta": 0.0}

    def __init__(self, trained: Method, shared: Shared, config: Section | None = None) -> None:
        super().__init__(trained, shared, config)
        self.prepare(shared, config)

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        assert parts is not None
        return parts + self.correction(pp, gp, weights)

    def added(self, gp: Tensor, weights: Mapping[str, float]) -> Tensor:
        return weights["beta"] * gp


class PlusRanker(Plus, ranker.Ranker):
    """The same without a model."""

    Config = PlusConfig
    neutral: Mapping[str, float] = {"gamma": 1.0, "beta": 0.0, "delta": 0.0}

    def __init__(self, shared: Shared, config: Section | None = None) -> None:
        super().__init__(shared, config)
        self.prepare(shared, config)

    def combine(
        self, parts: Tensor | None, pp: Tensor, gp: Tensor, weights: Mapping[str, float]
    ) -> Tensor:
        return self.correction(pp, gp, weights)
