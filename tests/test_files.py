from __future__ import annotations

import errno
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppac.core.errors import Problem
from ppac.core.files import new_file, new_folder, read_json, read_table, rows_digest, write_table


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ValueError, match="boom"), new_file(path) as temporary:
        temporary.write_text("half")
        raise ValueError("boom")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_folder_leaves_the_old_one_and_no_litter(tmp_path: Path):
    path = tmp_path / "out"
    path.mkdir()
    (path / "x").write_text("old")
    with pytest.raises(OSError, match="full"), new_folder(path) as temporary:
        (temporary / "x").write_text("half")
        raise OSError(errno.ENOSPC, "full")
    assert (path / "x").read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path):
    path = tmp_path / "out"
    for name in ("first", "second"):
        with new_folder(path) as temporary:
            (temporary / name).touch()
    assert [p.name for p in path.iterdir()] == ["second"]
    assert list(tmp_path.iterdir()) == [path]


def test_equal_tables_are_equal_files(tmp_path: Path):
    table = pl.DataFrame({"user": ["ä", "b"], "n": [1, 2]})
    write_table(tmp_path / "a", table)
    write_table(tmp_path / "b", table)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert read_table(tmp_path / "a").equals(table)


def test_unreadable_files_are_named(tmp_path: Path):
    (tmp_path / "bad").write_text("nonsense")
    with pytest.raises(Problem, match="bad"):
        read_table(tmp_path / "bad")
    with pytest.raises(Problem, match="bad is not valid JSON"):
        read_json(tmp_path / "bad")
    with pytest.raises(Problem, match="none does not exist"):
        read_json(tmp_path / "none")


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1), st.randoms())
def test_the_digest_ignores_order_and_sees_every_row(rows, chance):
    table = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    shuffled = list(rows)
    chance.shuffle(shuffled)
    assert rows_digest(table) == rows_digest(
        pl.DataFrame(shuffled, schema=["user", "item"], orient="row")
    )
    changed = [(rows[0][0] + 1, rows[0][1]), *rows[1:]]
    assert rows_digest(table) != rows_digest(
        pl.DataFrame(changed, schema=["user", "item"], orient="row")
    )
