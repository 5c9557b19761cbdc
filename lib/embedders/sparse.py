"""Vocabulary-sized sparse vectors, bag of words and tf-idf, and their projections to few dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from lib.corpora import text
from lib.embedders.base import Embedder, Tokenizer
from lib.embedders.registry import CORPUS, SPARSE, embedder
from lib.run.errors import InputError

DIM = 300
GENSIM = "LGPL-2.1 (program)"
DENSE = 10**7  # numbers in a matrix whose singular value decomposition is computed in full
PROJECTION = ("directions", "offset")  # what is learned of it
OVERSAMPLING, ITERATIONS = 20, 10  # of the randomized one


@embedder("bow", SPARSE, None, "word counts", license=GENSIM)
class BagOfWords(Embedder):
    """How often each word of the fitted vocabulary occurs in the sentence; other words are skipped.

    Parameters
    ----------
    tokenize : callable
        From a sentence to its tokens.
    name : str
    """

    version = 2
    libraries = ("gensim",)
    parameters = ("tokenize",)
    needs_fit = True
    learned = ("vocabulary",)
    name = "bow"

    def __init__(self, tokenize: Tokenizer = text.gensim_tokens, name: str = "") -> None:
        self.name, self.tokenize = name or self.name, tokenize
        self.vocabulary: dict[str, int] = {}

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        words = sorted({token for sentence in sentences for token in self.tokenize(sentence)})
        if not words:
            raise InputError(f"{self.name}: the text has no words; fit it on more text")
        self.vocabulary = {word: j for j, word in enumerate(words)}

    def _encode(self, sentences: Sequence[str]) -> sp.csr_array:
        from sklearn.feature_extraction.text import CountVectorizer

        counter = CountVectorizer(analyzer=self.tokenize, vocabulary=self.vocabulary, dtype=np.float32)
        return sp.csr_array(counter.transform(sentences))


@embedder("tfidf", SPARSE, None, "tf-idf, idf of the corpus at hand", license=GENSIM)
class TfIdf(BagOfWords):
    """gensim's tf-idf, each sentence a document: count times log2(sentences / sentences with the word), unit length.

    The idf is learned from the fitted text, as in appendix A of the N2O paper. A word of every sentence weighs nothing.
    """

    learned = ("vocabulary", "idf")
    name = "tfidf"

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        super()._fit(sentences, show_progress_bar)
        with_the_word = np.diff((super()._encode(sentences) > 0).tocsc().indptr)
        self.idf = np.log2(len(sentences) / with_the_word)

    def _encode(self, sentences: Sequence[str]) -> sp.csr_array:
        weighted = sp.csr_array(super()._encode(sentences).astype(np.float64) @ sp.diags_array(self.idf))
        weighted.eliminate_zeros()
        norms = np.sqrt(weighted.power(2).sum(axis=1))
        return sp.csr_array(sp.diags_array(1 / np.where(norms > 0, norms, 1.0)) @ weighted, dtype=np.float32)


class _Projected(BagOfWords):
    """Sparse vectors projected onto the first singular directions of the fitted text.

    Parameters
    ----------
    dim : int
        Number of directions; fewer where the fitted text does not span so many.
    seed : int
        Of the randomized singular value decomposition of a large text.
    tokenize : callable
        From a sentence to its tokens.
    name : str
    """

    parameters = ("tokenize", "dim", "seed")
    centered: bool

    def __init__(
        self, dim: int = DIM, seed: int = 1, tokenize: Tokenizer = text.gensim_tokens, name: str = "projected"
    ) -> None:
        super().__init__(tokenize, name)
        self.dim, self.seed = dim, seed

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        super()._fit(sentences, show_progress_bar)
        vectors = super()._encode(sentences).astype(np.float64)
        mean = vectors.mean(axis=0) if self.centered else np.zeros(vectors.shape[1])
        self.directions = _singular_directions(vectors, mean, self.dim, self.seed)
        self.offset = self.directions @ mean

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        vectors = super()._encode(sentences).astype(np.float64)
        return (vectors @ self.directions.T - self.offset).astype(np.float32)


@embedder("pca-bow", CORPUS, DIM, "principal components of word counts", license=GENSIM, sized=True)
class PcaBagOfWords(_Projected):
    """Principal components of bags of words (semantic localization paper, section 3.2.4).

    Since they are centered, a sentence without known words is not a zero vector but minus the mean's projection.
    """

    learned = (*BagOfWords.learned, *PROJECTION)
    centered = True


@embedder("lsa-corpus", CORPUS, DIM, "latent semantic analysis of tf-idf", license=GENSIM, sized=True)
class LSA(_Projected, TfIdf):
    """Latent semantic analysis: tf-idf vectors on the first singular directions of the fitted text, not centered."""

    learned = (*TfIdf.learned, *PROJECTION)
    centered = False


def _singular_directions(vectors: sp.csr_array, mean: np.ndarray, dim: int, seed: int) -> np.ndarray:
    """float64[dim, words]: the first right singular vectors of `vectors` less `mean`."""
    from threadpoolctl import threadpool_limits

    dim = min(dim, *vectors.shape)
    # One thread: the same sums on every machine, and small factorizations gain nothing from more.
    with threadpool_limits(1, user_api="blas"):
        if np.prod(vectors.shape) <= DENSE:
            return np.linalg.svd(vectors.toarray() - mean, full_matrices=False).Vh[:dim]
        return _subspace_iteration(vectors, mean, dim, seed)


def _subspace_iteration(vectors: sp.csr_array, mean: np.ndarray, dim: int, seed: int) -> np.ndarray:
    """Halko, Martinsson and Tropp 2011, algorithm 4.4. The mean enters products alone: the matrix stays sparse."""
    start = np.random.default_rng(seed).standard_normal((vectors.shape[1], min(dim + OVERSAMPLING, *vectors.shape)))
    basis = np.linalg.qr(start).Q
    for _ in range(ITERATIONS):
        left = np.linalg.qr(vectors @ basis - mean @ basis).Q
        basis = np.linalg.qr(vectors.T @ left - np.outer(mean, left.sum(axis=0))).Q
    projected = vectors @ basis - mean @ basis
    _, rotation = np.linalg.eigh(projected.T @ projected)
    return (basis @ rotation[:, ::-1][:, :dim]).T
