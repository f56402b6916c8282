"""A step from ppac to ppac-plus: as ppac-plus-weighted, and rare items in common weigh more."""

from __future__ import annotations

from collections.abc import Mapping

from ppac.counting.plus import PlusVariant


class Variant(PlusVariant):
    """Without delta: ppac-plus has it."""

    neutral: Mapping[str, float] = {"gamma": 0.0, "beta": 0.0}
