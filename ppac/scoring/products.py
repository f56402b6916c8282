"""Matrix products inside compiled kernels, of float32 pieces small enough to stay in the cache.

Every number of a result is one chain of fused multiply-adds in the order of the summed index: the
same bits on every processor that has the instruction. A library's order is the processor's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils

from ppac.core.compiled import intrinsic, kernel, splat

# So many rows and columns at a time that their sums are in registers, of 16, 8 or 4 numbers each.
COLUMNS = 32
FEATURES = binding.get_host_cpu_features()
ROWS = 8 if FEATURES.get("avx512f") else 3 if FEATURES.get("avx2") else 2
FEW = 8  # columns at a time of the last ones, then one by one


def corner(rows: int, columns: int) -> Any:
    """An operation that finds so many rows and columns of a product; strides are in bytes."""
    number, word = ir.FloatType(), ir.IntType(64)
    vector = ir.VectorType(number, columns)
    fuse = (ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{columns}f32")

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        out, out_row, left, left_row, left_step, right, right_step, depth, goes_on = args
        fused = cgutils.get_or_insert_function(builder.module, *fuse)

        def at(start: Any, offset: Any, kind: Any) -> Any:
            return builder.inttoptr(builder.add(start, offset), kind.as_pointer())

        ends = [at(out, builder.mul(out_row, word(r)), vector) for r in range(rows)]
        zero = ir.Constant(vector, [0.0] * columns)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(rows)]
        with builder.if_then(goes_on):
            for total, end in zip(sums, ends, strict=True):
                builder.store(builder.load(end, align=4), total)
        with cgutils.for_range(builder, depth) as loop:
            row = builder.load(at(right, builder.mul(right_step, loop.index), vector), align=4)
            step = builder.mul(left_step, loop.index)
            for r, total in enumerate(sums):
                offset = builder.add(builder.mul(left_row, word(r)), step)
                one = splat(builder, builder.load(at(left, offset, number), align=4), vector)
                builder.store(builder.call(fused, [one, row, builder.load(total)]), total)
        for total, end in zip(sums, ends, strict=True):
            builder.store(builder.load(total), end, align=4)
        return context.get_dummy_value()

    # Numba counts an operation's arguments, so they cannot be written as *args.
    def typed(
        typing: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any, i: Any
    ) -> tuple[Any, Any]:
        return types.void(*[types.int64] * 8, types.boolean), code

    return intrinsic(typed)


tall, tall_few, tall_one = (corner(ROWS, columns) for columns in (COLUMNS, FEW, 1))
flat, flat_few, flat_one = (corner(1, columns) for columns in (COLUMNS, FEW, 1))


@kernel
def matmul(left: np.ndarray, right: np.ndarray, goes_on: bool, out: np.ndarray) -> None:
    """out = left @ right, or out += left @ right where it goes on.

    Numbers of a row of ``out`` and of ``right`` lie side by side; ``left`` may be transposed.
    """
    go_over(
        out.ctypes.data,
        out.strides[0],
        left.ctypes.data,
        left.strides[0],
        left.strides[1],
        right.ctypes.data,
        right.strides[0],
        (out.shape[0], out.shape[1], left.shape[1]),
        goes_on,
    )


@kernel
def go_over(
    out: int,
    out_row: int,
    left: int,
    left_row: int,
    left_step: int,
    right: int,
    right_step: int,
    sizes: tuple[int, int, int],
    goes_on: bool,
) -> None:
    """Corner by corner. Of addresses, so that it is compiled once for all kinds of arrays."""
    rows, columns, depth = sizes
    column = 0
    while column < columns:
        left_over = columns - column
        width = COLUMNS if left_over >= COLUMNS else FEW if left_over >= FEW else 1
        by = right + 4 * column
        row = 0
        while row < rows:
            height = ROWS if rows - row >= ROWS else 1
            to, of = out + row * out_row + 4 * column, left + row * left_row
            if height == ROWS and width == COLUMNS:
                tall(to, out_row, of, left_row, left_step, by, right_step, depth, goes_on)
            elif height == ROWS and width == FEW:
                tall_few(to, out_row, of, left_row, left_step, by, right_step, depth, goes_on)
            elif height == ROWS:
                tall_one(to, out_row, of, left_row, left_step, by, right_step, depth, goes_on)
            elif width == COLUMNS:
                flat(to, out_row, of, left_row, left_step, by, right_step, depth, goes_on)
            elif width == FEW:
                flat_few(to, out_row, of, left_row, left_step, by, right_step, depth, goes_on)
            else:
                flat_one(to, out_row, of, left_row, left_step, by, right_step, depth, goes_on)
            row += height
        column += width
