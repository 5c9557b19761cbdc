"""The long jobs in a small size, each a function of the folder that holds what it reads; it writes to ``work`` there.

A finished job that is run again does nothing.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import scipy.stats  # noqa: F401 - what the jobs import in their functions is imported here, once for all runs
import sklearn.metrics  # noqa: F401
import torch
from pyarrow import parquet  # noqa: F401
from transformers import AutoTokenizer, BertForSequenceClassification, BertTokenizerFast  # noqa: F401

from lib import catalog, n2o, neighborhoods, neighbors, store
from lib.catalog import __main__ as fetching
from lib.corpora import Corpus, cache
from lib.embedders.base import Embedder
from lib.embedders.static import WordVectors
from lib.finetuning import finetune
from lib.run import paths
from lib.run.errors import InputError
from lib.sent2vec import Sent2Vec, training
from lib.sent2vec import model as sent2vec

SENTENCES = [f"{'abcdefgh'[i % 8]} sentence {i * i % 97} of number {i}" for i in range(300)]
torch.set_num_threads(1)


class Letters(Embedder):
    """Weighted counts of letters, dense or sparse; the weights are learned from the text."""

    version = 1
    needs_fit = True

    def __init__(self, sparse: bool) -> None:
        self.name, self.sparse = f"letters-{sparse}", sparse

    @property
    def settings(self) -> dict:
        return {"sparse": self.sparse}

    def _fit(self, sentences, show_progress_bar):
        self.weights = 1 / (1 + _counts(sentences).sum(axis=0))

    def _state(self) -> dict:
        return {"weights": self.weights}

    def _restore(self, state, fitted_on) -> None:
        self.weights = state["weights"]

    def _encode(self, sentences):
        vectors = (_counts(sentences) * self.weights).astype(np.float32)
        return sp.csr_array(vectors) if self.sparse else vectors


def _counts(sentences) -> np.ndarray:
    return np.array([[sentence.count(chr(97 + j)) for j in range(26)] for sentence in sentences], np.float64)


def fetch(folder: Path, url: str, packed: str) -> None:
    """A file, and an archive whose first file is the one that the catalog names."""
    paths.DATA = folder / "work" / "data"
    for id, source, file in (
        ("text", {"url": url, "format": "text", "to": "toy/text.txt"}, "toy/text.txt"),
        ("packed", {"url": packed, "format": "zip", "into": "packed"}, "packed/a.txt"),
    ):
        asset = catalog.Asset(
            id=id, title="A toy", kind="corpus", license="MIT", citation="toy", page="https://example.org",
            access="free", used_by=["n2o"], files=[{"path": file}], downloads=[source], how="ask for it",
        )  # fmt: skip
        catalog.assets = lambda asset=asset: {asset.id: asset}
        if fetching.main(["--asset", id]):
            raise RuntimeError


def embed(folder: Path) -> None:
    store.SHARD = 32
    for sparse in (False, True):
        store.EmbeddingStore().embed(Letters(sparse), SENTENCES)


def search(folder: Path) -> None:
    store.SHARD = 64
    corpus = Corpus("toy", SENTENCES, *(np.zeros(len(SENTENCES), np.int32) for _ in range(3)))
    samples = n2o.Samples.of([[1, 2, 3], [4, 5]])
    file = folder / "work" / "neighbors.parquet"
    if file.exists():
        neighborhoods.read(file)
        return
    entries = {}
    for sparse in (False, True):
        vectors = store.EmbeddingStore().embed(Letters(sparse), corpus)
        found = neighbors.exact(vectors[samples.queries], vectors, 9, exclude=samples.queries)
        entries[f"letters-{sparse}"] = neighborhoods.Entry(found, "lexical", 26)
    neighborhoods.Neighborhoods("toy", corpus.fingerprint, len(corpus), samples, entries).write(file)


def convert(folder: Path) -> None:
    """Word vectors, and a corpus that was cut into sentences."""
    file = folder / "vectors.txt"
    if not file.exists():
        rng = np.random.default_rng(0)
        file.write_text("".join(f"w{i} {' '.join(map(str, rng.normal(size=8)))}\n" for i in range(3000)))
    WordVectors.load(file)
    entry = cache.FOLDER / "toy-1"
    if cache.read(entry) is None:
        cache.write(entry, {"text": np.arange(40_000), "ends": np.arange(3000)}, {"documents": 5})


def train(folder: Path) -> None:
    """Sent2Vec, with a checkpoint after each two blocks."""
    training.ROUND = 2
    sent2vec.train = partial(training.train, seconds_between_checkpoints=0)
    text, work = folder / "text.txt", folder / "work"
    if not text.exists():
        words = np.random.default_rng(0).zipf(1.4, size=(20_000, 8)) % 500
        text.write_text("".join(" ".join(f"w{word}" for word in line) + "\n" for line in words))
    if not (work / "model.bin").exists():
        options = {"dim": 12, "epochs": 3, "min_count": 1, "word_ngrams": 2, "bucket": 1000, "threads": 1}
        Sent2Vec.train(text, checkpoint=work / "checkpoint", **options).save(work / "model.bin")
    (work / "checkpoint").unlink(missing_ok=True)


def tune(folder: Path, bert: str) -> None:
    settings = {"epochs": 1, "learning_rate": 5e-3, "max_length": 24, "checkpoint_every": 2, "device": "cpu"}
    try:
        finetune("multinli", bert, folder / "work" / "tuned", batch_size=16, limit=96, **settings)
    except InputError as error:
        if "is there and complete" not in str(error):
            raise


JOBS = {job.__name__: job for job in (fetch, embed, search, convert, train, tune)}
