"""Sentences as numbers: a distinct token has an id, and a batch is tokenized once for all embedders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from lib.corpora import text

Tokenizer = Callable[[str], list[str]]


class Tokens(NamedTuple):
    """A batch of sentences, tokenized.

    Attributes
    ----------
    ids : int32[t], the tokens of one sentence after the other
    starts : int64[n + 1], sentence i has ``ids[starts[i]:starts[i + 1]]``
    """

    ids: np.ndarray
    starts: np.ndarray


class Tokenization:
    """A tokenizer and the types (distinct tokens) that it has met; a type's id is its place in `types`."""

    KEPT = 1 << 26  # tokens of the latest batches, 256 MB

    def __init__(self, tokenize: Tokenizer) -> None:
        self.tokenize = tokenize
        self._ids: defaultdict[str, int] = defaultdict()
        self._ids.default_factory = self._ids.__len__
        self._types: list[str] = []
        self._batches: dict[str, Tokens] = {}

    @property
    def types(self) -> list[str]:
        """The types met so far; it only ever grows."""
        if len(self._types) < len(self._ids):
            self._types.extend(list(self._ids)[len(self._types) :])
        return self._types

    def of(self, sentences: Sequence[str]) -> Tokens:
        """Tokenize a batch, or remember how it was tokenized for another embedder a moment ago."""
        key = text.fingerprint(sentences)
        if key not in self._batches:
            if sum(len(tokens.ids) for tokens in self._batches.values()) > self.KEPT:
                self.forget()
            self._batches[key] = self._tokenized(sentences)
        return self._batches[key]

    def forget(self) -> None:
        """Drop the remembered batches; types keep their ids."""
        self._batches.clear()

    def _tokenized(self, sentences: Sequence[str]) -> Tokens:
        number = self._ids.__getitem__
        ids = [[*map(number, self.tokenize(sentence))] for sentence in sentences]
        starts = np.fromiter(accumulate(map(len, ids), initial=0), np.int64, len(ids) + 1)
        return Tokens(np.fromiter((i for sentence in ids for i in sentence), np.int32, starts[-1]), starts)


@cache
def tokenization(tokenize: Tokenizer) -> Tokenization:
    """The one `Tokenization` of a tokenizer, which all embedders share."""
    return Tokenization(tokenize)
