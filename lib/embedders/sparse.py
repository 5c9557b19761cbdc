"""Vocabulary-sized sparse vectors: bag of words and tf-idf."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import scipy.sparse as sp

from lib import text
from lib.embedders.base import Embedder

VERSION = 1


class BagOfWords(Embedder):
    """How often each word of the fitted vocabulary occurs in the sentence; other words are skipped."""

    version = VERSION
    needs_fit = True
    name = "bow"

    def __init__(self) -> None:
        self.vocabulary: dict[str, int] = {}

    @property
    def settings(self) -> dict[str, Any]:
        return {"gensim": version("gensim")}

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        words = sorted({token for sentence in sentences for token in text.gensim_tokens(sentence)})
        self.vocabulary = {word: j for j, word in enumerate(words)}

    def _counts(self, sentence: str) -> list[tuple[int, int]]:
        """(column, count) pairs in the order of the columns: gensim's bag-of-words format."""
        columns = [self.vocabulary[token] for token in text.gensim_tokens(sentence) if token in self.vocabulary]
        return [
            (int(column), int(count)) for column, count in zip(*np.unique(columns, return_counts=True), strict=True)
        ]

    def _weighted(self, sentence: str) -> list[tuple[int, float]]:
        return self._counts(sentence)

    def _encode(self, sentences: Sequence[str]) -> sp.csr_array:
        rows = [self._weighted(sentence) for sentence in sentences]
        ends = np.cumsum([0, *map(len, rows)])
        columns = np.array([column for row in rows for column, _ in row], dtype=np.int32)
        values = np.array([value for row in rows for _, value in row], dtype=np.float32)
        return sp.csr_array((values, columns, ends), shape=(len(rows), len(self.vocabulary)))


class TfIdf(BagOfWords):
    """gensim's tf-idf, each sentence a document: count times log2(sentences / sentences with the word), unit length.

    The idf is learned from the fitted text, as in appendix A of the N2O paper.
    """

    name = "tfidf"

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        from gensim.models import TfidfModel

        super()._fit(sentences, show_progress_bar)
        self.model = TfidfModel(self._counts(sentence) for sentence in sentences)

    def _weighted(self, sentence: str) -> list[tuple[int, float]]:
        return self.model[self._counts(sentence)]
