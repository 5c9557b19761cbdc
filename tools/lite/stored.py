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
    return any(stored.rpartition("/")[0] == name for stored in _arrays())


class Stored(Embedder):
    """The stored vectors of an embedder.

    Raises InputError for other sentences than those it has vectors of.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        vectors = _arrays().get(key(self.name, sentences))
        if vectors is None:
            raise InputError(
                f"embedder: {self.name} cannot run in a browser, and no vectors are "
                "stored for these sentences; use tfidf, or open the lesson "
                "with `make lab`"
            )
        return vectors.astype(np.float32)
