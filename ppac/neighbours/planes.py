"""Counts of many users at once, held as bit planes: bit p of everyone's count in plane p.

A user's overlap with 64 others takes one machine word per plane. Adding an item adds one bit
to each of them, and eight items at a time go through a network of full adders: about six
instructions for an item and 256 users, where counters would take one for each of its users.
Vectors are spelt out for LLVM because it does not find them itself behind possible aliases.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from ppac.core.compiled import intrinsic, kernel, splat

LANES = 8  # words in a vector; LLVM divides it into what the processor has
STEP = 8 * LANES  # its bytes
I64 = ir.IntType(64)
VECTOR = ir.VectorType(I64, LANES)
COUNTERS = ir.VectorType(ir.IntType(8), 64)
ZEROS, ONES = ir.Constant(VECTOR, [0] * LANES), ir.Constant(VECTOR, [-1] * LANES)


@kernel
def planes_for(size: int) -> int:
    """How many planes hold counts up to ``size``; at least the three of `add_eight`."""
    planes = 3
    while (1 << planes) <= size:
        planes += 1
    return planes


@kernel
def add_rows(planes: np.ndarray, bits: np.ndarray, rows: np.ndarray, n: int, top: int) -> None:
    """Add ``bits[rows[:n]]`` to the counts of ``top`` planes; ``n`` is a multiple of eight.

    The last row of ``planes`` is scratch.
    """
    at, stride = planes.ctypes.data, planes.strides[0]
    carry = planes[-1]
    base, width = bits.ctypes.data, bits.strides[0]
    used = 4
    for g in range(0, n, 8):
        eight = (
            base + rows[g] * width,
            base + rows[g + 1] * width,
            base + rows[g + 2] * width,
            base + rows[g + 3] * width,
            base + rows[g + 4] * width,
            base + rows[g + 5] * width,
            base + rows[g + 6] * width,
            base + rows[g + 7] * width,
        )
        for offset in range(0, width, STEP):
            add_eight(at, stride, carry.ctypes.data, eight, offset)
        while used < top and (1 << used) <= g + 8:
            used += 1
        for p in range(3, min(used, top)):
            plane = planes[p]
            for w in range(len(carry)):
                before = plane[w]
                plane[w] = before ^ carry[w]
                carry[w] &= before


@kernel
def add_one(planes: np.ndarray, place: int) -> None:
    """Add one to the count of a single user."""
    w = place >> 6
    carry = np.uint64(1) << np.uint64(place & 63)
    p = 0
    while carry != 0:
        before = planes[p, w]
        planes[p, w] = before ^ carry
        carry &= before
        p += 1


@kernel
def forget(planes: np.ndarray, place: int) -> None:
    """Set the count of a single user to nothing."""
    others = ~(np.uint64(1) << np.uint64(place & 63))
    for p in range(len(planes)):
        planes[p, place >> 6] &= others


@kernel
def count_at(planes: np.ndarray, top: int, place: int) -> int:
    """The count of a single user."""
    w, shift = place >> 6, np.uint64(place & 63)
    count = 0
    for p in range(top):
        count |= int((planes[p, w] >> shift) & np.uint64(1)) << p
    return count


@intrinsic
def add_eight(
    typing: Any, planes: Any, stride: Any, carry: Any, rows: Any, offset: Any
) -> tuple[Any, Any]:
    """Eight rows into planes 0 to 2 at one vector; what overflows goes to ``carry``."""
    eight = types.UniTuple(types.int64, 8)
    signature = types.void(types.int64, types.int64, types.int64, eight, types.int64)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        planes, stride, carry, rows, offset = args
        twice = builder.add(stride, stride)
        places = [planes, builder.add(planes, stride), builder.add(planes, twice)]
        places = [builder.add(place, offset) for place in places]
        x = [load(builder, builder.add(builder.extract_value(rows, i), offset)) for i in range(8)]
        ones, twos, fours = (load(builder, place) for place in places)
        ones, a = full_adder(builder, ones, x[0], x[1])
        ones, b = full_adder(builder, ones, x[2], x[3])
        twos, c = full_adder(builder, twos, a, b)
        ones, a = full_adder(builder, ones, x[4], x[5])
        ones, b = full_adder(builder, ones, x[6], x[7])
        twos, d = full_adder(builder, twos, a, b)
        fours, eights = full_adder(builder, fours, c, d)
        for value, place in zip((ones, twos, fours), places, strict=True):
            store(builder, value, place)
        store(builder, eights, builder.add(carry, offset))
        return context.get_dummy_value()

    return signature, code


@intrinsic
def at_least(
    typing: Any, planes: Any, stride: Any, top: Any, least: Any, out: Any
) -> tuple[Any, Any]:
    """Which counts of one vector reach ``least``: a bit each at ``out``; returns whether any."""
    signature = types.boolean(*[types.int64] * 5)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        planes, stride, top, least, out = args
        one = ir.Constant(I64, 1)
        equal = cgutils.alloca_once_value(builder, ONES)
        greater = cgutils.alloca_once_value(builder, ZEROS)
        with cgutils.for_range(builder, top) as loop:  # from the highest plane down
            p = builder.sub(builder.sub(top, loop.index), one)
            x = load(builder, builder.add(planes, builder.mul(p, stride)))
            bit = builder.and_(builder.lshr(least, p), one)
            # All ones where least has no such bit.
            unset = splat(builder, builder.sub(bit, one), VECTOR)
            so_far = builder.load(equal)
            more = builder.and_(builder.and_(so_far, x), unset)
            builder.store(builder.or_(builder.load(greater), more), greater)
            builder.store(builder.and_(so_far, builder.xor(x, unset)), equal)
        found = builder.or_(builder.load(greater), builder.load(equal))
        store(builder, found, out)
        some = builder.bitcast(builder.icmp_unsigned("!=", found, ZEROS), ir.IntType(LANES))
        return builder.icmp_unsigned("!=", some, ir.Constant(ir.IntType(LANES), 0))

    return signature, code


@intrinsic
def counts_at_least(typing: Any, counts: Any, least: Any) -> tuple[Any, Any]:
    """The same of 64 plain counters (uint8): a word with a bit each."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return reaching(builder, load(builder, args[0], COUNTERS), args[1])

    return types.uint64(types.int64, types.int64), code


@intrinsic
def some_at_least(typing: Any, counts: Any, least: Any) -> tuple[Any, Any]:
    """Whether any of 64 LANES plain counters does, told by the largest."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        most = load(builder, args[0], COUNTERS)
        for lane in range(1, LANES):
            place = builder.add(args[0], ir.Constant(I64, lane * 64))
            values = load(builder, place, COUNTERS)
            most = builder.select(builder.icmp_unsigned(">", most, values), most, values)
        return builder.icmp_unsigned("!=", reaching(builder, most, args[1]), ir.Constant(I64, 0))

    return types.boolean(types.int64, types.int64), code


def reaching(builder: Any, counts: Any, least: Any) -> Any:
    """A bit for each of 64 counters."""
    least = splat(builder, builder.trunc(least, ir.IntType(8)), COUNTERS)
    return builder.bitcast(builder.icmp_unsigned(">=", counts, least), I64)


def load(builder: Any, address: Any, vector: Any = VECTOR) -> Any:
    value = builder.load(builder.inttoptr(address, vector.as_pointer()))
    value.align = vector.element.width // 8
    return value


def store(builder: Any, value: Any, address: Any) -> None:
    builder.store(value, builder.inttoptr(address, VECTOR.as_pointer())).align = 8


def full_adder(builder: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Sum and carry of three bits in every place."""
    either = builder.xor(a, b)
    carry = builder.or_(builder.and_(a, b), builder.and_(either, c))
    return builder.xor(either, c), carry
