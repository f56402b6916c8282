"""Compiled kernels: how they are compiled and kept, and words that numba lacks.

Compiling takes seconds, so machine code is kept on disk. Numba notices a change of the file a
kernel is in, but not of the files it calls into; hence a folder for each state of the library.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic as numba_intrinsic

F = TypeVar("F", bound=Callable[..., Any])
settings: Any = numba.config
LIBRARY = Path(__file__).parents[1]


def folder_of_this_code() -> Path:
    digest = hashlib.sha256()
    for path in sorted(LIBRARY.rglob("*.py")):
        digest.update(path.read_bytes())
    return LIBRARY / "__pycache__" / f"kernels-{digest.hexdigest()[:16]}"


def keep_in(folder: Path) -> None:
    """Keep machine code there, and nothing of earlier states; where nobody may write, nothing."""
    try:
        for old in folder.parent.glob("kernels-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    settings.CACHE_DIR = str(folder)


if not settings.CACHE_DIR:  # NUMBA_CACHE_DIR in the environment goes first
    keep_in(folder_of_this_code())


def kernel(function: F) -> F:
    """Compile to machine code that runs without Python's lock; division by zero gives inf."""
    return cast(F, numba.njit(error_model="numpy", nogil=True, cache=True)(function))


def loose_kernel(function: F) -> F:
    """The same for sums that may be taken in any order, which makes them vector instructions."""
    loose = numba.njit(error_model="numpy", nogil=True, cache=True, fastmath=True)
    return cast(F, loose(function))


def intrinsic(function: Callable[..., Any]) -> Any:
    """An operation given as LLVM code."""
    return numba_intrinsic(function)


@intrinsic
def lowest_bit(typing: Any, word: Any) -> tuple[Any, Any]:
    """The place of the lowest bit that is set."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


@intrinsic
def bits_set(typing: Any, word: Any) -> tuple[Any, Any]:
    """How many bits are set."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), code


def splat(builder: Any, value: Any, vector: Any) -> Any:
    """One number in every lane."""
    i32 = ir.IntType(32)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(i32, 0))
    zeros = ir.Constant(ir.VectorType(i32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, first, zeros)
