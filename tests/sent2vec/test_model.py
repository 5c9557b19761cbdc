"""A model gives the vectors that the authors' program prints for it.

Its embedders do so by name.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib import catalog, embedders
from lib.base import paths
from lib.embedders.sent2vec import tweet_tokens
from lib.sent2vec import Sent2Vec, binary
from lib.sent2vec.settings import Settings
from tests.copies import run
from tests.official.sent2vec import WORDS, matrices, model_bytes, write_model
from tests.refusals import refused
from tests.topics import TEXT

INPUT = matrices(len(WORDS))[0].astype(np.float64)


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
    # What five digits keep.
    np.testing.assert_allclose(found.encode(queries), printed, rtol=5e-5, atol=0)


@given(st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=9), st.integers(1, 4))
def test_a_sentence_is_the_mean_of_its_words_and_ngrams(tokens, word_ngrams) -> None:
    found = model(word_ngrams=word_ngrams).encode([" ".join(tokens)])
    np.testing.assert_allclose(
        found, [by_definition(tokens, word_ngrams)], rtol=1e-5, atol=1e-6
    )


def test_an_item_is_one_sentence_and_only_white_space_of_ascii_parts_tokens() -> None:
    items = ["the cat", " the\r\n\tcat\n", "the\u00a0cat", "\ud800"]
    found = model().encode(items)
    np.testing.assert_array_equal(found[0], found[1])
    assert not found[2:].any()


def test_word_vectors_are_rows_of_the_input_matrix_which_must_be_numbers() -> None:
    made = model(words=[*WORDS, b"caf\xe9"])
    vectors = made.word_vectors()
    assert list(vectors) == ["the", "cat", "sat", "naïve", "café"]
    np.testing.assert_array_equal(vectors["cat"], made.encode(["cat"])[0])
    file = binary.parse(model_bytes(), "a model")
    broken = file.input_matrix.copy()
    broken[3, 1] = np.nan
    with refused("contain NaN or infinity"):
        Sent2Vec(file._replace(input_matrix=broken)).encode(["the cat"])


# -- embedders by name -----------------------------------------------------------------

OFFICIAL = [
    f"sent2vec-{text_of}-{grams}"
    for text_of in ("wiki", "toronto", "twitter")
    for grams in ("unigrams", "bigrams")
]


@pytest.fixture
def data(data_folder) -> Path:
    (data_folder / "sent2vec").mkdir()
    return data_folder


@pytest.mark.parametrize("name", OFFICIAL)
def test_an_official_file_gives_its_embedding_and_no_other_passes_for_it(
    name, data
) -> None:
    longest = 1 if name.endswith("unigrams") else 2
    file = data / catalog.get(name).files[0]["path"]
    write_model(file, word_ngrams=3)
    with refused(f"has n-grams of up to 3 words; put the file for {name} there"):
        embedders.load(name)
    write_model(file, word_ngrams=longest)
    embedder = embedders.load(name)
    expected = by_definition(["the", "cat", "sat"], longest)
    found = embedder.encode(["The cat, it SAT!", "", "Unknown words."])
    np.testing.assert_allclose(found, [expected, np.zeros(3), np.zeros(3)], rtol=1e-5)
    assert embedder.name == name


def test_tweets_have_their_links_and_names_replaced() -> None:
    tweet = (
        "Hey @Bob_1, see https://x.org/a?b=c and WWW.foo.com :-) it's GOOD #Yes \ud800"
    )
    assert tweet_tokens(tweet) == [
        "hey", "<user>", ",", "see", "<url>", "and", "<url>", ":-)", "it's", "good",
        "#yes", "\ufffd",
    ]  # fmt: skip


# -- embedders trained on the text at hand ---------------------------------------------


def test_a_trained_model_is_written_in_the_programs_format(tmp_path) -> None:
    settings = Settings(dim=5, min_count=2, min_target_count=2, bucket=50)
    made = Sent2Vec.train(TEXT, settings, word_ngrams=2, epochs=3)
    made.save(tmp_path / "model.bin")
    again = Sent2Vec.load(tmp_path / "model.bin")
    assert again.header == made.header
    assert again.header[:4] == (5, 5, 3, 2)
    np.testing.assert_array_equal(again.encode(TEXT), made.encode(TEXT))


ALONE = """
import sys

class Ground:
    def find_spec(self, name, path, target=None):
        top, _, room = name.partition(".")
        if top == "lib" and room and room.split(".")[0] not in ("base", "sent2vec"):
            raise ImportError(f"{name} is out of reach")

sys.meta_path.insert(0, Ground())
from lib.sent2vec import Sent2Vec, preset

model = Sent2Vec.train(["the cat and the dog sleep"] * 50, dim=8, min_count=1, epochs=2)
model.save("model.bin")
again = Sent2Vec.load("model.bin")
assert (again.encode(["the cat"]) == model.encode(["the cat"])).all()
assert preset("wiki-bigrams").dim == 700
print(*({"torch", "spacy", "gensim", "sklearn", "transformers"} & sys.modules.keys()))
"""


# docs/sent2vec.md: "take two folders along"
def test_the_trainer_runs_with_the_rest_of_lib_out_of_reach(tmp_path) -> None:
    ended = run(tmp_path, os.environ | {"PYTHONPATH": str(paths.ROOT)}, "-c", ALONE)
    assert (ended.stderr, ended.stdout) == ("", "\n")
