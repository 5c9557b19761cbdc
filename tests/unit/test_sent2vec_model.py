"""A model gives the vectors that the authors' program prints for it.

Its embedders do so by name.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import catalog, embedders
from lib.embedders.composition import Average
from lib.embedders.sent2vec import Sent2VecTrained, tweet_tokens
from lib.run import paths
from lib.run.errors import InputError
from lib.sent2vec import Sent2Vec, binary
from lib.sent2vec.settings import Settings
from lib.store import fit
from tests.official.sent2vec import WORDS, matrices, model_bytes, write_model
from tests.refusals import refused
from tests.topics import TEXT

INPUT = matrices(len(WORDS))[0].astype(np.float64)
SMALL = {"dim": 12, "epochs": 40, "lr": 0.1, "bucket": 100, "subsample": 0.01}


def model(**what: object) -> Sent2Vec:
    return Sent2Vec(binary.parse(model_bytes(**what), "a model"))


def by_definition(tokens: list[str], word_ngrams: int, bucket: int = 7) -> np.ndarray:
    """The mean of the rows of words and hashed n-grams, in double precision."""
    ids = [WORDS.index(token) for token in tokens if token in WORDS and token != "</s>"]
    rows = list(ids)
    for start in range(len(ids)):
        for end in range(start + 2, min(start + word_ngrams, len(ids)) + 1):
            hashed = ids[start]
            for id in ids[start + 1 : end]:
                hashed = (hashed * 116049371 + id) % 2**64
            rows.append(len(WORDS) + hashed % bucket)
    return INPUT[rows].mean(axis=0) if rows else np.zeros(3)


# -- the program's numbers -------------------------------------------------------------


def test_the_examples_vectors_are_the_programs(data_file) -> None:
    found = Sent2Vec.load(data_file("sent2vec/model.bin"))
    queries = data_file("sent2vec/queries.txt").read_text(encoding="utf-8").splitlines()
    printed = np.loadtxt(data_file("sent2vec/vectors.txt"))
    vectors = found.encode(queries)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(
        vectors, printed, rtol=5e-5, atol=0
    )  # what five digits keep
    rounded = [
        [float(f"{number:.5g}") for number in vector] for vector in vectors.tolist()
    ]
    np.testing.assert_allclose(rounded, printed, rtol=0, atol=1e-9)


@given(st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=9), st.integers(1, 4))
def test_a_sentence_is_the_mean_of_its_words_and_ngrams(tokens, word_ngrams) -> None:
    found = model(word_ngrams=word_ngrams).encode([" ".join(tokens)])
    np.testing.assert_allclose(
        found, [by_definition(tokens, word_ngrams)], rtol=1e-5, atol=1e-6
    )


def test_an_item_is_one_sentence_and_only_white_space_of_ascii_parts_tokens() -> None:
    found = model().encode(
        ["the cat", " the\r\n\tcat\n", "the\u00a0cat", "The cat", "cat naïve", "\ud800"]
    )
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[2], 0)
    np.testing.assert_array_equal(found[3], INPUT[3].astype(np.float32))
    np.testing.assert_allclose(found[4], by_definition(["cat", "naïve"], 2), rtol=1e-5)
    np.testing.assert_array_equal(found[5], 0)


def test_nothing_known_gives_zeros_and_nothing_at_all_an_empty_array() -> None:
    np.testing.assert_array_equal(
        model().encode(["", "  ", "zzz unknown", "</s>", "cat"])[:4], np.zeros((4, 3))
    )
    assert model().encode([]).shape == (0, 3)
    assert model(labels=["__label__cat"]).encode(["__label__cat"]).tolist() == [
        [0, 0, 0]
    ]


def test_word_vectors_are_rows_of_the_input_matrix() -> None:
    vectors = model(words=[*WORDS, b"caf\xe9"]).word_vectors()
    assert list(vectors) == ["the", "cat", "sat", "naïve", "café"]
    np.testing.assert_array_equal(
        vectors["cat"], model(words=[*WORDS, b"caf\xe9"]).encode(["cat"])[0]
    )
    average = Average("words", model().word_vectors(), tokenize=str.split)
    np.testing.assert_allclose(
        average.encode(["the cat"]), [INPUT[[1, 3]].mean(axis=0)], rtol=1e-6
    )


# -- files -----------------------------------------------------------------------------


def test_numbers_that_are_none_are_refused() -> None:
    file = binary.parse(model_bytes(), "a model")
    broken = file.input_matrix.copy()
    broken[3, 1] = np.nan
    found = Sent2Vec(file._replace(input_matrix=broken))
    assert found.encode(["the sat"]).any()
    with refused("hold NaN or infinity"):
        found.encode(["the cat"])


# -- embedders by name -----------------------------------------------------------------

OFFICIAL = [
    f"sent2vec-{text_of}-{grams}"
    for text_of in ("wiki", "toronto", "twitter")
    for grams in ("unigrams", "bigrams")
]


@pytest.fixture
def data(tmp_path, monkeypatch) -> Path:
    """A data folder, with a cache of its own."""
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(paths, "DATA", tmp_path)
    monkeypatch.delenv(paths.DATA_VARIABLE, raising=False)
    (tmp_path / "sent2vec").mkdir()
    return tmp_path


@pytest.mark.parametrize("name", OFFICIAL)
def test_an_official_file_gives_its_embedding(name, data) -> None:
    longest = 1 if name.endswith("unigrams") else 2
    with pytest.raises(
        InputError,
        match=rf"{name} is not available; .*no sent2vec/.*github.com/epfml/sent2vec",
    ):
        embedders.load(name)
    write_model(data / catalog.get(name).files[0]["path"], word_ngrams=longest)
    embedder = embedders.load(name)
    expected = by_definition(["the", "cat", "sat"], longest)
    np.testing.assert_allclose(
        embedder.encode(["The cat, it SAT!"])[0], expected, rtol=1e-5
    )
    np.testing.assert_array_equal(embedder.encode(["", "Unknown words."]), 0)
    assert embedder.name == name


def test_a_file_of_other_ngrams_does_not_pass_for_the_official_one(data) -> None:
    write_model(data / "sent2vec" / "wiki_unigrams.bin", word_ngrams=2)
    with refused(
        r"has n-grams of up to 2 words; put the file of sent2vec-wiki-unigrams "
        r"there"
    ):
        embedders.load("sent2vec-wiki-unigrams")


def test_tweets_have_their_links_and_names_replaced() -> None:
    tweet = (
        "Hey @Bob_1, see https://x.org/a?b=c and WWW.foo.com :-) it's GOOD #Yes \ud800"
    )
    assert tweet_tokens(tweet) == [
        "hey", "<user>", ",", "see", "<url>", "and", "<url>", ":-)", "it's", "good",
        "#yes", "\ufffd",
    ]  # fmt: skip


# -- embedders trained on the text at hand ---------------------------------------------


@pytest.fixture(
    scope="module",
    params=["sent2vec-corpus-uni", "sent2vec-corpus-bi", "sent2vec-corpus-bi-l1"],
)
def trained(request) -> Sent2VecTrained:
    return embedders.load(request.param, **SMALL).fit(TEXT)


def test_what_was_trained_is_kept_in_the_cache(trained, data, monkeypatch) -> None:
    first = fit(embedders.load(trained.name, **SMALL), TEXT)
    monkeypatch.setattr(Sent2Vec, "train", None)
    second = fit(embedders.load(trained.name, **SMALL), TEXT)
    np.testing.assert_array_equal(second.encode(TEXT[:20]), first.encode(TEXT[:20]))
    np.testing.assert_array_equal(second.encode(TEXT[:20]), trained.encode(TEXT[:20]))


def test_a_trained_model_is_written_in_the_programs_format(tmp_path) -> None:
    made = Sent2Vec.train(
        TEXT,
        Settings(dim=5, min_count=2, min_target_count=2, bucket=50),
        word_ngrams=2,
        epochs=3,
    )
    made.save(tmp_path / "model.bin")
    again = Sent2Vec.load(tmp_path / "model.bin")
    header = again.header
    assert (
        header.dim,
        header.word_ngrams,
        header.bucket,
        header.epochs,
        header.min_count,
    ) == (5, 2, 50, 3, 2)
    assert again.input_matrix.shape == (again.dictionary.n_words + 51, 5)
    assert again.dictionary.words == made.dictionary.words
    np.testing.assert_array_equal(again.encode(TEXT), made.encode(TEXT))
    assert made.settings.word_ngrams == 2
    assert again.settings is None
