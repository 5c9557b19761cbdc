"""Small jobs, one for each kind of file that the cache keeps.

A job makes the file, or reads it if it is there, and returns its bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import gensim.models  # noqa: F401 - what the jobs import in their functions is imported here, once for all runs
import numpy as np

from lib import catalog, corpora, embedders, store
from lib.base import cache, paths
from lib.corpora import segmentation
from lib.embedders.base import Embedder
from lib.embedders.static import WordVectors
from lib.sent2vec import Sent2Vec, training
from tests.letters import letters
from tests.tools.test_download import asset
from tools import data as fetching
from tools import download

SENTENCES = [
    f"{'abcdefgh'[i % 8]} sentence {i * i % 97} of number {i}" for i in range(300)
]
segmentation.segment("Load the segmenter. Now.")


def prepare(folder: Path) -> None:
    """Keep everything in one folder, whatever its size; waiting is reported at once."""
    paths.CACHE = folder
    cache.SECONDS = 0.05
    store.shards.SIZE = 64
    training.SECONDS_BETWEEN_CHECKPOINTS = 0
    training.ROUND = 2


class Letters(Embedder):
    """Weighted counts of letters; the weights are learned from the text."""

    name = "letters"
    needs_fit = True
    learned = ("weights",)

    def _fit(self, sentences, show_progress_bar):
        self.weights = 1 / (1 + letters(sentences).sum(axis=0))

    def _encode(self, sentences):
        return (letters(sentences) * self.weights).astype(np.float32)


def dense(folder: Path) -> bytes:
    """Embeddings."""
    kept = store.EmbeddingStore(folder / "embeddings")
    return kept.embed(Letters(), SENTENCES).tobytes()


def fitted(folder: Path) -> bytes:
    """What an embedder has learned from a text."""
    return store.fit(Letters(), SENTENCES).weights.tobytes()


def segmented(folder: Path) -> bytes:
    """A corpus, cut into sentences."""
    file = folder.with_name("running.txt")
    if not file.exists():
        paragraphs = [f"{sentence.capitalize()}. It ends." for sentence in SENTENCES]
        file.write_text("\n\n".join(paragraphs))
    corpus = corpora.load(f"text:{file}")
    return (
        "\n".join(corpus.sentences).encode()
        + corpus.documents.tobytes()
        + corpus.ledes.tobytes()
    )


def converted(folder: Path) -> bytes:
    """Word vectors, memory-mapped."""
    file = folder.with_name("vectors.txt")
    if not file.exists():
        rng = np.random.default_rng(0)
        rows = [" ".join(map(str, rng.normal(size=8))) for _ in range(3000)]
        file.write_text("".join(f"w{i} {row}\n" for i, row in enumerate(rows)))
    words = WordVectors.load(file)
    return np.stack([words[f"w{i}"] for i in range(0, 3000, 7)]).tobytes()


def trained(folder: Path) -> bytes:
    """Word vectors that are trained on the text."""
    embedder = store.fit(embedders.load("w2v-corpus-8d"), SENTENCES)
    return embedder.encode(SENTENCES[:20]).tobytes()


def sent2vec(folder: Path) -> bytes:
    """A Sent2Vec training with a checkpoint every two blocks; it leaves nothing."""
    words = np.random.default_rng(0).zipf(1.4, size=(20_000, 8)) % 500
    lines = [" ".join(f"w{word}" for word in line) for line in words]
    model = Sent2Vec.train(
        lines, dim=12, epochs=2, min_count=1, word_ngrams=2, bucket=1000
    )
    return model.encode(lines[:20]).tobytes()


JOBS: dict[str, Callable[[Path], bytes]] = {
    job.__name__: job for job in (dense, fitted, segmented, converted, trained)
}
# Where what a job reads when all is there lies in the cache.
FOLDERS = {
    "dense": "embeddings",
    "fitted": "fitted",
    "segmented": "corpora",
    "converted": "vectors",
    "trained": "trained",
}


def downloaded(folder: Path) -> bytes:
    """A file, and an archive whose first file is in the catalog.

    Their addresses are stored beside the folder.
    """
    paths.DATA = folder
    text, packed = folder.with_name("addresses").read_text().split()
    download.ALLOWED = (text, packed)
    for id, file, source in (
        ("text", "toy/text.txt", {"url": text, "format": "text", "to": "toy/text.txt"}),
        ("packed", "packed/a.txt", {"url": packed, "format": "zip", "into": "packed"}),
    ):
        wanted = replace(asset([file], source), id=id)
        catalog.assets = lambda wanted=wanted: {wanted.id: wanted}
        if fetching.main(["--asset", id]):
            raise RuntimeError
    return b""
