"""Asking the processor for memory before it is needed, in compiled code."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from lib.run.compiled import njit

LINE = 64  # bytes that come together


@intrinsic
def _prefetch(typing_context, array, row, column):
    """LLVM's prefetch of one element, to be read, into all caches."""

    def generate(context, builder, signature, arguments):
        kind = signature.args[0]
        made = context.make_array(kind)(context, builder, arguments[0])
        item = cgutils.get_item_pointer(context, builder, kind, made, arguments[1:], wraparound=False)
        integer = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, integer, integer, integer])
        function = cgutils.get_or_insert_function(builder.module, function_type, "llvm.prefetch.p0")
        read, keep, data = integer(0), integer(3), integer(1)
        builder.call(function, [builder.bitcast(item, cgutils.voidptr_t), read, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp), generate


@njit(nogil=True)
def prefetch_row(matrix, row):
    """Fetch a row of a C-ordered matrix into the cache. A wrong row does no harm: nothing is read."""
    for column in range(0, matrix.shape[1], LINE // matrix.itemsize):
        _prefetch(matrix, row, column)
