"""A small text about two topics that an embedder can learn, and a small corpus."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lib.corpora import Corpus

ANIMALS = [
    "the cat and the dog sleep",
    "a dog chases the cat",
    "the cat eats as the dog sleeps",
    "cat and dog",
] * 12
MONEY = [
    "the bank lends money at interest",
    "money in the bank",
    "interest on money that the bank lends",
] * 16
TEXT = ANIMALS + MONEY


def corpus_of(sentences: Sequence[str], groups: Sequence[int] | None = None) -> Corpus:
    """A corpus of one document; without groups no two sentences mean the same."""
    if groups is None:
        groups = [-1] * len(sentences)
    documents = np.zeros(len(sentences), np.int32)
    return Corpus(
        "tiny", list(sentences), documents, np.array([0]), np.array(groups, np.int32)
    )
