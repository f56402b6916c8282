"""How neighbours, ranking and training grow with the number of users, items being the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench import data, scoring, training
from bench.targets import Record, amount, by_case, typical
from bench.work import Contender, Prepared, Work
from ppac.layout import Cell

CASES = tuple(name for name in data.MADE_UP if name.startswith("growth-"))
FAR = (1_000_000, 100_000_000)  # users to extrapolate to
DAY = 86_400.0
UNITS = (("days", DAY), ("hours", 3_600.0), ("minutes", 60.0), ("seconds", 1.0))


def neighbours(case: str, threads: int) -> Prepared:
    from ppac.neighbours import nearest_users

    train = data.train(case)
    return Prepared(lambda: nearest_users(train, data.K))


def ranking(case: str, threads: int) -> Prepared:
    from ppac.evaluation import rank

    net = training.untrained(Cell(case, "bprmf", "base"))
    net = scoring.with_factors(net, f"{case}/random")
    ranks = scoring.ranking(case)
    users = np.arange(data.train(case).n_users)
    return Prepared(lambda: rank(net, {}, ranks, users, scoring.TOP))


def epoch(case: str, threads: int) -> Prepared:
    return Prepared(training.ours(Cell(case, "bprmf", "base")).epoch)


def exponent(users: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """The least-squares fit of seconds = factor * users ** exponent, as (exponent, factor).

    >>> [round(x, 3) for x in exponent([10, 20, 40], [3, 12, 48])]
    [2.0, 0.03]
    """
    slope, intercept = np.polyfit(np.log(users), np.log(seconds), 1)
    return float(slope), float(np.exp(intercept))


def closing(records: Sequence[Record]) -> list[str]:
    """The fit of each work, and what it says of many more users."""
    lines = []
    longer: dict[int, list[str]] = {n: [] for n in FAR}
    for name in WORK.contenders:
        found = by_case(records, name)
        if len(found) < 2:
            continue
        users = [data.MADE_UP[case].users for case in found]
        power, factor = exponent(users, [typical(record) for record in found.values()])
        far = {n: factor * n**power for n in FAR}
        words = [f"{in_words(time)} for {n // 10**6} million users" for n, time in far.items()]
        for n in FAR:
            longer[n] += [name] if far[n] > DAY else []
        lines.append(
            f"- {name} grows with users^{power:.2f}: twice the users take {amount(2**power)} "
            f"times as long; extrapolated, {' and '.join(words)}."
        )
    shape = data.MADE_UP[CASES[0]]
    about = (
        f"The users of {CASES[0]} are {shape.users:,}, with {shape.interactions / shape.users:g} "
        f"interactions each on average, over {shape.items:,} items at every size. Beyond "
        f"{CASES[-1]} the figures are the fitted line continued, time alone; nothing of that "
        "size was run, nor would it fit this machine's memory throughout."
    )
    limits = [
        f"with {n // 10**6} million users {' and '.join(names) or 'nothing'} would take more than "
        "a day"
        for n, names in longer.items()
    ]
    meaning = f"By these exponents, {'; '.join(limits)}, each on this machine."
    return [*lines, "", meaning, "", about] if lines else []


def in_words(seconds: float) -> str:
    """
    >>> in_words(90), in_words(5400.0), in_words(0.5)
    ('1.50 minutes', '1.50 hours', '0.50 seconds')
    """
    for name, unit in UNITS:
        if seconds >= unit:
            return f"{amount(seconds / unit)} {name}"
    return f"{amount(seconds)} seconds"


WORK = Work(
    title="Growth with the number of users",
    cases=CASES,
    contenders={
        "neighbours": Contender(
            neighbours, against="neighbours", note="Jaccard top 30 of all users"
        ),
        "ranking": Contender(
            ranking, against="ranking", note="top 50 of all users by a dot product"
        ),
        "epoch": Contender(epoch, against="epoch", note="one training epoch of bprmf"),
    },
    closing=closing,
)
