"""MATLAB's files: what SciPy writes is read as SciPy reads it, in both orders of bytes; what cannot be is named."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from lib.embedders import matlab_file
from lib.run.errors import InputError

RNG = np.random.default_rng(0)
TYPES = ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
NUMBERS = {f"of_{dtype}": (100 * RNG.random((3, 4))).astype(dtype) for dtype in TYPES}
SHAPES = {"one": np.ones((1, 1)), "none": np.empty((0, 3)), "deep": RNG.random((2, 3, 4)), "row": np.ones((1, 5), "i2")}
WORDS = ["the", "", "caf\u00e9", "\u65e5\u672c", "*UNKNOWN*"]


@pytest.mark.parametrize("packed", [False, True])
def test_arrays_are_those_that_scipy_reads(tmp_path, packed) -> None:
    savemat(tmp_path / "file.mat", NUMBERS | SHAPES, do_compression=packed)
    expected, found = loadmat(tmp_path / "file.mat"), matlab_file.read(tmp_path / "file.mat", [*NUMBERS, *SHAPES])
    assert set(found) == {*NUMBERS, *SHAPES}
    for name, array in found.items():
        assert array.dtype == expected[name].dtype
        np.testing.assert_array_equal(array, expected[name])


@pytest.mark.parametrize("packed", [False, True])
def test_texts_are_those_that_scipy_reads_and_the_rest_is_named_only(tmp_path, packed) -> None:
    cells = np.array([WORDS], dtype=object)
    savemat(tmp_path / "file.mat", {"words": cells, "other": np.ones(3)}, do_compression=packed)
    found = matlab_file.read(tmp_path / "file.mat", ["words"])
    assert found == {"words": WORDS, "other": None}
    read = loadmat(tmp_path / "file.mat")["words"].ravel()
    assert found["words"] == [word.item() if word.size else "" for word in read]


# -- files made by hand -------------------------------------------------------------------------


def element(kind: int, content: bytes, order: str = "<") -> bytes:
    return struct.pack(f"{order}2I", kind, len(content)) + content + bytes(-len(content) % 8)


def variable(kind: int, shape: tuple[int, ...], *content: bytes, name: bytes = b"x", order: str = "<") -> bytes:
    parts = element(6, struct.pack(f"{order}2I", kind, 0), order)
    parts += element(5, struct.pack(f"{order}{len(shape)}i", *shape), order) + element(1, name, order)
    return element(14, parts + b"".join(content), order)


def packed(data: bytes, less: int = 0) -> bytes:
    stream = zlib.compress(data)
    stream = stream[: len(stream) - less]
    return struct.pack("<2I", 15, len(stream)) + stream


def write(file: Path, data: bytes, order: str = "<") -> Path:
    version = struct.pack(f"{order}H", 0x0100) + (b"IM" if order == "<" else b"MI")
    file.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + version + data)
    return file


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_orders_of_bytes_are_read_as_scipy_reads_them(tmp_path, order) -> None:
    numbers = element(9, np.arange(6, dtype=f"{order}f8").tobytes(), order)
    file = write(tmp_path / "file.mat", variable(6, (2, 3), numbers, order=order), order)
    found = matlab_file.read(file, ["x"])["x"]
    np.testing.assert_array_equal(found, [[0, 2, 4], [1, 3, 5]])
    np.testing.assert_array_equal(found, loadmat(file)["x"])


TEXT, CELL, DOUBLE = 4, 1, 6
THREE = element(9, np.arange(3.0).tobytes())
BAD = {
    "another version": (b"", "is not a file of MATLAB's version 5 format, or not whole (it does not say that it is)"),
    "no variable": (THREE, "an element of type 9 stands where a variable should"),
    "no variable, packed": (packed(THREE), "an element of type 9 stands where a variable should"),
    "small and large": (struct.pack("<2I", 5 << 16 | 14, 0), "an element's size is wrong"),
    "cut": (variable(DOUBLE, (1, 3), THREE)[:-8], "it ends early"),
    "cut, packed": (packed(variable(DOUBLE, (1, 3), THREE), less=4), "a packed variable is not whole"),
    "one dimension": (variable(DOUBLE, (3,), THREE), "an array has the dimensions (3,)"),
    "negative": (variable(DOUBLE, (-1, 3), THREE), "an array has the dimensions (-1, 3)"),
    "a structure": (variable(2, (1, 3), THREE), "x is neither numbers nor texts"),
    "complex": (variable(DOUBLE | 1 << 11, (1, 3), THREE, THREE), "x is neither numbers nor texts"),
    "numbers as text": (variable(DOUBLE, (1, 3), element(16, b"abc")), "x is of type 16"),
    "too few numbers": (variable(DOUBLE, (2, 3), THREE), "x has 3 numbers for the dimensions (2, 3)"),
    "a cell of numbers": (variable(CELL, (1, 1), THREE), "a cell is of type 9"),
    "an array in a cell": (variable(CELL, (1, 1), variable(DOUBLE, (1, 3), THREE)), "a cell is no line of text"),
    "two lines": (variable(CELL, (1, 1), variable(TEXT, (2, 1), element(16, b"ab"))), "a cell is no line of text"),
    "a short text": (
        variable(CELL, (1, 1), variable(TEXT, (1, 3), element(16, b"ab"))),
        "a text has 2 letters for the dimensions (1, 3)",
    ),
}


@pytest.mark.parametrize(("data", "reason"), BAD.values(), ids=BAD)
def test_what_cannot_be_in_a_file_gets_a_sentence_that_names_it(tmp_path, data, reason) -> None:
    file = write(tmp_path / "file.mat", data)
    if not data:
        file.write_bytes(bytes(128))
    with pytest.raises(InputError) as error:
        matlab_file.read(file, ["x"])
    assert str(error.value).startswith(f"{file}: ")
    assert reason in str(error.value)
    assert str(error.value).endswith("; get it again")
