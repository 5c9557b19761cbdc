"""Official weight files in a data folder give the embeddings of N2O's Table 1.

The weights are small, and in exactly the official format, under the official names;
what each embedder should make of them is computed independently.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from gensim.models.fasttext import load_facebook_vectors

from audit import published
from lib import embedders
from lib.corpora import text
from tests.embedders import test_elmo, test_infersent, test_transformer, test_use
from tests.official.elmo import write_elmo
from tests.official.infersent import random_weights, write_infersent
from tests.official.static import (
    write_fasttext_bin,
    write_fasttext_vec,
    write_glove_text,
    write_word2vec_binary,
)
from tests.official.transformers import write_bert, write_gpt
from tests.official.use import deep_averaging, write_use
from tests.refusals import refused

SENTENCES = ["The dog barks at the Cat.", "a unicornish Dog , at . . . sleep", "dog"]
WORDS = [
    "the",
    "The",
    "dog",
    "Dog",
    "barks",
    "at",
    "Cat",
    "Cat.",
    "cat",
    ".",
    "a",
    "</s>",
    "<s>",
    "sleep",
]
PAPER = list(published.load("n2o_table1")["embedder"])

Expected = dict[str, np.ndarray]  # a vector for each sentence
Prepare = Callable[
    [Path], Expected
]  # writes files into a data folder and says what comes of them


@pytest.fixture
def data(data_folder) -> Path:
    for folder in ("word2vec", "glove", "fasttext", "elmo", "infersent"):
        (data_folder / folder).mkdir()
    return data_folder


def word_vectors(dim: int = 300) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(dim)
    return {word: rng.standard_normal(dim).astype(np.float32) for word in WORDS}


def means(vectors, tokenize) -> Expected:
    """The average over the words that have a vector, one after the other."""
    found = {}
    for sentence in SENTENCES:
        known = [vectors[word] for word in tokenize(sentence) if word in vectors]
        found[sentence] = np.mean(known, axis=0, dtype=np.float64)
    return found


def word2vec(folder: Path) -> Expected:
    write_word2vec_binary(
        folder / "word2vec/GoogleNews-vectors-negative300.bin.gz",
        word_vectors(),
        newline=False,
    )
    return means(word_vectors(), text.word_tokens)


def glove_6b(dim: int) -> Prepare:
    def prepare(folder: Path) -> Expected:
        write_glove_text(folder / f"glove/glove.6B.{dim}d.txt", word_vectors(dim))
        return means(word_vectors(dim), text.lower_word_tokens)

    return prepare


def glove_840b(folder: Path) -> Expected:
    # The official file has tokens with blanks in them.
    write_glove_text(
        folder / "glove/glove.840B.300d.txt",
        word_vectors() | {". . .": np.ones(300, np.float32)},
    )
    return means(word_vectors(), text.word_tokens)


def fasttext_words(name: str) -> Prepare:
    def prepare(folder: Path) -> Expected:
        write_fasttext_vec(folder / "fasttext" / name, word_vectors())
        return means(word_vectors(), str.split)

    return prepare


def fasttext_subwords(name: str) -> Prepare:
    def prepare(folder: Path) -> Expected:
        buckets = np.random.default_rng(1).standard_normal((50, 300)).astype(np.float32)
        file = folder / "fasttext" / name
        write_fasttext_bin(file, word_vectors(), buckets, 3, 6)
        return means(load_facebook_vectors(str(file)), str.split)

    return prepare


def elmo(stem: str, **sizes: int) -> Prepare:
    def prepare(folder: Path) -> Expected:
        names = f"elmo_{stem}_options.json", f"elmo_{stem}_weights.hdf5"
        files = write_elmo(folder / "elmo", *names, **sizes)
        return {
            sentence: test_elmo.by_definition(text.word_tokens(sentence), files)
            for sentence in SENTENCES
        }

    return prepare


def infersent(folder: Path) -> Expected:
    glove_840b(folder)
    weights = random_weights(300, 5)
    vectors = word_vectors()
    write_infersent(folder / "infersent/infersent1.pkl", weights)
    expected = {}
    for sentence in SENTENCES:
        tokens = ["<s>", *text.treebank_tokens(sentence), "</s>"]
        known = [word for word in tokens if word in vectors]
        expected[sentence] = test_infersent.by_hand(known, weights, vectors)
    return expected


def pooled(hidden: np.ndarray, pooling: str) -> np.ndarray:
    return {"cls": hidden[0], "last": hidden[-1], "avg": hidden.mean(axis=0)}[pooling]


def transformer(pooling: str, name: str) -> Prepare:
    is_gpt = name == "openai-gpt"
    write = write_gpt if is_gpt else write_bert
    tokens = test_transformer.PAIRS if is_gpt else test_transformer.PIECES

    def prepare(folder: Path) -> Expected:
        write(folder / name)
        hidden = partial(test_transformer.hidden_states, folder / name)
        return {
            sentence: pooled(hidden(pieces), pooling)
            for sentence, pieces in tokens.items()
        }

    return prepare


def use(name: str) -> Prepare:
    def prepare(folder: Path) -> Expected:
        tensorflow = pytest.importorskip(
            "tensorflow", reason="needs TensorFlow, which is an optional extra"
        )
        what = test_use.WORDS, test_use.ARRAYS, deep_averaging
        write_use(tensorflow, folder / name, *what)
        return {sentence: test_use.by_hand(sentence) for sentence in test_use.SENTENCES}

    return prepare


OFFICIAL: dict[str, Prepare] = {
    "w2v": word2vec,
    "glove-6b-100d": glove_6b(100),
    "glove-6b-300d": glove_6b(300),
    "glove-840b-300d": glove_840b,
    "fasttext-cc": fasttext_words("crawl-300d-2M.vec"),
    "fasttext-wiki": fasttext_words("wiki-news-300d-1M.vec"),
    "fasttext-cc-sub": fasttext_subwords("crawl-300d-2M-subword.bin"),
    "fasttext-wiki-sub": fasttext_subwords("wiki-news-300d-1M-subword.bin"),
    "elmo-small": elmo("2x1024_128_2048cnn_1xhighway"),
    "elmo-orig": elmo("2x4096_512_2048cnn_2xhighway", n_highway=2),
    "elmo-orig-5.5b": elmo("2x4096_512_2048cnn_2xhighway_5.5B", n_highway=2, seed=1),
    "bert-base-cls": transformer("cls", "bert-base-cased"),
    "bert-base-avg": transformer("avg", "bert-base-cased"),
    "bert-ft-cls": transformer("cls", "bert-ft-multinli"),
    "bert-ft-avg": transformer("avg", "bert-ft-multinli"),
    "gpt-last": transformer("last", "openai-gpt"),
    "gpt-avg": transformer("avg", "openai-gpt"),
    "infersent-v1": infersent,
    "use-dan": use("use-dan"),
    "use-trf": use("use-trf"),
}


@pytest.mark.parametrize("name", [name for name in PAPER if name != "tfidf"])
def test_the_official_file_in_a_data_folder_gives_the_embedding(name, data) -> None:
    expected = OFFICIAL[name](data)
    embedder = embedders.load(name)
    assert embedder.name == name
    vectors = embedder.encode(list(expected))
    alone = np.vstack([embedder.encode([sentence]) for sentence in expected])
    largest = max(np.abs(vector).max() for vector in expected.values())
    for found in (vectors, alone):
        np.testing.assert_allclose(
            found, [*expected.values()], atol=1e-5 * max(1, largest)
        )


def test_a_file_of_another_size_under_the_official_name_is_refused(data) -> None:
    write_glove_text(data / "glove/glove.840B.300d.txt", word_vectors(50))
    with refused("glove.840B.300d.txt: has vectors of 50 dimensions"):
        embedders.load("glove-840b-300d")
