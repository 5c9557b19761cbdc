"""Model files of the authors' program are read without a copy.

They are written byte for byte and refused in one sentence.
"""

from __future__ import annotations

import io
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.sent2vec import Sent2Vec, binary
from tests.official.sent2vec import (
    WORDS,
    head_bytes,
    matrices,
    model_bytes,
    write_sparse_model,
)
from tests.refusals import refused

WHOLE = model_bytes(labels=["__label__x"])


def written(model: binary.ModelFile) -> bytes:
    stream = io.BytesIO()
    binary.write(stream, model)
    return stream.getvalue()


def test_the_example_is_written_as_it_was_read(data_file, tmp_path) -> None:
    file = data_file("sent2vec/model.bin")
    Sent2Vec.load(file).save(tmp_path / "again.bin")
    assert (tmp_path / "again.bin").read_bytes() == file.read_bytes()


@given(
    st.lists(
        st.binary(max_size=5).map(lambda word: word.replace(b"\0", b"0")),
        min_size=1,
        max_size=6,
    ),
    st.lists(st.text("xyzü", max_size=4), max_size=3),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(1, 9),
)
def test_what_was_read_is_written_byte_for_byte(
    words, labels, dim, word_ngrams, bucket
) -> None:
    data = model_bytes(words, labels, dim=dim, word_ngrams=word_ngrams, bucket=bucket)
    model = binary.parse(data, "a file")
    expected = matrices(len(words), dim, bucket)
    np.testing.assert_array_equal(model.input_matrix, expected[0])
    np.testing.assert_array_equal(model.output_matrix, expected[1])
    assert written(model) == data


def test_a_large_model_is_not_read_into_memory(tmp_path) -> None:
    file = write_sparse_model(tmp_path / "model.bin", dim=500, bucket=500_000)
    assert file.stat().st_size > 1_000_000_000
    tracemalloc.start()
    model = binary.read(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    assert model.input_matrix.shape == (500_007, 500)
    assert model.input_matrix[[0, 5, 6, -1], 0].tolist() == [1, 1, 0, 0]
    assert not model.input_matrix.flags.writeable


def test_the_row_without_use_may_be_missing() -> None:
    shorter = matrices(len(WORDS))[0][:-1]
    parts = [head_bytes(), struct.pack("<B2q", 0, *shorter.shape), shorter.tobytes()]
    data = b"".join([*parts, model_bytes()[-(17 + 4 * 3 * len(WORDS)) :]])
    model = binary.parse(data, "a file")
    np.testing.assert_array_equal(model.input_matrix, shorter)
    assert written(model) == data


# -- files that are not whole, or something else ---------------------------------------


def test_a_file_that_was_cut_short_anywhere_gets_a_sentence() -> None:
    for length in range(len(WHOLE)):
        with refused("a file: is cut short; get the file again"):
            binary.parse(WHOLE[:length], "a file")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<!DOCTYPE html><html>", "is not a Sent2Vec model"),
        (
            model_bytes(version=12),
            "has version 12 of the format; give a file of version 11",
        ),
        (model_bytes(model=1), "is a fastText model of kind 1"),
        (model_bytes(quantized=(0, 1)), "is a quantized model"),
        (WHOLE + b"\n", "continues after its output matrix"),
        (head_bytes(bucket=0), "is damaged, its header says 3 dimensions, 0 buckets"),
        (
            head_bytes() + struct.pack("<B2q", 0, 14, 4),
            "is damaged, a matrix has 14 rows of 4 numbers, not 14 of 3",
        ),
        (
            WHOLE.replace(struct.pack("<qb", 98, 0), struct.pack("<qb", -98, 0)),
            "is damaged, its dictionary has negative counts",
        ),
    ],
)
def test_what_is_no_model_gets_a_sentence(data, message) -> None:
    with refused(f"a file: {message}"):
        binary.parse(data, "a file")


def test_files_that_cannot_be_read_or_written_get_a_sentence(tmp_path) -> None:
    (tmp_path / "empty.bin").touch()
    with refused("empty.bin: is cut short"):
        binary.read(tmp_path / "empty.bin")
    with refused("nowhere.bin: cannot be read (No such file or directory)"):
        binary.read(tmp_path / "nowhere.bin")
    with refused("cannot be written (No such file or directory)"):
        Sent2Vec(binary.parse(WHOLE, "a file")).save(tmp_path / "no" / "folder.bin")
