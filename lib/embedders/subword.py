"""WordLlama: static vectors of the subword tokens of a language model, averaged."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from lib.embedders.base import Embedder
from lib.embedders.registry import STATIC, embedder

DIM = 256


class WordLlama(Embedder):
    """256-dimensional WordLlama vectors (l2_supercat); zero for a sentence of white space only."""

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
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    import wordllama

    # Importing the package opens the root logger for everybody's INFO messages.
    root.setLevel(level)
    root.handlers[:] = handlers
    return wordllama.WordLlama.load(dim=DIM, cache_dir=Path(wordllama.__file__).parent, disable_download=True)


@embedder("wordllama", STATIC, 256, "WordLlama l2_supercat", "wordllama")
def _packaged(name: str, files: object) -> WordLlama:
    return WordLlama()
