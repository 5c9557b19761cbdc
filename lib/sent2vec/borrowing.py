"""Arrays without their count of references, for compiled code that hands many of them on."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def borrowed(typing_context, value):
    """The same array, or tuple of arrays and other things, not counted as a reference.

    Counting is atomic: for a row of 100 numbers it costs more than the arithmetic, and threads wait for each other.
    Only for what the caller's caller holds on to, such as a compiled function's own arguments.
    """

    def generate(context, builder, signature, arguments):
        return _strip(context, builder, signature.args[0], arguments[0])

    return value(value), generate


def _strip(context: Any, builder: Any, kind: types.Type, value: Any) -> Any:
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        members = cgutils.unpack_tuple(builder, value, len(kind))
        stripped = [_strip(context, builder, *member) for member in zip(kind, members, strict=True)]
        return context.make_tuple(builder, kind, stripped)
    return value
