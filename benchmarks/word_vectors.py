"""How fast words become the vectors of their sentences, beside PyTorch's embedding bag; results are compared first.

``python -m benchmarks.word_vectors`` writes docs/benchmarks/word_vectors.md. 300-dimensional vectors of 400,000 words,
random numbers; sentences of 20 words, drawn with the frequencies of English words.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import measure
from lib.corpora import text
from lib.embedders import word_means
from lib.embedders.composition import SIF, USIF, Average
from lib.embedders.static import WordVectors
from lib.embedders.tokens import Words
from lib.run import paths
from lib.run.environment import cores

VOCABULARY, DIM, LENGTH = 400_000, 300, 20
PAGE = paths.ROOT / "docs" / "benchmarks" / "word_vectors.md"


def vocabulary(rng: np.random.Generator) -> tuple[WordVectors, np.ndarray]:
    """Words with random vectors, and their probabilities."""
    known = text.word_probabilities()
    words = [word for word in known if word.isalpha()][:VOCABULARY]
    words += [f"x{i}q" for i in range(VOCABULARY - len(words))]
    p = np.array([known.get(word, 1e-9) for word in words])
    return WordVectors("random", words, rng.standard_normal((VOCABULARY, DIM), np.float32)), p / p.sum()


def from_ids(vectors: WordVectors, ids: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """From the ids of the tokens, as when a sentence has been tokenized for another embedder before."""
    import torch

    n = len(ids) // LENGTH
    matrix, flat = torch.from_numpy(vectors.matrix), torch.from_numpy(ids.astype(np.int64))
    offsets = torch.arange(0, len(ids), LENGTH)
    rows, weights = np.arange(VOCABULARY, dtype=np.int32), np.ones(VOCABULARY, np.float32)
    words = Words(
        ids, np.arange(0, len(ids) + 1, LENGTH), vectors.matrix, np.empty((0, DIM), np.float32), rows, weights
    )
    directions = np.linalg.qr(rng.standard_normal((DIM, 5))).Q.T
    calls: dict[str, Callable[[], Any]] = {
        "torch embedding_bag, mean": lambda: torch.nn.functional.embedding_bag(flat, matrix, offsets, mode="mean"),
        "mean": lambda: word_means.means(words),
        "SIF": lambda: word_means.means(words, components=directions[:1], removed=np.ones(1)),
        "uSIF": lambda: word_means.means(words, "divide", directions, np.full(5, 0.2)),
    }
    peer, ours = (calls[name]() for name in list(calls)[:2])
    np.testing.assert_allclose(ours, peer.numpy(), atol=1e-5)
    return _rates(measure.compare(calls), n, "token ids")


def from_strings(vectors: WordVectors, ids: np.ndarray) -> pd.DataFrame:
    """From raw strings, tokenized by spaCy's rules each time; the words have been met before, as in a long text."""
    n = len(ids) // LENGTH
    words = np.array(list(vectors.words), dtype=object)[ids].reshape(n, LENGTH)
    sentences = [" ".join(row) for row in words]
    probabilities = text.word_probabilities()
    embedders = [Average("mean", vectors), SIF(vectors, probabilities), USIF(vectors, probabilities)]

    def anew(embedder: Any) -> Any:
        embedder.lexicon.tokens.forget()
        return embedder.encode(sentences)

    for embedder in embedders:
        embedder.fit(sentences)
    calls = {kind: (lambda e=e: anew(e)) for kind, e in zip(("mean", "SIF", "uSIF"), embedders, strict=True)}
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
    table = pd.concat([from_ids(vectors, ids, rng), from_strings(vectors, ids)])
    head = (
        "# Averages of word vectors\n\n"
        f"{measure.machine()}; {measure.versions('numpy', 'numba', 'torch', 'spacy')}. {n:,} sentences of {LENGTH} "
        f"words, {DIM} dimensions, {VOCABULARY:,} words; {cores()} cores for the sums, one for tokenization. Results "
        "agree to 1e-5 before anything is timed; medians of five turns. PyTorch sums in float32, ours in float64.\n"
    )
    page = f"{head}\n{measure.markdown(table)}\n"
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page, encoding="utf-8")
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
