"""What a split is made of, and the settings it is made by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import Field

from ppac.core.config import Section, section
from ppac.core.interactions import PARTS

TRAIN, VALID, TEST, RANDOM, BOTH = range(5)
OWN = ("threshold", "min_user", "min_item")  # what a dataset's entry may say for itself


class SplitConfig(Section):
    threshold: float
    min_user: int = Field(ge=1)
    min_item: int = Field(ge=1)
    test: float = Field(gt=0, lt=1)
    valid: float = Field(gt=0, lt=1)
    random: float = Field(ge=0, lt=1)
    max_share: float = Field(gt=0, lt=1)
    validation: Literal["apart", "in_test", "test"]

    @classmethod
    def of(cls, params: Mapping[str, Any], dataset: str) -> SplitConfig:
        """The section `split`, with what the dataset's entry under `download` says instead."""
        entry = (params.get("download") or {}).get(dataset) or {}
        own = {key: entry[key] for key in OWN if entry.get(key) is not None}
        return cls.check(section(params, "split", {"dataset": dataset}) | own, "split")


@dataclass(frozen=True)
class Split:
    """The parts as indices into the pairs, and what the manifest says about them."""

    parts: dict[str, np.ndarray]
    masked: list[str]
    quota: Mapping[str, Mapping[str, float]]
    disjoint: bool = True  # validation and test, or one knows what one is doing


def parts_of(where: np.ndarray) -> dict[str, np.ndarray]:
    """Indices of each part; what is in BOTH counts as test and as random test."""
    members = {
        "train": where == TRAIN,
        "valid": where == VALID,
        "test": (where == TEST) | (where == BOTH),
        "random": (where == RANDOM) | (where == BOTH),
    }
    return {part: np.flatnonzero(members[part]) for part in PARTS}
