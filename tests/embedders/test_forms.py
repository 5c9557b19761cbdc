"""Smaller forms of vectors: by hand, by other libraries, and wherever a name works."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lib import embedders
from lib.embedders import own
from lib.embedders.foreign import ForeignEmbedder
from lib.embedders.shrunk import Shrunk
from lib.neighbors import exact
from lib.plotting import display_name
from lib.store import EmbeddingStore, fit
from tests.letters import write_letters
from tests.refusals import refused

FORMS = ["float16", "int8", "int8-codes", "int8-scale", "binary", "3d", "pca2"]
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


def test_one_scale_rounds_every_dimension_alike_and_keeps_directions(vectors) -> None:
    shrunk = form("int8-scale", vectors).shrink(vectors)
    step = np.abs(vectors).max() / 127
    np.testing.assert_allclose(shrunk, step * np.rint(vectors / step), rtol=1e-5)
    beyond = form("int8-scale", vectors).shrink(2 * vectors)
    assert np.abs(beyond).max() == pytest.approx(127 * step)


@given(
    arrays(np.float32, (5, 3), elements=st.floats(-60_000, 60_000, width=32)),
    arrays(np.float32, 4, elements=st.floats(-(2.0**100), 2.0**100, width=32)),
)
def test_a_form_is_as_near_as_it_can_be_and_keeps_what_does_not_vary(
    varied, constants
) -> None:
    vectors = np.hstack([varied, np.tile(constants, (5, 1))])
    int8 = form("int8", vectors)
    shrunk = int8.shrink(vectors)
    step = np.ptp(vectors.astype(np.float64), axis=0) / 255
    rounding = np.spacing(np.abs(vectors).max(axis=0)) + 1e-36
    assert (np.abs(shrunk - vectors) <= 0.501 * step + rounding).all()
    with np.errstate(over="ignore"):
        beyond = int8.shrink(2 * vectors + 1)  # as a query may be
    for found in (shrunk, beyond):
        np.testing.assert_array_equal(found[:, 3:], vectors[:, 3:])
    codes = form("int8-codes", vectors).shrink(vectors)
    assert (codes[:, 3:] == -128).all()
    assert (
        np.diff(np.take_along_axis(codes, vectors.argsort(0), 0), axis=0) >= 0
    ).all()
    half = form("float16", varied).shrink(varied)
    assert (np.abs(half - varied) <= np.abs(varied) * 2.0**-11 + 2.0**-25).all()


def test_zeros_added_to_vectors_change_no_neighbor_under_int8(rng) -> None:
    vectors = rng.normal(size=(60, 8)).astype(np.float32)
    padded = np.hstack([vectors, np.zeros((60, 40), np.float32)])
    expected, found = (
        exact(shrunk, shrunk, 10).ids
        for shrunk in (form("int8", each).shrink(each) for each in (vectors, padded))
    )
    np.testing.assert_array_equal(found, expected)


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
    encode = ForeignEmbedder._encode
    monkeypatch.setattr(ForeignEmbedder, "spot_check", lambda self, sentences: [])
    monkeypatch.setattr(
        ForeignEmbedder,
        "_encode",
        lambda self, some: encoded.append(len(some)) or encode(self, some),
    )
    store = EmbeddingStore(own_cache / "embeddings")
    store.embed_all([mine, *(f"{mine}@{suffix}" for suffix in FORMS)], SENTENCES)
    assert encoded == [len(SENTENCES)]
    assert store.encoded(embedders.load(f"{mine}@int8"), SENTENCES).seconds > 0


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
    assert given.name == "mine"
    assert given.settings != own.load(f"{mine}@3d", "mine").settings
    with refused("is in the registry; "):
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


def test_a_range_beyond_that_of_float32_is_refused() -> None:
    with refused("numbers more than 3.4e38 apart"):
        form("int8", np.array([[3e38], [-3e38]], np.float32))
