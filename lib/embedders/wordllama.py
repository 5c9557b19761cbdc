"""WordLlama: vectors of a language model's subwords, averaged."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lib.embedders.base import Embedder
from lib.embedders.kinds import CONTRASTIVE, STATIC_AVERAGE, Kind
from lib.embedders.registry import STATIC, embedder

KIND = Kind(
    STATIC_AVERAGE,
    CONTRASTIVE,
    reads_order=False,
    method="WordLlama",
    text="pairs of sentences",
)
DIM = 256


class WordLlama(Embedder):
    """256-dimensional WordLlama vectors (l2_supercat); zero for white space only."""

    version = 1
    name = "wordllama"
    libraries = ("wordllama",)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        vectors = np.zeros((len(sentences), DIM), np.float32)
        if worded := [i for i, sentence in enumerate(sentences) if sentence.strip()]:
            vectors[worded] = _model().embed([sentences[i] for i in worded])
        return vectors


@lru_cache(maxsize=1)
def _model() -> Any:
    # Importing the package opens the root logger for everybody's INFO messages, unless
    # that has a handler.
    silence = logging.NullHandler()
    logging.root.addHandler(silence)
    import wordllama

    logging.root.removeHandler(silence)
    packaged = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(dim=DIM, cache_dir=packaged, disable_download=True)


@embedder("wordllama", STATIC, DIM, "WordLlama l2_supercat", "wordllama", kind=KIND)
def _packaged(*files: Path, name: str) -> WordLlama:
    return WordLlama()
