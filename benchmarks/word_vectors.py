"""How fast words become sentence vectors, beside PyTorch's embedding bag.

Results are compared first.

``python -m benchmarks.word_vectors`` writes docs/benchmarks/word_vectors.md.
300-dimensional vectors of 400,000 words, random numbers; sentences of 20 words, drawn
with the frequencies of English words.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import measure
from lib.corpora import text
from lib.embedders.composition import SIF, USIF, Average
from lib.embedders.static import WordVectors
from lib.embedders.words import KnownWords

VOCABULARY = 400_000
DIM = 300
LENGTH = 20
ABOUT = (
    f"sentences of {LENGTH} words, {DIM} dimensions, {VOCABULARY:,} words. Results "
    "agree to 1e-5 before anything is timed; medians of five turns. *Times the first* "
    "is the median ratio, turn by turn, to the first row with the same input."
)


def from_words(vectors: WordVectors, ids: np.ndarray) -> pd.DataFrame:
    """Seconds from the sentences' distinct words and their places.

    The sentences are given by the ids of their words, int[n, LENGTH].
    """
    import torch

    distinct, places = np.unique(ids.ravel(), return_inverse=True)
    starts = np.arange(0, ids.size + 1, LENGTH)
    words = KnownWords(
        vectors.matrix[distinct], places, np.ones(ids.size, np.float32), starts
    )
    matrix, flat, offsets = map(torch.from_numpy, (words.vectors, places, starts[:-1]))
    peer = partial(
        torch.nn.functional.embedding_bag, flat, matrix, offsets, mode="mean"
    )
    return measure.in_turns(
        {"torch embedding_bag, mean": peer, "mean": words.means}, tolerance=1e-5
    )


def from_strings(vectors: WordVectors, ids: np.ndarray) -> pd.DataFrame:
    """Seconds from raw strings, tokenized by spaCy's rules each time.

    The words have been met before.
    """
    words = np.array(list(vectors.words), dtype=object)
    sentences = [" ".join(row) for row in words[ids]]
    probabilities = text.word_probabilities()
    embedders = {
        "mean": Average("mean", vectors),
        "SIF": SIF(vectors, probabilities),
        "uSIF": USIF(vectors, probabilities),
    }
    calls = {}
    for kind, embedder in embedders.items():
        calls[kind] = partial(embedder.fit(sentences).encode, sentences)
    return measure.in_turns(calls)


def main(folder: Path, small: bool) -> None:
    """Measure both and write the page."""
    n = 2000 if small else 100_000
    rng = np.random.default_rng(0)
    known = text.word_probabilities()
    words = [word for word in known if word.isalpha()][:VOCABULARY]
    words += [f"x{i}q" for i in range(VOCABULARY - len(words))]
    p = np.array([known.get(word, 1e-9) for word in words])
    vectors = WordVectors(
        "random", words, rng.standard_normal((VOCABULARY, DIM), np.float32)
    )
    ids = rng.choice(VOCABULARY, (n, LENGTH), p=p / p.sum()).astype(np.int32)
    sources = {
        "words": from_words(vectors, ids),
        "raw strings": from_strings(vectors, ids),
    }
    parts = []
    for source, turns in sources.items():
        rates = measure.summary(
            n / turns, "sentences/s", "worst to best", "times the first"
        )
        rates.insert(0, "from", source)
        parts.append(rates.rename_axis("what"))
    packages = ["numpy", "scipy", "torch", "spacy"]
    page = folder / "word_vectors.md"
    measure.write_page(
        page, "Averages of word vectors", f"{n:,} {ABOUT}", packages, pd.concat(parts)
    )


if __name__ == "__main__":
    measure.command(__doc__, main)
