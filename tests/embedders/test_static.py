"""Word vectors: all formats against gensim and definitions; cache; bad files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.models.fasttext import load_facebook_vectors
from gensim.test.utils import datapath
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.embedders import word_files
from lib.embedders.static import SubwordVectors, WordVectors
from tests.official.static import (
    write_fasttext_bin,
    write_fasttext_vec,
    write_folder,
    write_glove_text,
    write_word2vec_binary,
)
from tests.refusals import refused


def write_bin_without_ngrams(path: Path, vectors: dict[str, np.ndarray]) -> None:
    dim = len(next(iter(vectors.values())))
    write_fasttext_bin(path, vectors, np.zeros((0, dim)), 0, 0)


WRITERS = {
    "vectors.bin": write_word2vec_binary,
    "vectors.bin.gz": write_word2vec_binary,
    "google.bin": lambda path, vectors: write_word2vec_binary(
        path, vectors, newline=False
    ),
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
def cache(own_cache) -> None:
    """Each test converts its files anew."""


def load(path: Path, **options) -> WordVectors:
    return WordVectors.load(path, show_progress_bar=False, **options)


def some(rng: np.random.Generator, n: int = 50, dim: int = 3) -> dict[str, np.ndarray]:
    words = ["the", "The", "1990", ".", "naïve", "日本語", "a\u00a0b", "\u2028", "\x85"]
    words += ["\U0001f469\u200d\U0001f467"]
    words += [f"word{i}" for i in range(n - len(words))]
    return dict(zip(words, rng.normal(size=(n, dim)).astype(np.float32), strict=True))


def same(vectors: WordVectors, expected: dict[str, np.ndarray]) -> None:
    assert list(vectors) == list(vectors.words) == list(expected)
    np.testing.assert_array_equal(vectors.matrix, list(expected.values()))
    np.testing.assert_array_equal(
        [vectors[word] for word in expected], list(expected.values())
    )


# -- formats ---------------------------------------------------------------------------


WORDS = st.text(st.characters(codec="utf-8", exclude_characters=" \r\n\0"), max_size=6)


@EVERY_FORMAT
@settings(max_examples=15)
@given(words=st.lists(WORDS, min_size=1, max_size=30, unique=True))
def test_words_and_numbers_come_back_as_written_however_many_are_read_at_once(
    file, write, words, tmp_path_factory
) -> None:
    folder = tmp_path_factory.mktemp("words")
    rows = np.random.default_rng(len(words)).normal(size=(len(words), 2))
    expected = dict(zip(words, rows.astype(np.float32), strict=True))
    write(folder / file, expected)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_files, "BLOCK", 50)
        patch.setattr(word_files, "ROWS", 7)
        same(load(folder / file), expected)


TOKENS = st.text(
    st.characters(codec="utf-8", exclude_characters=" \r\n\t\0\ufeff"), min_size=1
)
PHRASES = st.lists(TOKENS, min_size=1, max_size=3).map(" ".join)


@settings(max_examples=50)
@given(
    phrases=st.lists(PHRASES, max_size=8),
    dim=st.integers(1, 4),
    mark=st.sampled_from(["", "\ufeff"]),
    has_header=st.booleans(),
    separators=st.sampled_from(["  ", "\t\t", "\t "]),  # after the word, and others
    end=st.sampled_from(["\n", "\r\n", " \n"]),
)
def test_text_is_read_however_it_is_laid_out(
    phrases, dim, mark, has_header, separators, end, tmp_path_factory
) -> None:
    words = dict.fromkeys([". . .", "5", "route 66", "0.5", "the", *phrases])
    words |= dict.fromkeys(f"word{i}" for i in range(len(words)))
    rows = np.random.default_rng(dim).normal(size=(len(words), dim)).round(4)
    after_word, between = separators
    lines = [f"{len(words)}{between}{dim}"] if has_header else []
    for word, row in zip(words, rows.tolist(), strict=True):
        lines.append(word + after_word + between.join(map(str, row)))
    file = tmp_path_factory.mktemp("words") / "own.txt"
    file.write_bytes((mark + "".join(line + end for line in lines)).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_files, "ROWS", 7)
        same(load(file), dict(zip(words, rows.astype(np.float32), strict=True)))


def test_a_mark_before_binary_vectors_is_left_out(tmp_path, rng) -> None:
    write_word2vec_binary(tmp_path / "whole.bin", some(rng))
    marked = b"\xef\xbb\xbf" + (tmp_path / "whole.bin").read_bytes()
    (tmp_path / "marked.bin").write_bytes(marked)
    same(load(tmp_path / "marked.bin"), some(np.random.default_rng(0)))


@EVERY_FORMAT
def test_vectors_are_mapped_and_named_and_known_by_words_and_numbers_only(
    file, write, tmp_path, rng
) -> None:
    expected = some(rng)
    write(tmp_path / file, expected)
    vectors = load(tmp_path / file)
    same(vectors, expected)
    assert type(vectors) is WordVectors
    assert (vectors.name, vectors.dim) == (file.split(".")[0], 3)
    assert isinstance(vectors.matrix, np.memmap)
    words, matrix = list(expected), np.array(list(expected.values()))
    assert vectors.fingerprint == WordVectors("x", words, matrix).fingerprint
    for others in ((words[::-1], matrix), (words, matrix[::-1])):
        assert vectors.fingerprint != WordVectors("x", *others).fingerprint


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # As in glove.840B; with blank lines and carriage returns; of two encodings.
        (b"the 1 2\nat name@domain.com 3 4\n", ["the", "at name@domain.com"]),
        (b"a 1 2\r\n\nb 3 4 \n \n", ["a", "b"]),
        (b"caf\xc3\xa9 1 2\nna\xefve 3 4\n", ["caf\xe9", "na\xefve"]),
    ],
)
def test_peculiar_lines_of_published_files_are_read(
    content, expected, tmp_path
) -> None:
    (tmp_path / "glove.txt").write_bytes(content)
    vectors = load(tmp_path / "glove.txt")
    same(vectors, dict(zip(expected, [[1, 2], [3, 4]], strict=True)))


@pytest.mark.parametrize("binary", [True, False])
def test_what_gensim_writes_is_read(binary, tmp_path, rng) -> None:
    expected = some(rng)
    theirs = KeyedVectors(3)
    theirs.add_vectors(list(expected), list(expected.values()))
    theirs.save_word2vec_format(tmp_path / "gensim", binary=binary)
    same(load(tmp_path / "gensim"), expected)


# -- fastText's models -----------------------------------------------------------------

UNSEEN = [
    "unseen",
    "日本語の",
    "é",
    "a",
    "\U0001f469\u200d\U0001f467",
    "x" * 300,
    "<x>",
]


def test_fasttext_vectors_are_those_of_gensim(tmp_path, rng) -> None:
    rows = {**some(rng), "</s>": np.ones(3, np.float32)}
    buckets = rng.normal(size=(1000, 3)).astype(np.float32)
    for file in ("model.bin", "model.bin.gz"):
        write_fasttext_bin(tmp_path / file, rows, buckets, 1, 4)
    ours = load(tmp_path / "model.bin.gz")
    theirs = load_facebook_vectors(str(tmp_path / "model.bin"))
    assert isinstance(ours, SubwordVectors)
    for word in [*some(rng), *UNSEEN]:
        np.testing.assert_allclose(ours[word], theirs[word], atol=1e-6)
    np.testing.assert_array_equal(ours["</s>"], 1)


def test_a_model_of_fasttext_itself_gives_the_vectors_that_it_printed() -> None:
    model = load(Path(datapath("crime-and-punishment.bin")))
    printed = load(Path(datapath("crime-and-punishment.vec")))
    assert "</s>" in model
    same(printed, {word: printed[word] for word in model})
    np.testing.assert_allclose(model.matrix, printed.matrix, rtol=5e-5)  # five digits


def test_a_word_without_ngrams_is_unknown(tmp_path, rng) -> None:
    rows = some(rng)
    write_fasttext_bin(tmp_path / "model.bin", rows, rng.normal(size=(10, 3)), 4, 6)
    vectors = load(tmp_path / "model.bin")
    assert all(word in vectors for word in ("unseen", "the", "."))
    assert not any(word in vectors for word in ("a", "</s>", 3))
    with pytest.raises(KeyError):
        vectors["a"]
    assert len(vectors) == len(rows)


# -- what is kept, and the cache -------------------------------------------------------


def test_of_a_repeated_word_the_first_row_is_kept_and_the_others_are_counted(
    tmp_path, caplog
) -> None:
    (tmp_path / "twice.txt").write_bytes(b"a 1 2\nb 3 4\na 5 6\na 7 8\nc 9 10\n")
    same(load(tmp_path / "twice.txt"), {"a": [1, 2], "b": [3, 4], "c": [9, 10]})
    assert "twice: 2 rows repeat a word; the first of each is used" in caplog.text


def test_a_second_load_does_not_read_the_file_again_until_it_changes(
    tmp_path, rng, monkeypatch
) -> None:
    write_glove_text(tmp_path / "glove.txt", some(rng))
    before = load(tmp_path / "glove.txt")
    with monkeypatch.context() as patch:
        patch.setattr(word_files, "opened", None)
        again = load(tmp_path / "glove.txt")
    assert again.fingerprint == before.fingerprint
    write_glove_text(tmp_path / "glove.txt", {"new": np.ones(3)})
    assert list(load(tmp_path / "glove.txt")) == ["new"]


# -- bad input -------------------------------------------------------------------------


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


def fasttext(path: Path, **fields) -> None:
    buckets = np.ones((4, 3))
    write_fasttext_bin(path, some(np.random.default_rng(0)), buckets, 3, 6, **fields)


def announced(header: bytes):
    """Binary vectors of 3 dimensions below another header."""

    def make(path: Path) -> None:
        write_word2vec_binary(path, some(np.random.default_rng(0)), newline=False)
        path.write_bytes(header + path.read_bytes().partition(b"\n")[2])

    return make


def two_shapes(path: Path) -> None:
    write_folder(path, some(np.random.default_rng(0)))
    np.save(path / "tiny_emb.npy", np.zeros((7, 3), np.float32))


BAD = {
    "nothing": (lambda path: None, "no such file"),
    "empty": (text(""), "begins with a line for 0 dimensions"),
    "web page": (text("\n<!DOCTYPE html><html>404</html>"), "is a saved web page"),
    "folder": (
        lambda path: path.mkdir(),
        "has no *_emb.npy with its *_index.parquet",
    ),
    "folder of two": (two_shapes, "matrix of shape (7, 3) for 50 words"),
    "binary, cut": (
        cut(write_word2vec_binary, 9),
        "holds 49 words, but its header announces 50",
    ),
    "gzip, cut": (cut(write_word2vec_binary, 30, "whole.gz"), "give a whole file"),
    "text, cut": (
        text("a 1 2 3\nb 1 2 3\nc 1"),
        "line 3 is not a word and 3 numbers: b'c 1'",
    ),
    "text, one number more": (
        text("a 1 2\nb 1 2\nc 1 2 3"),
        "line 3 is not a word and 2 numbers: b'c 1 2 3'",
    ),
    "text, no header": (
        text("5 4 1\nthe 1 2 3 4\nof 1 2 3 4\n"),
        "line 1 is not a word and 4 numbers: b'5 4 1",
    ),
    "text, header of fewer": (
        text("2 3\nthe .1 .2 .3 .4\nof .1 .2 .3 .4\n"),
        "line 2 is not a word and 3 numbers: b'the .1",
    ),
    "text, header of more": (
        text("1 3\nthe 0.1 0.2\n"),
        "line 2 is not a word and 3 numbers: b'the 0.1",
    ),
    "text, a table": (
        text("0\tabandon\t500\n1\tabate\t9\n"),
        "line 1 is not a word and numbers: b'0\\tabandon",
    ),
    "text, commas": (text("a,1,2\n"), "line 1 is not a word and numbers: b'a,1,2"),
    "text, commas and blanks": (
        text("the, 0.1, 0.2\nof, 0.3, 0.4\n"),
        "line 1 is not a word and numbers: b'the, 0.1,",
    ),
    "text, sentences": (
        text("It was 1999\nWe met in 2001\n"),
        "line 1 is not a word and numbers: b'It was",
    ),
    "text, columns of a table": (
        text("word\t0\t1\t2\nthe\t0.1\t0.2\t0.3\nof\t0.1\t0.2\t0.3\n"),
        "line 1 is not a word and numbers: b'word\\t0",
    ),
    "text, carriage returns": (
        text("2 2\rthe 0.1 0.2\rof 0.3 0.4\r"),
        "line 1 is not a word and 2 numbers: b'2 2\\rthe",
    ),
    "binary, header of fewer": (
        announced(b"50 2\n"),
        "holds more than the 50 words of 2 numbers that its header announces",
    ),
    "binary, header of more": (announced(b"50 4\n"), "words, but its header announces"),
    "text, NaN": (text("a 1 2\nb nan 2\n"), "contains vectors with NaN or infinity"),
    "fastText, new": (
        lambda path: fasttext(path, version=13),
        "has version 13 of fastText's format",
    ),
    "fastText, labels": (lambda path: fasttext(path, model=3), "is a classifier or"),
    "fastText, cut in input": (cut(write_bin_without_ngrams, 700), "is cut short"),
}


@pytest.mark.parametrize(("make", "message"), BAD.values(), ids=BAD)
def test_a_bad_file_gets_a_sentence_that_names_it(make, message, tmp_path) -> None:
    make(tmp_path / "given")
    for part in (message, str(tmp_path / "given")):
        with refused(part):
            load(tmp_path / "given")
