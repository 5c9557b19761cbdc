"""Published static embedders: sets of word vectors, and WordLlama.

``static_published.csv`` lists the word vectors: of which asset they are, how a sentence
is split into tokens ("lower": words in lower case, "words": words, "blanks": what
stands between blanks), and their kind.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lib.base.errors import InputError
from lib.corpora import text
from lib.embedders.base import Embedder
from lib.embedders.kinds import CONTRASTIVE, STATIC_AVERAGE, Kind
from lib.embedders.registry import ENTRIES, STATIC, embedder
from lib.embedders.static import WordVectors

TOKENIZERS = {
    "lower": text.lower_word_tokens,
    "words": text.word_tokens,
    "blanks": text.whitespace_tokens,
}


def published(file: Path, name: str) -> WordVectors:
    """The word vectors of a row; InputError if the file has others."""
    vectors = WordVectors.load(file)
    row = ENTRIES[name]
    if vectors.dim != row.dim:
        wanted = f"put the file of {row.source} with {row.dim} dimensions there"
        raise InputError(f"{file}: has vectors of {vectors.dim} dimensions; {wanted}")
    return vectors


table = pd.read_csv(Path(__file__).with_suffix(".csv"), keep_default_na=False)
for row in table.itertuples():
    average = Kind(
        STATIC_AVERAGE,
        row.objective,
        reads_order=False,
        method=row.method,
        text=row.text,
    )
    register = embedder(
        row.name,
        STATIC,
        row.dim,
        row.source,
        row.asset,
        kind=average,
        file=row.file,
        words=TOKENIZERS[row.tokens],
    )
    register(published)


# -- WordLlama -------------------------------------------------------------------------

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
