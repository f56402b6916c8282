"""PPAC without counterfactual inference: the factual score alone (the paper's table 3)."""

from __future__ import annotations

from ppac.scoring.variant import Variant as Base


class Variant(Base):
    """PPAC at gamma = beta = 0."""
