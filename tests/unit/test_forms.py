"""Smaller forms of vectors: by hand, by other libraries, and wherever a name works."""

from __future__ import annotations

import numpy as np
import pytest

from lib import embedders
from lib.embedders import own
from lib.embedders.shrunk import Shrunk
from lib.plotting import display_name
from lib.store import EmbeddingStore, fit
from tests.letters import write_letters
from tests.refusals import refused

FORMS = ["float16", "int8", "int8-codes", "binary", "3d", "pca2"]
SENTENCES = [
    f"{word} {number} of them" for word in ("red", "blue") for number in "1234"
]


@pytest.fixture
def mine(tmp_path, own_cache) -> str:
    return write_letters(tmp_path / "me@home" / "mine.py")  # a path may have an @, too


@pytest.fixture
def vectors(rng) -> np.ndarray:
    scales = np.array([1, 0.1, 5, 0, 2, 3, 1, 1])
    return (rng.normal(size=(40, 8)) * scales + 0.3).astype(np.float32)


def form(suffix: str, vectors: np.ndarray) -> Shrunk:
    """A form that has learned from these vectors."""
    base = embedders.load("pca-bow-8d")
    maker, numbers = embedders.form_of("embedder", "x", suffix)
    made = maker(base, *numbers)
    made.learn(vectors, "text")
    return made


# -- what a form is --------------------------------------------------------------------


def test_codes_are_those_of_sentence_transformers(vectors) -> None:
    from sentence_transformers.util.quantization import quantize_embeddings

    other = vectors[:10] * 1.5  # beyond the range, too
    expected = quantize_embeddings(other, "int8", calibration_embeddings=vectors)
    codes = form("int8-codes", vectors).shrink(other)
    np.testing.assert_array_equal(codes, expected.astype(np.float32))
    signs = np.packbits(form("binary", vectors).shrink(other) > 0, axis=1)
    np.testing.assert_array_equal(signs, quantize_embeddings(other, "ubinary"))
    int8 = form("int8", vectors)
    assert (np.abs(int8.shrink(vectors) - vectors) <= 0.51 * int8.step).all()


def test_components_are_those_of_scikit_learn(vectors) -> None:
    from sklearn.decomposition import PCA

    expected = vectors @ PCA(3).fit(vectors).components_.T
    found = form("pca3", vectors).shrink(vectors)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-4)


def test_the_others_by_hand() -> None:
    some = np.array([[0.5, -2, 0, 1.0002], [1, 0.25, 3, -1]], np.float32)
    assert form("binary", some).shrink(some).tolist() == [[1, -1, -1, 1], [1, 1, 1, -1]]
    assert form("3d", some).shrink(some).tolist() == some[:, :3].tolist()
    rounded = form("float16", some).shrink(some)
    np.testing.assert_array_equal(rounded, some.astype(np.float16))


def test_many_rows_are_shrunk_as_few_are(vectors, monkeypatch) -> None:
    for suffix in FORMS:
        whole = form(suffix, vectors).shrink(vectors)
        with monkeypatch.context() as patch:
            patch.setattr("lib.embedders.shrunk.ROWS", 7)
            parts = form(suffix, vectors).shrink(vectors)
        np.testing.assert_allclose(parts, whole, rtol=1e-4, atol=1e-4)
        assert parts.dtype == np.float32


# -- wherever a name works -------------------------------------------------------------


@pytest.mark.parametrize("suffix", [*FORMS, "3d@int8"])
def test_store_fit_encode_and_restore_agree(mine, own_cache, suffix) -> None:
    name = f"{mine}@{suffix}"
    plain = embedders.load(name).fit_encode(SENTENCES)
    store = EmbeddingStore(own_cache / "embeddings")
    np.testing.assert_array_equal(store.embed(embedders.load(name), SENTENCES), plain)
    fitted = fit(embedders.load(name), SENTENCES)
    for some in (fitted.encode(SENTENCES[2:5]), store.embed(fitted, SENTENCES[2:5])):
        np.testing.assert_allclose(some, plain[2:5], atol=1e-6)
    again = embedders.load(name).restore(fitted.state(), fitted.fitted_on)
    np.testing.assert_array_equal(again.encode(SENTENCES), plain)


def test_the_text_is_encoded_once_for_all_forms(mine, own_cache, monkeypatch) -> None:
    encoded = []
    encode = own.Own._encode
    monkeypatch.setattr(
        own.Own, "_encode", lambda self, s: encoded.append(len(s)) or encode(self, s)
    )
    store = EmbeddingStore(own_cache / "embeddings")
    store.embed_all([mine, *(f"{mine}@{suffix}" for suffix in FORMS)], SENTENCES)
    assert encoded == [len(SENTENCES)]
    assert store.seconds(embedders.load(f"{mine}@int8"), SENTENCES) > 0
    assert store.seconds(embedders.load(mine), SENTENCES[:3]) is None


def test_a_form_of_an_embedder_that_learns_knows_its_text(own_cache) -> None:
    name = "pca-bow-3d"
    store = EmbeddingStore(own_cache / "embeddings")
    store.embed(embedders.load(name), SENTENCES)  # now stored, so not fitted below
    shrunk = embedders.load(f"{name}@int8")
    searched = store.embed(shrunk, SENTENCES)
    asked = store.embed(fit(shrunk, SENTENCES), SENTENCES[:2])
    np.testing.assert_allclose(asked, searched[:2], atol=1e-6)
    with refused("not fitted"):
        embedders.load(f"{name}@int8").encode(SENTENCES)


def test_the_kind_and_the_name_are_those_of_the_model() -> None:
    assert embedders.kind("wordllama@int8") == embedders.kind("wordllama")
    assert embedders.family("wordllama@64d@int8") == embedders.family("wordllama")
    assert embedders.related("wordllama@64d", "wordllama")
    assert embedders.missing(["wordllama@binary"]) == {}
    assert embedders.load("pca-bow-8d@4d@int8").bits == 8
    assert embedders.load("pca-bow-8d@binary@4d").bits == 1
    assert display_name("glove-6b-50d+sif@64d@int8") == "GloVe + SIF, 64d, int8"


def test_situate_and_own_take_forms_too(mine) -> None:
    given = own.load(f"{mine}@2d", "mine")
    assert given.encode(SENTENCES).shape == (len(SENTENCES), 2)
    assert given.cached_as != own.load(f"{mine}@3d", "mine").cached_as
    with refused("one of the registry's"):
        own.load("minilm-avg@int8")


# -- refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("minilm-avg@int4", "no form '@int4'; accepted: @float16, @int8, "),
        ("minilm@int8", "'minilm' is not known; did you mean minilm-"),
        ("tfidf@int8", "tfidf@int8: the vectors of tfidf are sparse; use a form only"),
        ("wordllama@257d", "have 256 dimensions; give no more than that"),
        ("wordllama@pca20", "8 sentences have fewer than 20 principal components"),
    ],
)
def test_a_form_that_cannot_be_gets_a_sentence(name, message) -> None:
    with refused(message):
        embedders.load(name).fit_encode(SENTENCES)


def test_a_number_too_large_for_16_bits_is_refused() -> None:
    with refused("beyond 65504"):
        form("float16", np.ones((2, 2))).shrink(np.array([[1e6, 0.0]]))
