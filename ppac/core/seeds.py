"""Random streams derived by name from one root seed.

Each stream depends on its own name only, so adding a dataset, a base or a method
changes no other cell's numbers.
"""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, *names: str | int) -> int:
    """A 63-bit seed for the stream called ``names``.

    >>> stream(1, "train", "ml-100k") == stream(1, "train", "ml-100k")
    True
    >>> stream(1, "train", "ml-100k") == stream(1, "train", "ml-1m")
    False
    """
    text = "\x1f".join(str(part) for part in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def rng(seed: int, *names: str | int) -> np.random.Generator:
    """A generator of its own for the stream called ``names``."""
    return np.random.default_rng(stream(seed, *names))
