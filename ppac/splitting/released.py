"""The authors' own train and test files, with a validation set that touches neither."""

from __future__ import annotations

import numpy as np

from ppac.core.errors import Problem
from ppac.splitting.balancing import distinct, in_rounds
from ppac.splitting.pairs import Pairs
from ppac.splitting.parts import BOTH, RANDOM, TRAIN, VALID, Split, SplitConfig, parts_of

IN_TEST = 0.95  # share of the balanced test's pairs that the authors' validation files hold
STRATA = 10  # of items by popularity, alike in validation and in the authors' test


def released(pairs: Pairs, config: SplitConfig, rng: np.random.Generator) -> Split:
    """The authors' train and balanced test; validation is what neither of them touches.

    It is a sample of their biased test minus their balanced test (see ``like_test``). The
    random test is their biased test without that validation, so it contains the balanced test.
    Only train is masked at test, as the authors do: masking validation too would flatter us.

    ``config.validation`` can ask for what the authors do instead, to measure what it is worth:
    a validation set inside the test (theirs is a sample of its lines), or the test itself.
    """
    if pairs.released is None:
        raise Problem("protocol 'released' needs the authors' test files: see docs/protocol.md.")
    where = np.choose(pairs.released, [TRAIN, RANDOM, BOTH])
    if config.validation != "apart":
        parts = parts_of(where)
        share = IN_TEST if config.validation == "in_test" else 1
        chosen = rng.permutation(parts["test"])[: round(share * len(parts["test"]))]
        return Split(parts | {"valid": np.sort(chosen)}, ["train"], {}, disjoint=False)
    taken, quota = like_test(pairs, where, rng)
    where[taken] = VALID
    return Split(parts_of(where), ["train"], {"valid": quota})


def like_test(
    pairs: Pairs, where: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, dict[str, float]]:
    """Of what the authors' test leaves, a sample with items as popular in train as the test's.

    The test admits items with enough held-out interactions only: 499 of 3,533 movies on
    MovieLens-1M, none of them rare. What is left, balanced over all items, would be of rarer
    ones, and weights chosen there would take more from popular items than the test likes. So
    each tenth of the test, by its items' train counts, stands for a stratum of items, each
    stratum gives the same share of validation, and items in it as equally as they can.
    """
    counts = np.bincount(pairs.item[where == TRAIN], minlength=len(pairs.items))
    popular = counts[pairs.item]
    of_test = popular[where == BOTH]
    edges = np.unique(np.quantile(of_test, np.linspace(0, 1, STRATA + 1)))
    stratum = np.searchsorted(edges[1:-1], popular, side="right")
    free = (where == RANDOM) & (popular >= edges[0]) & (popular <= edges[-1])
    wanted, given = (np.bincount(stratum[some], minlength=STRATA) for some in (where == BOTH, free))
    there = wanted > 0
    share = min(1.0, float((given[there] / wanted[there]).min()))  # what every stratum can give
    taken = []
    for number in np.flatnonzero(there):
        candidates, place = in_rounds(pairs, free & (stratum == number), rng)
        # A round takes one of every item; which items are in the last one is left to chance.
        by_round = np.lexsort((rng.random(len(place)), place))
        taken.append(candidates[by_round[: round(share * wanted[number])]])
    found = np.concatenate(taken)
    items = distinct(pairs.item[found])
    return found, {"wanted": int(wanted.sum()), "share": round(share, 4), "items": items}
