"""Bag of words, tf-idf and projections: by hand, gensim, and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from gensim.corpora import Dictionary
from gensim.models import TfidfModel
from sklearn.decomposition import PCA

from lib import corpora
from lib.corpora import text
from lib.embedders import sparse
from lib.embedders.sparse import LSA, BagOfWords, PcaBagOfWords, TfIdf


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    return list(corpora.load("lee").sentences[:250])


def test_bag_of_words_and_tfidf_by_hand() -> None:
    corpus = ["b a b", "a c", "a a"]
    assert BagOfWords().fit_encode(corpus).toarray().tolist() == [
        [1, 2, 0],
        [1, 0, 1],
        [2, 0, 0],
    ]
    # idf: log2(3/3) = 0 for a, log2(3/1) for b and c; then unit length
    np.testing.assert_allclose(
        TfIdf().fit_encode(corpus).toarray(), [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    )


def test_tfidf_is_that_of_gensim(sentences) -> None:
    tokens = [text.gensim_tokens(sentence) for sentence in sentences]
    dictionary = Dictionary(tokens)
    bags = [dictionary.doc2bow(sentence) for sentence in tokens]
    theirs = TfidfModel(bags)
    ours = TfIdf().fit(sentences)
    words = list(ours.vocabulary)
    for bag, row in zip(bags, ours.encode(sentences).toarray(), strict=True):
        expected = {dictionary[id]: weight for id, weight in theirs[bag]}
        found = {words[j]: row[j] for j in np.flatnonzero(row)}
        assert found == pytest.approx(expected, abs=1e-6)


def test_principal_components_are_those_of_scikit_learn(sentences, monkeypatch) -> None:
    counts = BagOfWords().fit_encode(sentences).toarray().astype(float)
    theirs = PCA(10, svd_solver="full").fit_transform(counts)
    ours = PcaBagOfWords(dim=10).fit_encode(sentences)
    signs = np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_allclose(ours, theirs * signs, atol=1e-4)
    monkeypatch.setattr(sparse, "DENSE", 0)
    by_iteration = PcaBagOfWords(dim=10).fit_encode(sentences)
    np.testing.assert_allclose(by_iteration.mean(axis=0), 0, atol=1e-5)


@pytest.mark.parametrize("dense", [0, 10**7])
def test_lsa_reaches_the_best_possible_reconstruction(
    sentences, dense, monkeypatch
) -> None:
    monkeypatch.setattr(sparse, "DENSE", dense)  # 0: the method for large texts
    vectors = TfIdf().fit_encode(sentences).toarray().astype(float)
    values = np.linalg.svd(vectors, compute_uv=False)
    ours = LSA(dim=20).fit(sentences)
    rest = vectors - (vectors @ ours.directions.T) @ ours.directions
    assert np.linalg.norm(rest) == pytest.approx(
        np.sqrt((values[20:] ** 2).sum()), rel=1e-3
    )


@pytest.mark.parametrize("kind", [PcaBagOfWords, LSA])
def test_a_small_text_has_fewer_dimensions(kind) -> None:
    assert kind().fit_encode(["a b", "b c", "c d e"]).shape == (3, 3)
