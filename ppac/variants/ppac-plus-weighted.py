"""A step from ppac to ppac-plus: more neighbours, each counting by their similarity."""

from __future__ import annotations

from collections.abc import Mapping

from ppac.counting.plus import PlusVariant


class Variant(PlusVariant):
    """Without delta: ppac-plus has it."""

    neutral: Mapping[str, float] = {"gamma": 0.0, "beta": 0.0}
