"""The correction of ppac-plus without a model: gamma p (ḡ / g)^delta + beta g.

To ppac-plus what ppgp is to ppac: how much of the gain is not learned."""

from __future__ import annotations

from ppac.counting.plus import PlusRanker


class Ranker(PlusRanker):
    """As its section of params.yaml says."""
