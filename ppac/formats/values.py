"""What the columns of someone's table mean: ids, ratings and times, or the first row amiss."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

MISSING = ["nan", "null", "none", "na", "n/a", "<na>"]  # among numbers; text may be called so


class Fault(Exception):
    """The first row that is not what it should be, counted from 0, and how many there are."""

    def __init__(self, wrong: pl.Series, message: str) -> None:
        super().__init__(message)
        self.row = wrong.arg_true()[0]
        self.count = int(wrong.sum())


def joined(pieces: Sequence[pl.Series]) -> pl.Series:
    """One column of all parts; as text where their types have nothing else in common."""
    types = {piece.dtype for piece in pieces}
    numbers = all(dtype.is_numeric() for dtype in types)
    if len(types) > 1 and not numbers:
        pieces = [piece.cast(pl.String) for piece in pieces]
    frames = [pl.DataFrame({"": piece}) for piece in pieces]
    return pl.concat(frames, how="vertical_relaxed").to_series()


def ids(pieces: Sequence[pl.Series]) -> pl.Series:
    """Int64 if all are whole numbers as one writes them, else text: '007' is not 7.

    >>> ids([pl.Series(["10", "-2"])]).to_list(), ids([pl.Series(["10", "007"])]).to_list()
    ([10, -2], ['10', '007'])
    """
    column = joined(pieces)
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        refuse(column.is_null() | column.is_nan().fill_null(False), "is missing")
        refuse((whole != column).fill_null(True), "is not a whole number", column)
        return whole
    if not (column.dtype.is_integer() or column.dtype in TEXT):
        raise Fault(column.is_null() | True, f"is of type {column.dtype}: not an id")
    refuse(column.is_null(), "is missing")
    column = column if column.dtype.is_integer() else column.cast(pl.String)
    numbers = column.cast(pl.Int64, strict=False)
    if column.dtype == pl.String:
        refuse(column.str.strip_chars() == "", "is empty")
        other = numbers.cast(pl.String).ne_missing(column)
        absent = other & column.str.to_lowercase().is_in(MISSING)
        if absent.any() and absent.sum() == other.sum():
            refuse(absent, "is missing", column)
        return column if other.any() else numbers
    return column.cast(pl.String) if numbers.null_count() else numbers  # beyond 64 bits


TEXT = (pl.String, pl.Categorical, pl.Enum)


def ratings(pieces: Sequence[pl.Series]) -> pl.Series:
    column = joined(pieces)
    numbers = number(column)
    refuse(numbers.is_null() | ~numbers.is_finite(), "is not a number", column)
    return numbers


def times(pieces: Sequence[pl.Series]) -> pl.Series:
    """Numbers as they are; dates and times as microseconds since 1970, UTC unless they say.

    >>> times([pl.Series(["1970-01-02"])]).to_list()
    [86400000000]
    """
    column = joined(pieces)
    if column.dtype.is_temporal() and column.dtype not in (pl.Date, pl.Datetime):
        raise Fault(column.is_null() | True, f"is of type {column.dtype}: not a time")
    if not column.dtype.is_temporal():
        numbers = number(column)
        if numbers.null_count() < len(numbers):  # numbers, but for a few faults
            refuse(numbers.is_null() | ~numbers.is_finite(), "is not a number", column)
            whole = numbers.cast(pl.Int64, strict=False)
            exact = column.cast(pl.Int64, strict=False) if not column.dtype.is_float() else whole
            return exact if exact.null_count() == 0 and (whole == numbers).all() else numbers
        column = column.cast(pl.String)
        stamps = moments(column)
    else:
        stamps = column.cast(pl.Datetime("us", getattr(column.dtype, "time_zone", None)))
    refuse(stamps.is_null(), "is not a time: write 2024-01-31 or 2024-01-31 09:30:00", column)
    return stamps.cast(pl.Int64)


def moments(column: pl.Series) -> pl.Series:
    """ISO dates and times; null where they are not."""
    if not column.str.contains(r"^\s*\d{4}-").any():  # 1/2/2024 means two days
        return pl.Series([None] * len(column), dtype=pl.Datetime("us"))
    return column.str.to_datetime(strict=False, time_unit="us", time_zone="UTC")


def number(column: pl.Series) -> pl.Series:
    if column.dtype in TEXT:
        column = column.cast(pl.String).str.strip_chars()
    elif not column.dtype.is_numeric():
        raise Fault(column.is_null() | True, f"is of type {column.dtype}: not a number")
    return column.cast(pl.Float64, strict=False)


def refuse(wrong: pl.Series, message: str, column: pl.Series | None = None) -> None:
    if wrong.any():
        shown = "" if column is None else f"{str(column[wrong.arg_true()[0]])[:80]!r}, "
        raise Fault(wrong, message.replace("is ", f"is {shown}", 1) if shown else message)


CONVERT: dict[str, Callable[[Sequence[pl.Series]], pl.Series]] = {
    "user": ids,
    "item": ids,
    "rating": ratings,
    "timestamp": times,
}
