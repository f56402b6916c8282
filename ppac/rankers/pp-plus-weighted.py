"""A step from ppgp to pp-plus: more neighbours, each counting by their similarity."""

from __future__ import annotations

from collections.abc import Mapping

from ppac.counting.plus import PlusRanker


class Ranker(PlusRanker):
    """Without delta: pp-plus has it."""

    neutral: Mapping[str, float] = {"gamma": 1.0, "beta": 0.0}
