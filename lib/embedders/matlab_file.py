"""Variables in files of MATLAB's version 5 format ("Level 5 MAT-file"): arrays of numbers, and lists of text.

A file is a header of 128 bytes and elements. An element is its type and its size, uint32 each (both in the first four
bytes, if its content fits into the other four), and its content, filled up to a multiple of 8 bytes. A variable is an
element of type 14, or such an element packed by zlib, type 15; in it are elements for its class, its dimensions, its
name and its content.

SciPy's reader of this format, which is compiled, can bring the process down where a byte of a file is wrong. This one
looks before it takes, and takes what is asked for only.
"""

from __future__ import annotations

import math
import mmap
import struct
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from lib.run.errors import InputError, one_line
from lib.run.files import opened

HEADER = 128
MATRIX, PACKED = 14, 15
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}  # by type
TEXTS = {2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
CELL, TEXT = 1, 4  # classes
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
COMPLEX = 1 << 11  # a flag beside the class
START = 1024  # bytes that hold class, dimensions and name

Value = np.ndarray | list[str] | None


class _Damaged(ValueError):
    """What is in a file cannot be."""


def read(file: Path, wanted: Collection[str]) -> dict[str, Value]:
    """The variables of a file by name, each of those that are not wanted as None.

    An array of numbers has the dtype of its class and its dimensions; a cell array is a list of str, in column-major
    order. Raises InputError for a file that cannot be read, is of another format, or damaged, and if a variable that is
    wanted is neither.
    """
    try:
        with opened(file) as stream:
            data = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
            return dict(_variables(data, wanted))
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror or error})") from error
    except (struct.error, zlib.error, ValueError, MemoryError, OverflowError) as error:
        raise InputError(
            f"{file}: is not a file of MATLAB's version 5 format, or not whole ({one_line(error)}); get it again"
        ) from error


def _variables(data: memoryview, wanted: Collection[str]) -> Iterator[tuple[str, Value]]:
    order = {b"IM": "<", b"MI": ">"}.get(bytes(data[126:HEADER]))
    if order is None or struct.unpack_from(f"{order}H", data, 124)[0] >> 8 != 1:
        raise _Damaged("it does not say that it is")
    place = HEADER
    while place < len(data):
        kind, content, place = _element(data, place, order)
        if kind == PACKED:
            name = _name(_unpacked(content, order, START), order)
            yield name, _value(_unpacked(content, order), order) if name in wanted else None
        elif kind == MATRIX:
            name = _name(content, order)
            yield name, _value(content, order) if name in wanted else None
        else:
            raise _Damaged(f"an element of type {kind} stands where a variable should")


def _element(data: memoryview, place: int, order: str) -> tuple[int, memoryview, int]:
    """Type and content of the element at a place, and the place of the next."""
    kind, size = struct.unpack_from(f"{order}2I", data, place)
    begin = place + 8
    if kind >> 16:
        kind, size, begin = kind & 0xFFFF, kind >> 16, place + 4
        if size > 4:
            raise _Damaged("an element's size is wrong")
    if begin + size > len(data):
        raise _Damaged("it ends early")
    return kind, data[begin : begin + size], begin + size if kind == PACKED else begin + size + -(begin + size) % 8


def _unpacked(packed: memoryview, order: str, most: int | None = None) -> memoryview:
    """The content of the variable that is packed here, or its first bytes."""
    stream = zlib.decompressobj()
    kind, size = struct.unpack(f"{order}2I", stream.decompress(packed, 8))
    if kind != MATRIX:
        raise _Damaged(f"an element of type {kind} stands where a variable should")
    content = stream.decompress(stream.unconsumed_tail, min(size, most or size) + 1)
    if most is None and (len(content) != size or not stream.eof):  # its end is there, and its checksum was compared
        raise _Damaged("a packed variable is not whole")
    return memoryview(content)


def _parts(content: memoryview, order: str) -> tuple[int, tuple[int, ...], str, int]:
    """Flags and class of a variable, its dimensions, its name, and the place of what follows them."""
    _, flags, place = _element(content, 0, order)
    _, dimensions, place = _element(content, place, order)
    _, name, place = _element(content, place, order)
    shape = tuple(np.frombuffer(dimensions, f"{order}i4").tolist())
    if len(shape) < 2 or min(shape) < 0:
        raise _Damaged(f"an array has the dimensions {shape}")
    return struct.unpack_from(f"{order}I", flags)[0], shape, bytes(name).decode("latin-1"), place


def _name(content: memoryview, order: str) -> str:
    return _parts(content, order)[2]


def _value(content: memoryview, order: str) -> Value:
    flags, shape, name, place = _parts(content, order)
    kind = flags & 0xFF
    if kind == CELL:
        return list(_texts(content, order, math.prod(shape), place))
    if kind not in CLASSES or flags & COMPLEX:
        raise _Damaged(f"{name} is neither numbers nor texts")
    stored, numbers, _ = _element(content, place, order)
    if stored not in NUMBERS:
        raise _Damaged(f"{name} is of type {stored}")
    array = np.frombuffer(numbers, f"{order}{NUMBERS[stored]}")
    if len(array) != math.prod(shape):
        raise _Damaged(f"{name} has {len(array)} numbers for the dimensions {shape}")
    return array.astype(CLASSES[kind]).reshape(shape, order="F")


def _texts(content: memoryview, order: str, count: int, place: int) -> Iterator[str]:
    """The texts of a cell array, the first of them at a place."""
    for _ in range(count):
        kind, cell, place = _element(content, place, order)
        if kind != MATRIX:
            raise _Damaged(f"a cell is of type {kind}")
        yield _text(cell, order) if cell else ""


def _text(cell: memoryview, order: str) -> str:
    flags, shape, _, place = _parts(cell, order)
    if not math.prod(shape):
        return ""
    kind, letters, _ = _element(cell, place, order)
    if flags & 0xFF != TEXT or kind not in TEXTS or shape[0] != 1:
        raise _Damaged("a cell is no line of text")
    endian = "" if TEXTS[kind] in ("latin-1", "utf-8") else {"<": "-le", ">": "-be"}[order]
    text = bytes(letters).decode(TEXTS[kind] + endian)
    if len(text) != math.prod(shape[1:]):
        raise _Damaged(f"a text has {len(text)} letters for the dimensions {shape}")
    return text
