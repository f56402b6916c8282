from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from ppac.core.errors import Problem
from ppac.core.files import (
    new_file,
    new_folder,
    read_json,
    read_table,
    rows_digest,
    write_table,
    write_text,
)
from stages import door


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


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of 256 KiB, where mounting one is allowed."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    try:
        done = subprocess.run(command, capture_output=True, check=False).returncode
    except OSError:
        done = 1
    if done:
        pytest.skip("needs the right to mount a small file system")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("writer", ["table", "text", "model", "checkpoint"])
def test_a_full_disk_is_said_and_the_old_file_stays(small_disk, writer):
    path = small_disk / "artefact"
    path.write_text("old")
    noise = np.random.default_rng(0).normal(size=200_000)

    def write():
        if writer == "table":
            write_table(path, pl.DataFrame({"x": noise}))
        elif writer == "text":
            write_text(path, noise.tobytes().hex())
        elif writer == "model":
            with new_file(path) as temporary:
                save_file({"x": torch.from_numpy(noise)}, temporary)
        else:
            with new_file(path) as temporary:
                torch.save({"x": torch.from_numpy(noise)}, temporary)

    with pytest.raises(SystemExit, match=r"the disk is full.*artefact"):
        door.enter(write)
    assert path.read_text() == "old"
    assert list(small_disk.iterdir()) == [path]
