"""Stored vectors take an embedder's place, as in a browser."""

from __future__ import annotations

import numpy as np
import pytest

from lib.base.errors import InputError
from lib.embedders import words
from lib.embedders.composition import Average
from tools.lite import stored

SENTENCES = ["A ferry leaves.", "The boat sets off."]


@pytest.fixture
def vectors(tmp_path, monkeypatch, rng):
    """Vectors of an embedder whose model need not be here."""
    vectors = rng.normal(size=(2, 4)).astype(np.float16)
    key = stored.key("infersent-v1", SENTENCES)
    np.savez(tmp_path / "stored.npz", **{key: vectors})
    monkeypatch.setattr(stored, "FILE", tmp_path / "stored.npz")
    stored._arrays.cache_clear()
    yield vectors
    stored._arrays.cache_clear()


def test_they_are_returned_for_their_sentences_and_no_others(vectors) -> None:
    assert list(stored.missing(["infersent-v1", "elmo-small"])) == ["elmo-small"]
    loaded = stored.load("infersent-v1")
    encoded = loaded.fit_encode(SENTENCES)
    assert encoded.dtype == np.float32
    assert np.array_equal(encoded, vectors.astype(np.float32))
    with pytest.raises(InputError, match="no vectors are stored"):
        loaded.encode(SENTENCES[::-1])


def test_word_vectors_average_to_the_same_without_torch(rng, monkeypatch) -> None:
    vectors = {word: rng.normal(size=5).astype(np.float32) for word in "abcdef"}
    average = Average("mean", vectors, str.split)
    sentences = ["a b a c", "", "unknown", "f"]
    with_torch = average.encode(sentences)
    monkeypatch.setattr(words, "find_spec", lambda name: None)
    without = average.encode(sentences)
    assert without.dtype == np.float32
    assert np.allclose(without, with_torch, atol=1e-6)
