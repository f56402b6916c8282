"""A step from ppgp to pp-plus: as pp-plus-weighted, and rare items in common weigh more."""

from __future__ import annotations

from collections.abc import Mapping

from ppac.counting.plus import PlusRanker


class Ranker(PlusRanker):
    """Without delta: pp-plus has it."""

    neutral: Mapping[str, float] = {"gamma": 1.0, "beta": 0.0}
