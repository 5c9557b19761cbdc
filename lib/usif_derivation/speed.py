"""Sentences per second of compositions of word vectors, from token ids and from strings."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

import pandas as pd

from lib.embedders import word_means
from lib.embedders.composition import SIF, WordComposition

# What peers say of themselves (fse's and sif-embedding's own pages); machines, dimensions and sentences differ.
CLAIMS = pd.DataFrame(
    [
        ("fse (Cython)", "uSIF, a laptop", 265_000, 500_000),
        ("sif-embedding (Rust)", "uSIF, one core of an M2, 300 dimensions, 22.8 words", 26_600, 26_600),
    ],
    columns=["program", "what", "lowest", "highest"],
)


def rates(embedders: Mapping[str, WordComposition], sentences: Sequence[str], turns: int = 5) -> pd.DataFrame:
    """How many sentences a second each fitted embedder encodes; the median of some turns.

    Returns
    -------
    DataFrame with columns embedder, dim, words (a sentence, on average), from_ids (the tokens of the sentences are
    known, as they are when another embedder has met them a moment ago) and from_strings (they are tokenized first)
    """
    return pd.DataFrame([_rate(name, embedder, list(sentences), turns) for name, embedder in embedders.items()])


def _rate(name: str, embedder: WordComposition, sentences: list[str], turns: int) -> dict[str, object]:
    dim = embedder.encode(sentences).shape[1]  # compiles, and looks all words up
    known = embedder.lexicon.words(sentences)
    own = (embedder.decisions["normalize"], embedder.components, embedder.removed) if isinstance(embedder, SIF) else ()
    from_ids = _seconds(lambda: word_means.means(known, *own), turns)

    def from_scratch() -> None:
        embedder.lexicon.tokens.forget()
        embedder.encode(sentences)

    strings = _seconds(from_scratch, turns)
    return {
        "embedder": name,
        "dim": dim,
        "words": len(known.ids) / len(sentences),
        "from_ids": len(sentences) / from_ids,
        "from_strings": len(sentences) / strings,
    }


def _seconds(work: Callable[[], object], turns: int) -> float:
    taken = []
    for _ in range(turns):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return median(taken)
