"""The best k of a stream of (similarity, user), kept best first.

A larger similarity is better, and among equals the larger user id. Few candidates come that are
not turned away, so that moving the worse ones along costs less than a heap and its sorting.
"""

from __future__ import annotations

import numpy as np

from ppac.core.compiled import kernel


@kernel
def worse(similarity: float, user: int, than: float, than_user: int) -> bool:
    return similarity < than or (similarity == than and user < than_user)


@kernel
def offer(similarities: np.ndarray, users: np.ndarray, n: int, similarity: float, user: int) -> int:
    """Take a candidate if it is among the best; returns how many are held now."""
    place = n
    if n == len(users):
        place -= 1
        if not worse(similarities[place], users[place], similarity, user):
            return n
    while place > 0 and worse(similarities[place - 1], users[place - 1], similarity, user):
        similarities[place], users[place] = similarities[place - 1], users[place - 1]
        place -= 1
    similarities[place], users[place] = similarity, user
    return min(n + 1, len(users))
