"""Arbitrary sentences yield finite vectors of the right shape or one message.

No neighbor list is poisoned.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from lib import corpora, embedders
from lib.base import paths
from lib.base.errors import InputError
from lib.corpora import text
from lib.corpora.segmentation import segment
from lib.embedders import own
from tests.copies import new_cache
from tests.sizes import CASES, NIGHTLY
from tests.trust import wild

TRAININGS = CASES // 100 if NIGHTLY else 1  # of what is trained anew for each case
TEXT = [
    "The cat sat on the mat .", "A dog sat on the mat .",
    "In the beginning was the word .", "the dog and the cat",
    "the word was with the dog", "the cat and the word",
    "God said : the dog is a cat .", "a cat on a mat and a dog",
]  # fmt: skip
NAMES = [
    "bow", "tfidf", "lsa-corpus-3d", "glove-6b-50d+sif", "glove-6b-50d+usif",
    "glove-6b-50d+power-means", "glove-6b-50d+random-lstm-16d", "wordllama",
    "w2v-corpus-8d", "fasttext-corpus-sub-8d", "sent2vec-corpus-bi-8d",
    "pv-dbow-corpus-8d", "urae-corpus-balanced-8d", "own",
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "CACHE", new_cache(tmp_path_factory.mktemp("cache")))
        yield


def fitted(name: str, sentences: list[str]):
    if name == "own":
        return own.load(
            lambda sentences: [[len(sentence), 1.0] for sentence in sentences], "own"
        )
    return embedders.load(name).fit(sentences)


def encode(embedder, batch: list[str]) -> np.ndarray:
    vectors = embedder.encode(batch)
    assert vectors.dtype == np.float32
    vectors = vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors)
    assert vectors.shape[0] == len(batch)
    assert np.isfinite(vectors).all()
    return vectors


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_of_anything_is_encoded_and_no_vector_depends_on_its_batch(
    name,
) -> None:
    embedder = fitted(name, TEXT)
    plain = encode(embedder, [TEXT[0]])[0]

    @settings(max_examples=CASES if not name.startswith(("pv-", "urae")) else TRAININGS)
    @given(wild.batches)
    def every(batch: list[str]) -> None:
        beside = encode(embedder, [TEXT[0], *batch])[0]
        assert np.abs(beside - plain).max() <= 1e-5 * np.linalg.norm(plain)

    every()


@pytest.mark.parametrize("name", NAMES)
def test_anything_can_be_fitted_on_or_is_refused(name) -> None:
    encode(fitted(name, [*TEXT, *wild.SENTENCES] * 2), wild.SENTENCES)

    @settings(max_examples=TRAININGS)
    @given(wild.batches)
    def every(batch: list[str]) -> None:
        try:
            embedder = fitted(name, batch * 2)
        except InputError:
            return
        encode(embedder, [*batch, *TEXT])

    every()


@settings(max_examples=CASES)
@given(wild.sentences)
def test_text_is_segmented_without_losing_any(sentence) -> None:
    found = segment(sentence)
    # But for a last quotation mark that nothing follows: it opens no sentence.
    kept, given_ones = (
        "".join(part.replace('"', "").split()) for part in ("".join(found), sentence)
    )
    assert kept == given_ones
    assert all(part == text.squeeze(part) and part for part in found)


# README: "Set `corpus_name = "lines:PATH"` in a notebook's parameters cell, for a file
# with one sentence a line"
@settings(max_examples=max(1, CASES // 5))
@given(wild.batches)
def test_a_file_of_any_lines_is_a_corpus_or_is_refused(batch) -> None:
    file = paths.CACHE / "lines.txt"
    file.write_bytes("\n".join([*batch, *TEXT]).encode("utf-8", "surrogatepass"))
    try:
        corpus = corpora.load(f"lines:{file}")
    except InputError:
        return
    assert len(set(corpus.sentences)) == len(corpus) == len(corpus.documents)
    assert all(
        sentence == text.squeeze(sentence) and sentence for sentence in corpus.sentences
    )
