"""Sparse vectors of the size of the vocabulary, and their projections.

Bag of words and tf-idf, also projected to few dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from lib.base.environment import single_threaded
from lib.base.errors import InputError
from lib.corpora import text
from lib.embedders.base import Embedder, Tokenizer
from lib.embedders.kinds import (
    HERE,
    NO_TRAINING,
    PROJECTED_COUNTS,
    RECONSTRUCTION,
    WORD_COUNTS,
    Kind,
)
from lib.embedders.registry import CORPUS, SPARSE, embedder

DIM = 300
GENSIM = "LGPL-2.1 (program)"
# Numbers in a matrix whose singular value decomposition is computed in full.
DENSE = 10**7
PROJECTION = ("directions", "offset")  # what is learned of it
# Of the randomized one.
OVERSAMPLING = 20
ITERATIONS = 10
COUNTS = Kind(
    WORD_COUNTS, NO_TRAINING, reads_order=False, method="word counts", text=HERE
)
PROJECTED = Kind(
    PROJECTED_COUNTS,
    RECONSTRUCTION,
    reads_order=False,
    method="projected word counts",
    text=HERE,
)


@embedder("bow", SPARSE, None, "word counts", kind=COUNTS, license=GENSIM)
class BagOfWords(Embedder):
    """Counts of the fitted vocabulary's words in a sentence; others are skipped.

    Parameters
    ----------
    tokenize : callable
        From a sentence to its tokens.
    name : str
    """

    version = 2
    libraries = ("gensim",)
    parameters: Sequence[str] = ("tokenize",)
    needs_fit = True
    learned: Sequence[str] = ("vocabulary",)
    name = "bow"

    def __init__(
        self, tokenize: Tokenizer = text.gensim_tokens, name: str = ""
    ) -> None:
        self.name = name or self.name
        self.tokenize = tokenize
        self.vocabulary: dict[str, int] = {}

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        words = set()
        for sentence in sentences:
            words.update(self.tokenize(sentence))
        if not words:
            raise InputError(f"{self.name}: the text has no words; fit it on more text")
        self.vocabulary = {word: j for j, word in enumerate(sorted(words))}

    def _encode(self, sentences: Sequence[str]) -> sp.csr_array:
        from sklearn.feature_extraction.text import CountVectorizer

        counter = CountVectorizer(
            analyzer=self.tokenize, vocabulary=self.vocabulary, dtype=np.float32
        )
        return sp.csr_array(counter.transform(sentences))


@embedder(
    "tfidf",
    SPARSE,
    None,
    "tf-idf, idf of the corpus at hand",
    kind=COUNTS,
    license=GENSIM,
)
class TfIdf(BagOfWords):
    """gensim's tf-idf, with each sentence as a document.

    A word's weight is count times log2(sentences / sentences with the word); vectors
    have unit length. The idf is learned from the fitted text, as in appendix A of the
    N2O paper. A word of every sentence weighs nothing.
    """

    learned: Sequence[str] = ("vocabulary", "idf")
    name = "tfidf"

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        super()._fit(sentences, show_progress_bar)
        occurs = super()._encode(sentences) > 0
        with_the_word = np.diff(occurs.tocsc().indptr)
        self.idf = np.log2(len(sentences) / with_the_word)

    def _encode(self, sentences: Sequence[str]) -> sp.csr_array:
        counts = super()._encode(sentences).astype(np.float64)
        weighted = sp.csr_array(counts @ sp.diags_array(self.idf))
        weighted.eliminate_zeros()
        norms = np.sqrt(weighted.power(2).sum(axis=1))
        factors = 1 / np.where(norms > 0, norms, 1.0)
        return sp.csr_array(sp.diags_array(factors) @ weighted, dtype=np.float32)


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
        self,
        dim: int = DIM,
        seed: int = 1,
        tokenize: Tokenizer = text.gensim_tokens,
        name: str = "projected",
    ) -> None:
        super().__init__(tokenize, name)
        self.dim = dim
        self.seed = seed

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        super()._fit(sentences, show_progress_bar)
        vectors = super()._encode(sentences).astype(np.float64)
        mean = vectors.mean(axis=0) if self.centered else np.zeros(vectors.shape[1])
        self.directions = _singular_directions(vectors, mean, self.dim, self.seed)
        self.offset = self.directions @ mean

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        vectors = super()._encode(sentences).astype(np.float64)
        return (vectors @ self.directions.T - self.offset).astype(np.float32)


@embedder(
    "pca-bow",
    CORPUS,
    DIM,
    "principal components of word counts",
    kind=PROJECTED,
    license=GENSIM,
    sized=True,
)
class PcaBagOfWords(_Projected):
    """Principal components of bags of words (localization paper, section 3.2.4).

    Since they are centered, a sentence without known words is not a zero vector but
    minus the mean's projection.
    """

    learned = (*BagOfWords.learned, *PROJECTION)
    centered = True


@embedder(
    "lsa-corpus",
    CORPUS,
    DIM,
    "latent semantic analysis of tf-idf",
    kind=PROJECTED,
    license=GENSIM,
    sized=True,
)
class LSA(_Projected, TfIdf):
    """Latent semantic analysis of the fitted text, not centered.

    Tf-idf vectors are projected onto the first singular directions.
    """

    learned: Sequence[str] = (*TfIdf.learned, *PROJECTION)
    centered = False


def _singular_directions(
    vectors: sp.csr_array, mean: np.ndarray, dim: int, seed: int
) -> np.ndarray:
    """float64[dim, words]: first right singular vectors of `vectors` minus `mean`."""
    dim = min(dim, *vectors.shape)
    # One thread: the same sums on every machine, and small factorizations gain nothing
    # from more.
    with single_threaded("blas"):
        if np.prod(vectors.shape) <= DENSE:
            centered = vectors.toarray() - mean
            return np.linalg.svd(centered, full_matrices=False).Vh[:dim]
        return _subspace_iteration(vectors, mean, dim, seed)


def _subspace_iteration(
    vectors: sp.csr_array, mean: np.ndarray, dim: int, seed: int
) -> np.ndarray:
    """The singular vectors by algorithm 4.4 of Halko, Martinsson and Tropp (2011).

    The mean enters only products, so the matrix stays sparse.
    """
    columns = min(dim + OVERSAMPLING, *vectors.shape)
    rng = np.random.default_rng(seed)
    start = rng.standard_normal((vectors.shape[1], columns))
    basis = np.linalg.qr(start).Q
    for _ in range(ITERATIONS):
        left = np.linalg.qr(vectors @ basis - mean @ basis).Q
        right = vectors.T @ left - np.outer(mean, left.sum(axis=0))
        basis = np.linalg.qr(right).Q
    projected = vectors @ basis - mean @ basis
    _, rotation = np.linalg.eigh(projected.T @ projected)
    return (basis @ rotation[:, ::-1][:, :dim]).T
