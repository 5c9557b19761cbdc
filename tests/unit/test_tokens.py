"""Tokenizing once for all embedders, and looking vectors up once for each word."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lib.embedders.composition import Average
from lib.embedders.static import WordVectors
from lib.embedders.tokens import Lexicon, Tokenization

SENTENCES = ["a b a", "", "c", "b c d e"]


class Counting:
    """A tokenizer that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, sentence: str) -> list[str]:
        self.calls += 1
        return sentence.split()


def test_ids_and_starts_by_hand() -> None:
    tokens = Tokenization(str.split).of(SENTENCES)
    assert tokens.ids.tolist() == [0, 1, 0, 2, 1, 2, 3, 4]
    assert tokens.starts.tolist() == [0, 3, 3, 4, 8]


def test_two_embedders_tokenize_a_batch_once() -> None:
    tokenize = Counting()
    vectors = {"a": np.ones(2, np.float32)}
    for name in ("one", "other"):
        Average(name, vectors, tokenize).encode(SENTENCES)
    assert tokenize.calls == len(SENTENCES)


def test_what_is_remembered_is_bounded(monkeypatch) -> None:
    monkeypatch.setattr(Tokenization, "KEPT", 10)
    tokenize = Counting()
    tokens = Tokenization(tokenize)
    for _ in range(2):
        for i in range(20):
            tokens.of([f"x{i} y z"])
    assert tokenize.calls == 40


@given(st.lists(st.lists(st.sampled_from("abcdefz"), max_size=5), max_size=10), st.integers(0, 6))
def test_a_matrix_and_a_dict_give_the_same_vectors(sentences, in_matrix) -> None:
    rng = np.random.default_rng(0)
    vectors = {word: rng.standard_normal(3).astype(np.float32) for word in "abcdef"[: max(in_matrix, 1)]}
    stored = WordVectors("stored", list(vectors), np.array(list(vectors.values())))
    texts = [" ".join(words) for words in sentences]
    np.testing.assert_array_equal(
        Average("x", vectors, str.split).encode(texts), Average("y", stored, str.split).encode(texts)
    )
    for mapping in (vectors, stored):
        gathered, starts = Lexicon(mapping, str.split).sequences(texts)
        expected = [vectors[word] for words in sentences for word in words if word in vectors]
        np.testing.assert_array_equal(gathered, np.array(expected, np.float32).reshape(-1, 3))
        assert np.diff(starts).tolist() == [sum(word in vectors for word in words) for words in sentences]
