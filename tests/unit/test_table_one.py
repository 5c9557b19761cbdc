"""Table 1 of the N2O paper: an official weight file, put in a data folder, gives its embedding.

The weights are small, and in exactly the official format, under the official names; what each embedder should make
of them is computed independently.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from gensim.corpora import Dictionary
from gensim.models import TfidfModel
from gensim.models.fasttext import load_facebook_vectors

from lib import embedders, paths, published, text
from lib.errors import InputError
from tests.official.elmo import write_elmo
from tests.official.infersent import random_weights, write_infersent
from tests.official.static import write_fasttext_bin, write_fasttext_vec, write_glove_text, write_word2vec_binary
from tests.unit import test_elmo, test_infersent, test_transformer, test_use_hub

SENTENCES = ["The dog barks at the Cat.", "a unicornish Dog , at . . . sleep", "dog"]
WORDS = ["the", "The", "dog", "Dog", "barks", "at", "Cat", "Cat.", "cat", ".", "a", "</s>", "<s>", "sleep"]
PAPER = list(published.load("n2o_table1")["embedder"])

Prepare = Callable[[Path], np.ndarray]  # writes files into a data folder and says what comes of them


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    """A data folder, with a cache of its own."""
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("SENTENCE_DATA", str(tmp_path))
    for folder in ("word2vec", "glove", "fasttext", "elmo", "infersent"):
        (tmp_path / folder).mkdir()
    return tmp_path


def word_vectors(dim: int = 300) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(dim)
    return {word: rng.standard_normal(dim).astype(np.float32) for word in WORDS}


def means(vectors, tokenize) -> np.ndarray:
    """The average over the words that have a vector, one after the other."""
    return np.array(
        [
            np.mean([vectors[word] for word in tokenize(sentence) if word in vectors], axis=0, dtype=np.float64)
            for sentence in SENTENCES
        ]
    )


def tfidf(folder: Path) -> np.ndarray:
    tokens = [text.gensim_tokens(sentence) for sentence in SENTENCES]
    dictionary = Dictionary(tokens)
    bags = [dictionary.doc2bow(sentence) for sentence in tokens]
    columns = {word: j for j, word in enumerate(sorted(dictionary.token2id))}
    expected = np.zeros((len(SENTENCES), len(columns)))
    for row, bag in zip(expected, TfidfModel(bags)[bags], strict=True):
        for id, weight in bag:
            row[columns[dictionary[id]]] = weight
    return expected


def word2vec(folder: Path) -> np.ndarray:
    write_word2vec_binary(folder / "word2vec/GoogleNews-vectors-negative300.bin.gz", word_vectors(), newline=False)
    return means(word_vectors(), text.word_tokens)


def glove_6b(dim: int) -> Prepare:
    def prepare(folder: Path) -> np.ndarray:
        write_glove_text(folder / f"glove/glove.6B.{dim}d.txt", word_vectors(dim))
        return means(word_vectors(dim), text.lower_word_tokens)

    return prepare


def glove_840b(folder: Path) -> np.ndarray:
    # The official file has tokens with blanks in them.
    write_glove_text(folder / "glove/glove.840B.300d.txt", word_vectors() | {". . .": np.ones(300, np.float32)})
    return means(word_vectors(), text.word_tokens)


def fasttext_words(name: str) -> Prepare:
    def prepare(folder: Path) -> np.ndarray:
        write_fasttext_vec(folder / "fasttext" / name, word_vectors())
        return means(word_vectors(), str.split)

    return prepare


def fasttext_subwords(name: str) -> Prepare:
    def prepare(folder: Path) -> np.ndarray:
        buckets = np.random.default_rng(1).standard_normal((50, 300)).astype(np.float32)
        file = folder / "fasttext" / name
        write_fasttext_bin(file, word_vectors(), buckets, 3, 6)
        return means(load_facebook_vectors(str(file)), str.split)

    return prepare


def elmo(stem: str, **sizes: int) -> Prepare:
    def prepare(folder: Path) -> np.ndarray:
        names = f"elmo_{stem}_options.json", f"elmo_{stem}_weights.hdf5"
        files = write_elmo(folder / "elmo", *names, **sizes)
        return np.array([test_elmo.by_definition(text.word_tokens(sentence), files) for sentence in SENTENCES])

    return prepare


def infersent(folder: Path) -> np.ndarray:
    glove_840b(folder)
    weights, vectors = random_weights(300, 5), word_vectors()
    write_infersent(folder / "infersent/infersent1.pkl", weights)
    tokens = [["<s>", *text.treebank_tokens(sentence), "</s>"] for sentence in SENTENCES]
    known = [[word for word in sentence if word in vectors] for sentence in tokens]
    return np.array([test_infersent.by_hand(words, weights, vectors) for words in known])


def bert(pooling: str, name: str = "bert-base-cased") -> Prepare:
    return lambda folder: test_transformer.bert_by_definition(folder / name, SENTENCES, pooling)


def gpt(pooling: str) -> Prepare:
    return lambda folder: test_transformer.gpt_by_definition(folder / "openai-gpt", SENTENCES, pooling)


def use(name: str) -> Prepare:
    return lambda folder: test_use_hub.by_definition(folder / f"use-{name}", name, SENTENCES)


OFFICIAL: dict[str, Prepare] = {
    "tfidf": tfidf,
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
    "bert-base-cls": bert("cls"),
    "bert-base-avg": bert("avg"),
    "bert-ft-cls": bert("cls", "bert-ft-multinli"),
    "bert-ft-avg": bert("avg", "bert-ft-multinli"),
    "gpt-last": gpt("last"),
    "gpt-avg": gpt("avg"),
    "infersent-v1": infersent,
    "use-dan": use("dan"),
    "use-trf": use("trf"),
}


def test_all_21_are_read() -> None:
    assert len(PAPER) == 21
    assert set(OFFICIAL) == set(PAPER)


@pytest.mark.parametrize("name", PAPER)
def test_the_official_file_in_a_data_folder_gives_the_embedding(name, data) -> None:
    if name.startswith("use-"):
        pytest.importorskip("tensorflow", reason="needs TensorFlow, which is an optional extra")
    expected = OFFICIAL[name](data)
    options = {"precision": "float32"} if name.startswith(("bert", "gpt")) else {}
    embedder = embedders.load(name, **options)
    assert embedder.name == name
    vectors = embedder.fit(SENTENCES).encode(SENTENCES)
    dense = vectors.toarray() if sp.issparse(vectors) else vectors
    np.testing.assert_allclose(dense, expected, atol=1e-5 * max(1, np.abs(expected).max()))


def test_a_file_of_another_size_under_the_official_name_is_refused(data) -> None:
    write_glove_text(data / "glove/glove.840B.300d.txt", word_vectors(50))
    with pytest.raises(InputError, match=r"glove\.840B\.300d\.txt: has vectors of 50 dimensions"):
        embedders.load("glove-840b-300d")
