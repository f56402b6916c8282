"""Reading and writing artefacts: complete or absent, and the same bytes every time."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from ppac.core.errors import Problem

LITTLE = 2**16  # bytes of free space that count as none


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A temporary name that becomes ``path`` when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        with disk_full_said(path):
            yield temporary
        temporary.chmod(0o644)  # mkstemp makes private files; artefacts are ordinary ones
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder that becomes ``path`` when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        with disk_full_said(path):
            yield temporary
        temporary.chmod(0o755)
        if path.exists():
            # A folder cannot be renamed over another: move the old one aside, then drop it.
            old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)) / "old"
            path.rename(old)
            temporary.rename(path)
            shutil.rmtree(old.parent)
        else:
            temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def disk_full_said(path: Path) -> Iterator[None]:
    """A full disk as the OSError it is: some writers raise exceptions of their own instead."""
    try:
        yield
    except Exception as error:
        reason = os.strerror(errno.ENOSPC)
        if reason in str(error) or shutil.disk_usage(path.parent).free < LITTLE:
            raise OSError(errno.ENOSPC, reason, str(path)) from error
        raise


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Parquet with fixed writer options, so that equal tables are equal files."""
    arrow = table.to_arrow().replace_schema_metadata(None)
    arrow = arrow.cast(pa.schema([_plain(field) for field in arrow.schema]))
    with new_file(path) as temporary:
        pq.write_table(arrow, temporary, compression="zstd", row_group_size=1 << 20)


def _plain(field: pa.Field) -> pa.Field:
    """Strings as the ordinary string type, which every Parquet reader knows."""
    text = pa.types.is_large_string(field.type) or pa.types.is_string_view(field.type)
    return field.with_type(pa.string()) if text else field


def read_table(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except FileNotFoundError:
        raise Problem(f"{path} does not exist: run the stage that writes it.") from None
    except pl.exceptions.ComputeError as error:
        raise Problem(f"{path} is not a readable Parquet file: {error}") from None


def write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_text(path, text)


def write_text(path: Path, text: str) -> None:
    with new_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_csv(path: Path, table: pl.DataFrame) -> None:
    write_text(path, table.write_csv())


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Problem(f"{path} does not exist: run the stage that writes it.") from None
    except json.JSONDecodeError as error:
        raise Problem(f"{path} is not valid JSON: {error}") from None


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def rows_digest(table: pl.DataFrame) -> str:
    """A digest of the rows whatever their order and however the file was written.

    >>> a = pl.DataFrame({"user": [1, 2], "item": [3, 4]})
    >>> rows_digest(a) == rows_digest(a.reverse())
    True
    """
    digest = hashlib.sha256()
    for column in table.sort(table.columns):
        digest.update(f"{column.name}:{column.dtype}\n".encode())
        if column.dtype == pl.String:
            digest.update("\0".join(column.fill_null("").to_list()).encode())
        else:
            digest.update(np.ascontiguousarray(column.to_numpy()).tobytes())
    return digest.hexdigest()


def config_digest(value: Any) -> str:
    """A short digest of anything JSON can hold."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
