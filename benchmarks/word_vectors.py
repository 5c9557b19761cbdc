"""How fast words become the vectors of their sentences, beside PyTorch's embedding bag; results are compared first.

``python -m benchmarks.word_vectors`` writes docs/benchmarks/word_vectors.md. 300-dimensional vectors of 400,000 words,
random numbers; sentences of 20 words, drawn with the frequencies of English words.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import measure
from lib.corpora import text
from lib.embedders.composition import SIF, USIF, Average
from lib.embedders.static import WordVectors
from lib.embedders.words import Words
from lib.run import paths

VOCABULARY, DIM, LENGTH = 400_000, 300, 20
PAGE = paths.ROOT / "docs" / "benchmarks" / "word_vectors.md"


def vocabulary(rng: np.random.Generator) -> tuple[WordVectors, np.ndarray]:
    """Words with random vectors, and their probabilities."""
    known = text.word_probabilities()
    words = [word for word in known if word.isalpha()][:VOCABULARY]
    words += [f"x{i}q" for i in range(VOCABULARY - len(words))]
    p = np.array([known.get(word, 1e-9) for word in words])
    return WordVectors("random", words, rng.standard_normal((VOCABULARY, DIM), np.float32)), p / p.sum()


def from_words(vectors: WordVectors, ids: np.ndarray) -> pd.DataFrame:
    """From the distinct words of a text and where they stand in it."""
    import torch

    n = len(ids) // LENGTH
    found, places = np.unique(ids, return_inverse=True)
    starts, lengths = np.arange(0, len(ids) + 1, LENGTH), np.full(n, LENGTH)
    words = Words(vectors.matrix[found], np.ones(len(found), np.float32), places, starts, lengths)
    matrix, flat, offsets = map(torch.from_numpy, (words.vectors, places, starts[:-1]))
    calls: dict[str, Callable[[], Any]] = {
        "torch embedding_bag, mean": lambda: torch.nn.functional.embedding_bag(flat, matrix, offsets, mode="mean"),
        "mean": words.means,
    }
    peer, ours = (call() for call in calls.values())
    np.testing.assert_allclose(ours, peer.numpy(), atol=1e-5)
    return _rates(measure.compare(calls), n, "words")


def from_strings(vectors: WordVectors, ids: np.ndarray) -> pd.DataFrame:
    """From raw strings, tokenized by spaCy's rules each time; the words have been met before, as in a long text."""
    n = len(ids) // LENGTH
    words = np.array(list(vectors.words), dtype=object)[ids].reshape(n, LENGTH)
    sentences = [" ".join(row) for row in words]
    probabilities = text.word_probabilities()
    embedders = [Average("mean", vectors), SIF(vectors, probabilities), USIF(vectors, probabilities)]
    for embedder in embedders:
        embedder.fit(sentences)
    calls = {kind: partial(e.encode, sentences) for kind, e in zip(("mean", "SIF", "uSIF"), embedders, strict=True)}
    return _rates(measure.compare(calls), n, "raw strings")


def _rates(seconds: pd.DataFrame, n: int, source: str) -> pd.DataFrame:
    table = {
        "from": source,
        "sentences/s": (n / seconds["median"]).map("{:,.0f}".format),
        "worst to best": [
            f"{n / most:,.0f} to {n / least:,.0f}" for most, least in seconds[["most", "least"]].to_numpy()
        ],
        "times the first": (1 / seconds["ratio"]).map("{:.2f}".format),
    }
    return pd.DataFrame(table, index=seconds.index.rename("what"))


def main(arguments: list[str] | None = None) -> int:
    """Measure both and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.word_vectors", description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=100_000, metavar="N", help="(default: 100000)")
    n = parser.parse_args(arguments).sentences
    rng = np.random.default_rng(0)
    vectors, p = vocabulary(rng)
    ids = rng.choice(VOCABULARY, n * LENGTH, p=p).astype(np.int32)
    table = pd.concat([from_words(vectors, ids), from_strings(vectors, ids)])
    head = (
        "# Averages of word vectors\n\n"
        f"{measure.machine()}; {measure.versions('numpy', 'scipy', 'torch', 'spacy')}. {n:,} sentences of {LENGTH} "
        f"words, {DIM} dimensions, {VOCABULARY:,} words; one core. Results agree to 1e-5 before anything is timed; "
        "medians of five turns. PyTorch sums in float32, ours in float64.\n"
    )
    page = f"{head}\n{measure.markdown(table)}\n"
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page, encoding="utf-8")
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
