"""Reading the formats: facts of the real files, and every malformed line by its number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ppac.core import registry
from ppac.core.errors import Problem
from ppac.formats import adjacency, delimited, synthetic

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "data"
LINKS = adjacency.Entry(format="adjacency", files={})

SYNTHETIC = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["download"][
    "synthetic"
]

patient = settings(deadline=None)  # a busy machine is no failure
whole = st.integers(-(2**63), 2**63 - 1)
rough_field = st.text("0123", min_size=1, max_size=3) | st.text("01 -+.eéx\r", max_size=4)
rough_line = st.lists(rough_field, min_size=3, max_size=3) | st.lists(rough_field, max_size=5)
rating = st.floats(allow_nan=False, allow_infinity=False)


def entry(
    separator: str = "\t",
    columns: tuple[str, ...] = ("user", "item", "rating", "timestamp"),
    ids: str = "integer",
) -> delimited.Entry:
    values = {"format": "delimited", "files": {}, "separator": separator}
    return delimited.Entry.check({**values, "columns": columns, "ids": ids}, "download.toy")


def read(folder: Path, data: bytes, entry: delimited.Entry) -> pl.DataFrame:
    (folder / "u.data").write_bytes(data)
    return delimited.read(folder / "u.data", entry)


def test_formats_are_found_by_name() -> None:
    assert {"adjacency", "delimited", "synthetic"} <= set(registry.names("formats"))


# delimited


@pytest.mark.parametrize("separator", ["\t", ",", "::", " | ", "é"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_delimited(tmp_path: Path, separator: str, end: str) -> None:
    rows = ["1|10|5|88", "2|20|3.5|99"]
    data = end.join(row.replace("|", separator) for row in rows) + end
    table = read(tmp_path, data.encode(), entry(separator))
    assert table.rows() == [(1, 10, 5.0, 88), (2, 20, 3.5, 99)]
    assert table.dtypes == [pl.Int64, pl.Int64, pl.Float64, pl.Int64]


def test_text_ids(tmp_path: Path) -> None:
    table = read(tmp_path, 'zoé::"b"\n7::a b'.encode(), entry("::", ("item", "user"), "text"))
    assert table.to_dict(as_series=False) == {"item": ["zoé", "7"], "user": ['"b"', "a b"]}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("12\tabc\t5\t88", "item is 'abc', not a whole number: '12\tabc\t5\t88'"),
        ("12\t3", "2 field(s) instead of 4: '12\t3'"),
        ("12\t3\t5\t88\t9", "5 field(s) instead of 4"),
        ("", "1 field(s) instead of 4"),
        ("12\t\t5\t88", "item is '', not a whole number"),
        ("12\t3.0\t5\t88", "item is '3.0', not a whole number"),
        ("12\t99999999999999999999\t5\t88", "item is '99999999999999999999', not a whole"),
        (f"12\t{'9' * 5000}\t5\t88", "item is '9999999999"),
        ("12\t3\tgood\t88", "rating is 'good', not a number"),
        ("12\t3\tnan\t88", "rating is 'nan', not a number"),
        ("12\t3\tinf\t88", "rating is 'inf', not a number"),
        ("12\t3\t5\t", "timestamp is '', not a whole number"),
    ],
)
@pytest.mark.parametrize("separator", ["\t", "::"])
def test_malformed_line(tmp_path: Path, line: str, fault: str, separator: str) -> None:
    good = "1\t2\t3\t4"
    data = "\n".join([good, good, line, good]).replace("\t", separator).encode()
    with pytest.raises(Problem) as caught:
        read(tmp_path, data, entry(separator))
    assert str(caught.value).startswith(f"u.data, line 3: {fault.replace(chr(9), separator)}")


def test_truncated_last_line(tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"line 2: 2 field\(s\) instead of 4"):
        read(tmp_path, b"1\t2\t3\t4\n1\t2", entry())


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"line 2: not UTF-8: 'b::\\xff'"):
        read(tmp_path, b"a::b\nb::\xff", entry("::", ("user", "item"), "text"))


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_empty_file(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(Problem, match=r"u\.data is empty"):
        read(tmp_path, data, entry())


@patient
@given(st.lists(st.tuples(whole, whole, rating, whole), min_size=1), st.sampled_from("\t ,|"))
def test_round_trip(rows: list[tuple[int, int, float, int]], separator: str) -> None:
    data = "\n".join(separator.join(map(str, row)) for row in rows).encode()
    table = delimited.parse(data, entry(separator))
    assert isinstance(table, pl.DataFrame) and table.rows() == rows
    assert delimited.first_fault(data, entry(separator), "u.data") is None


@patient
@given(st.lists(rough_line, min_size=1, max_size=4), st.sampled_from(["integer", "text"]))
def test_fast_and_slow_agree_on_what_is_malformed(lines: list[list[str]], ids: str) -> None:
    """What the fast parser takes, the careful one finds no fault with, and the other way round."""
    data = "\n".join(map("\t".join, lines)).encode().rstrip(b"\r\n")
    rated = entry(columns=("user", "item", "rating"), ids=ids)
    fast = delimited.parse(data, rated) if data else "empty"
    slow = delimited.first_fault(data, rated, "u.data")
    assert isinstance(fast, str) == (slow is not None), (fast, slow)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"columns": ["user", "rating"]}, "must name user and item"),
        ({"columns": ["user", "item", "item"]}, "nothing twice"),
        ({"columns": ["user", "itme"]}, "download.toy.columns"),
        ({"ids": "int"}, "download.toy.ids"),
        ({"separator": ""}, "download.toy.separator"),
        ({"seperator": ","}, "did you mean 'separator'"),
    ],
)
def test_entry_is_checked(change: dict[str, object], fault: str) -> None:
    values = entry().model_dump() | change
    with pytest.raises(Problem, match=fault):
        delimited.Entry.check(values, "download.toy")


# adjacency


def links(folder: Path, data: bytes) -> list[tuple[int, ...]]:
    (folder / "train.txt").write_bytes(data)
    return adjacency.read(folder / "train.txt", LINKS).rows()


def test_adjacency(tmp_path: Path) -> None:
    data = b"0 5 6 \n1\n2 5\r\n\n"
    assert links(tmp_path, data) == [(0, 5), (0, 6), (2, 5)]


@patient
@given(st.lists(st.tuples(st.integers(0, 2**63 - 1), st.lists(st.integers(0, 99))), min_size=1))
def test_adjacency_round_trip(users: list[tuple[int, list[int]]]) -> None:
    data = "\n".join(" ".join(map(str, (user, *items))) for user, items in users).encode()
    table = adjacency.parse(data)
    assert table is not None
    assert table.rows() == [(user, item) for user, items in users for item in items]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"1 x7 2", ": 'x7' is not a whole number of 0 or more: '1 x7 2'"),
        (b"1 2.0", ": '2.0' is not"),
        (b"1 -2", ": '-2' is not"),
        (b"1 1_0", ": '1_0' is not"),
        (b"1 99999999999999999999", ": '99999999999999999999' is not"),
        (b"1 " + b"9" * 5000, ": '9999999999"),
        (b"1 \xff", r": '\xff' is not"),
        (b"", " is empty"),
    ],
)
def test_malformed_adjacency(tmp_path: Path, line: bytes, fault: str) -> None:
    with pytest.raises(Problem) as caught:
        links(tmp_path, b"0 5\n" + line + b"\n2 6\n")
    assert str(caught.value).startswith(f"train.txt, line 2{fault}")


def test_empty_adjacency(tmp_path: Path) -> None:
    with pytest.raises(Problem, match=r"train\.txt is empty"):
        links(tmp_path, b" \n")


# synthetic


def plan(**change: float) -> synthetic.Entry:
    return synthetic.Entry.check(SYNTHETIC | change, "download.synthetic")


def made(seed: int = 1, **change: float) -> pl.DataFrame:
    return synthetic.make(plan(seed=seed, **change))


def test_synthetic_is_its_seed() -> None:
    assert made().equals(made())
    assert not made().equals(made(seed=2))


def test_synthetic_has_the_planned_size_and_no_pair_twice() -> None:
    table = made()
    counts = table["user"].value_counts()["count"]
    assert table.is_unique().all() and table.dtypes == [pl.Int64, pl.Int64]
    assert table["user"].n_unique() == 400 and table["item"].max() < 300  # type: ignore[operator]
    assert made(per_user=0)["user"].value_counts()["count"].to_list() == [5] * 400
    assert counts.mean() == pytest.approx(30, rel=0.05)


@pytest.mark.parametrize("loyalty", [0.0, 0.5, 0.8, 1.0])
def test_synthetic_groups_are_recovered(loyalty: float) -> None:
    table = made(loyalty=loyalty, per_user=15.0)
    users, items = synthetic.groups_of(400, 6), synthetic.groups_of(300, 6)
    same = users[table["user"].to_numpy()] == items[table["item"].to_numpy()]
    assert same.mean() == pytest.approx(loyalty, abs=0.02)


def test_synthetic_popularity_is_flat_or_skewed() -> None:
    flat, skewed = (
        np.bincount(made(popularity=exponent, users=2000)["item"], minlength=300)
        for exponent in (0.0, 1.0)
    )
    assert flat.max() / flat.min() < 1.5
    assert flat[:30].sum() < 0.12 * flat.sum() and skewed[:30].sum() > 0.25 * skewed.sum()
    assert skewed[:30].mean() > 4 * skewed[-30:].mean()
    assert np.corrcoef(np.arange(300), flat)[0, 1] == pytest.approx(0, abs=0.2)


@patient
@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 9), st.floats(0, 1), st.floats(0, 5))
def test_synthetic_of_any_size(
    users: int, items: int, groups: int, loyalty: float, popularity: float
) -> None:
    table = made(users=users, items=items, groups=groups, loyalty=loyalty, popularity=popularity)
    assert table.is_unique().all()
    assert set(table["user"]) <= set(range(users)) and set(table["item"]) <= set(range(items))


def test_synthetic_entry_is_checked() -> None:
    with pytest.raises(Problem, match=r"download\.synthetic\.loyalty"):
        plan(loyalty=1.5)
    with pytest.raises(ValidationError):
        synthetic.Entry(format="synthetic")  # type: ignore[call-arg]


# The real files


@pytest.mark.parametrize(
    ("file", "rows"),
    [
        ("gowalla/train.txt", 810_128),
        ("gowalla/test.txt", 217_242),
        ("gowalla/balance_test.txt", 77_214),
        ("yelp2018/train.txt", 1_237_259),
        ("yelp2018/test.txt", 324_147),
        ("yelp2018/balance_test.txt", 100_331),
        ("ml-1m/ratings.test", 129_720),
        ("ml-1m/balance_ratings.test", 37_425),
    ],
)
def test_real_files(file: str, rows: int) -> None:
    path = SHARED / file
    if not path.exists():
        pytest.skip("needs the shared data beside the repository")
    if path.suffix == ".txt":
        assert adjacency.read(path, LINKS).height == rows
    else:
        assert delimited.read(path, entry("::")).height == rows
