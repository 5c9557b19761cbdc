"""The building blocks of the compiled loops.

These are random numbers, arithmetic with rows of float32, and two instructions. Random
numbers come from a state of one uint64 (SplitMix64: Steele, Lea and Flood 2014).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from lib.base.compiled import njit

njit_inline = njit(nogil=True, forceinline=True)
# Sums may be reordered and products added unrounded, so that loops run in vector
# registers; NaN and infinity keep their meaning.
njit_fast = njit(nogil=True, forceinline=True, fastmath={"reassoc", "contract"})

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
S11, S27, S30, S31, S32 = (np.uint64(bits) for bits in (11, 27, 30, 31, 32))
UNIT = 2.0**-53
LINE = 64  # bytes that the processor fetches together

# -- random numbers --------------------------------------------------------------------


@njit_inline
def mixed(value):
    """Another uint64, each bit of which depends on each bit of this one."""
    value = np.uint64(value)
    value = (value ^ (value >> S30)) * FIRST
    value = (value ^ (value >> S27)) * SECOND
    return value ^ (value >> S31)


@njit_inline
def start_of(seed, stream):
    """The state (uint64) that stream number `stream` of a seed begins with."""
    return mixed(mixed(np.uint64(seed) + STEP) + np.uint64(stream))


@njit_inline
def draw(state):
    """The next uint64."""
    state[0] += STEP
    return mixed(state[0])


@njit_inline
def uniform(state):
    """float64 in [0, 1)."""
    return np.float64(draw(state) >> S11) * UNIT


@njit_inline
def below(state, limit):
    """int64 in 0, ..., limit - 1, for a limit below 2**32."""
    return np.int64(((draw(state) >> S32) * np.uint64(limit)) >> S32)


# -- rows ------------------------------------------------------------------------------


@njit_fast
def dot(row, vector):
    """The product of two vectors."""
    total = np.float32(0)
    for j in range(len(vector)):
        total += row[j] * vector[j]
    return total


@njit_fast
def dots(one, two, vector):
    """The products of two rows with a vector."""
    first = second = np.float32(0)
    for j in range(len(vector)):
        first += one[j] * vector[j]
        second += two[j] * vector[j]
    return first, second


@njit_fast
def exchange_two(one, two, step, other_step, vector, total):
    """Add multiples of two rows to `total`, then of the vector to the rows.

    The multiples are the same.
    """
    for j in range(len(vector)):
        first = one[j]
        second = two[j]
        value = vector[j]
        total[j] += step * first + other_step * second
        one[j] = first + step * value
        two[j] = second + other_step * value


@njit_fast
def add_to(total, factor, vector):
    """Add a multiple of a vector to `total`."""
    for j in range(len(vector)):
        total[j] += factor * vector[j]


@njit_fast
def scale(vector, factor):
    """Multiply a vector by a number."""
    for j in range(len(vector)):
        vector[j] *= factor


@njit_inline
def shrink(vector, threshold):
    """Soft thresholding (the paper's eq. 6).

    Every component comes closer to 0 by `threshold`, but never past it.
    """
    for j in range(len(vector)):
        size = max(abs(vector[j]) - threshold, np.float32(0))
        vector[j] = np.copysign(size, vector[j])


# -- instructions ----------------------------------------------------------------------


@intrinsic
def borrowed(typing_context, value):
    """The same array, or tuple of arrays and other things, not counted as a reference.

    Counting is atomic: for a row of 100 numbers it costs more than the arithmetic, and
    threads wait for each other. Only for what the caller holds on to, such as a
    compiled function's own arguments.
    """

    def strip(context: Any, builder: Any, kind: types.Type, value: Any) -> Any:
        if isinstance(kind, types.BaseTuple):
            members = zip(kind, cgutils.unpack_tuple(builder, value), strict=True)
            return context.make_tuple(
                builder, kind, [strip(context, builder, *member) for member in members]
            )
        if not isinstance(kind, types.Array):
            return value
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = array.parent = cgutils.get_null_value(array.meminfo.type)
        return array._getvalue()

    def generate(context, builder, signature, arguments):
        return strip(context, builder, signature.args[0], arguments[0])

    return value(value), generate


@intrinsic
def _prefetch(typing_context, array, row, column):
    """LLVM's prefetch of one element, to be read, into all caches."""

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        made = context.make_array(kind)(context, builder, arguments[0])
        item = cgutils.get_item_pointer(
            context, builder, kind, made, arguments[1:], wraparound=False
        )
        integer = ir.IntType(32)
        function_type = ir.FunctionType(
            ir.VoidType(), [cgutils.voidptr_t, integer, integer, integer]
        )
        function = cgutils.get_or_insert_function(
            builder.module, function_type, "llvm.prefetch.p0"
        )
        address = builder.bitcast(item, cgutils.voidptr_t)
        # To be read, kept in all caches, data.
        builder.call(function, [address, integer(0), integer(3), integer(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), generate


@njit(nogil=True)
def prefetch_row(matrix, row):
    """Fetch a row of a C-ordered matrix into the cache.

    A wrong row does no harm: nothing is read.
    """
    for column in range(0, matrix.shape[1], LINE // matrix.itemsize):
        _prefetch(matrix, row, column)
