"""The best k of a stream of (similarity, user): a heap whose root is the worst of them.

A larger similarity is better, and among equals the larger user id.
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
    if n == len(users):
        if worse(similarities[0], users[0], similarity, user):
            settle(similarities, users, n, similarity, user)
        return n
    place = n
    while place > 0:
        parent = (place - 1) >> 1
        if not worse(similarity, user, similarities[parent], users[parent]):
            break
        similarities[place], users[place] = similarities[parent], users[parent]
        place = parent
    similarities[place], users[place] = similarity, user
    return n + 1


@kernel
def settle(
    similarities: np.ndarray, users: np.ndarray, n: int, similarity: float, user: int
) -> None:
    """Put a candidate in the root's place and let it sink among the first ``n``."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= n:
            break
        if child + 1 < n and worse(
            similarities[child + 1], users[child + 1], similarities[child], users[child]
        ):
            child += 1
        if not worse(similarities[child], users[child], similarity, user):
            break
        similarities[place], users[place] = similarities[child], users[child]
        place = child
    similarities[place], users[place] = similarity, user


@kernel
def best_first(similarities: np.ndarray, users: np.ndarray, n: int) -> None:
    """Sort a heap of ``n``: its root, the worst, goes to the end again and again."""
    for last in range(n - 1, 0, -1):
        similarity, user = similarities[last], users[last]
        similarities[last], users[last] = similarities[0], users[0]
        settle(similarities, users, last, similarity, user)
