"""Stored vectors, in place of an embedder that cannot run where the lesson is read.

A browser has neither PyTorch nor the models. The wheel for lesson 00 has ``stored.npz``
beside this module, and in its `lib.embedders` these functions replace two others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from lib import embedders
from lib.base.errors import InputError
from lib.corpora import text
from lib.embedders.base import Embedder

FILE = Path(__file__).with_name("stored.npz")
REPLACING = "from tools.lite.stored import load, missing\n"  # in `lib.embedders`
WORD = "/word/"  # between the names of an embedder and of a word
_load = embedders.load
_missing = embedders.missing


def load(name: str, **options: Any) -> Embedder:
    """As `embedders.load`, but stored vectors come first."""
    return Stored(name) if has(name) else _load(name, **options)


def missing(chosen: Sequence[str], parameter: str = "embedder") -> dict[str, str]:
    """As `embedders.missing`, but nothing is missing where vectors are stored."""
    return _missing([name for name in chosen if not has(name)], parameter)


def key(name: str, sentences: Sequence[str]) -> str:
    """The name in the file of the vectors that an embedder has for some sentences."""
    return f"{name}/{text.fingerprint(sentences)}"


@cache
def _arrays() -> Mapping[str, np.ndarray]:
    """float16[n, dim] by `key`; empty if nothing is stored."""
    if not FILE.exists():
        return {}
    with np.load(FILE, allow_pickle=False) as arrays:
        return dict(arrays)


def has(name: str) -> bool:
    """Whether there are stored vectors of an embedder."""
    return any(stored.partition("/")[0] == name for stored in _arrays())


class Stored(Embedder):
    """The stored vectors of an embedder.

    Raises InputError for other sentences than those it has vectors of.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def vectors(self) -> Mapping[str, np.ndarray]:
        """The vectors of the words that the lesson looks up."""
        start = f"{self.name}{WORD}"
        arrays = _arrays().items()
        return {
            stored.removeprefix(start): array
            for stored, array in arrays
            if stored.startswith(start)
        }

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        vectors = _arrays().get(key(self.name, sentences))
        if vectors is None:
            raise InputError(
                f"embedder: {self.name} cannot run in a browser, and no vectors are "
                "stored for these sentences; use tfidf, or open the lesson "
                "with `make lab`"
            )
        return vectors.astype(np.float32)


class Recorder(Embedder):
    """An embedder whose answers are kept, as `Stored` gives them again.

    Parameters
    ----------
    embedder : Embedder
        It answers.
    answers : dict of str to array
        Where vectors are put, of many sentences in float16.
    """

    def __init__(self, embedder: Embedder, answers: dict[str, np.ndarray]) -> None:
        self.name = embedder.name
        self.embedder = embedder
        self.answers = answers

    @property
    def vectors(self) -> Mapping[str, np.ndarray]:
        """The embedder's word vectors; those that are looked up are kept."""
        return _Words(self.embedder.vectors, f"{self.name}{WORD}", self.answers)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        encoded = self.embedder.fit_encode(sentences)
        kept = np.float16 if len(sentences) > 1 else np.float32
        self.answers[key(self.name, sentences)] = encoded.astype(kept)
        return encoded


class _Words(dict):
    def __init__(
        self, vectors: Mapping[str, np.ndarray], start: str, answers: dict
    ) -> None:
        self.whole = vectors
        self.start = start
        self.answers = answers

    def __missing__(self, word: str) -> np.ndarray:
        self.answers[f"{self.start}{word}"] = self.whole[word]
        return self.whole[word]
