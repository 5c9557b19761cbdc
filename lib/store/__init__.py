"""Embeddings, and what embedders have learned from a text, kept in the cache.

`lib.store.shards` writes and reads an entry of embeddings.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from lib import embedders
from lib.base import paths, progress
from lib.base.cache import CacheEntry
from lib.base.environment import thread_pool
from lib.base.errors import InputError
from lib.corpora import Corpus, text
from lib.embedders import own
from lib.embedders.base import Embedder
from lib.embedders.registry import CORPUS
from lib.embedders.shrunk import Shrunk
from lib.store import shards
from lib.vectors import Embeddings

if TYPE_CHECKING:
    from distributed import Client

# How embedders write what they have learned; raised when that changes, so that it is
# learned again.
STATE = 3
DOUBTS = "doubts.json"  # beside the vectors of others' embedders


class EmbeddingStore:
    """A folder of embeddings.

    Parameters
    ----------
    path : Path, optional
        Made when it is first needed; by default it is in the cache.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path or paths.CACHE / "embeddings")

    def embed_all(
        self,
        names: Sequence[str],
        corpus: Corpus | Sequence[str],
        client: Client | None = None,
    ) -> progress.Timed:
        """The embeddings of a corpus under several embedders of the registry.

        Embedders that are trained on the corpus come first, each on a core of its own.

        Parameters
        ----------
        names : sequence of str
        corpus : Corpus or sequence of str
        client : distributed.Client, optional
            Of a cluster that encodes; then embedders are taken one after another.

        Returns
        -------
        dict of str to float32[n, dim] or CSR array
            In the order of `names`, each as from `embed`. Its ``seconds`` says how long
            each embedder took; where vectors are stored, only opening them counts.
        """

        def embed(name: str) -> Embeddings:
            embedder = embedders.load(name)
            return self.embed(embedder, corpus, show_progress_bar=True, client=client)

        embeddings = progress.Timed(names)
        trained = [name for name in embeddings if embedders.family(name) == CORPUS]
        rest = [name for name in embeddings if name not in trained]
        threads = None if client is None else 1
        with progress.bar(len(embeddings), "embedders", unit="embedders") as bar:
            with thread_pool(threads) as pool:
                put = pool.map(lambda name: embeddings.put(name, embed, name), trained)
                for _ in put:
                    bar.update()
            for name in rest:
                embeddings.put(name, embed, name)
                bar.update()
        return embeddings

    def embed(
        self,
        embedder: Embedder | Any,
        corpus: Corpus | Sequence[str],
        name: str | None = None,
        show_progress_bar: bool = False,
        client: Client | None = None,
    ) -> Embeddings:
        """The embeddings of a corpus, encoding only what is not there yet.

        Parameters
        ----------
        embedder : Embedder, or what `own.load` takes
            One that needs `fit` and has not been fitted is fitted on this corpus
            (transductive, as in the papers), if anything is missing. `own.load` takes a
            function, any object with ``encode``, ``path/to/file.py:function``, a
            model's folder, or its hub id.
        corpus : Corpus or sequence of str
        name : str, optional
            For an `embedder` that is not one of ours: the name that it is cached under.
            It stands for all of its settings, so change it when they change. Without a
            name nothing is cached.
        show_progress_bar : bool
        client : distributed.Client, optional
            Of a cluster whose workers encode what is to be cached.

        Returns
        -------
        float32[n, dim], memory-mapped and read-only, or a CSR array over memory-maps. A
        smaller form (``minilm-avg@int8``) is an array in memory, computed from the full
        vectors, which alone are stored.

        Raises
        ------
        InputError
            No sentences, a single string, vectors that are not finite, or a folder that
            is full.

        Examples
        --------
        >>> from lib import embedders
        >>> from lib.store import EmbeddingStore
        >>> store = EmbeddingStore("my-vectors")
        >>> vectors = store.embed(embedders.load("wordllama"), ["a cat", "a dog"])
        >>> vectors.shape
        (2, 256)
        """
        found = self.encoded(embedder, corpus, name, show_progress_bar, client)
        if found.embedder.is_foreign:
            for note in found.notes:
                progress.note(found.embedder.name, note)
        return found.vectors

    def encoded(
        self,
        embedder: Embedder | Any,
        corpus: Corpus | Sequence[str],
        name: str | None = None,
        show_progress_bar: bool = False,
        client: Client | None = None,
    ) -> Encoded:
        """As `embed`, with what the vectors cost and what a reader must know of them.

        Parameters and errors are those of `embed`; notes are returned, and not told.
        """
        sentences: Any = getattr(corpus, "sentences", corpus)
        if isinstance(sentences, str) or not hasattr(sentences, "__len__"):
            raise InputError(
                f"corpus: is of type {type(sentences).__name__}; "
                "give a Corpus or a list of sentences"
            )
        if not len(sentences):
            raise InputError("corpus: has no sentences; give at least one")
        embedder = own.as_embedder(embedder, name or "")
        if isinstance(embedder, Shrunk):
            full = self.encoded(embedder.base, corpus, None, show_progress_bar, client)
            fitted = _fit_form(embedder, corpus, full.vectors)
            return replace(full, vectors=fitted.shrink(full.vectors))
        if not embedder.is_stored:
            started = time.perf_counter()
            vectors = fit(embedder, corpus).encode(
                sentences, show_progress_bar=show_progress_bar
            )
            seconds = (time.perf_counter() - started) / len(sentences)
            doubts = embedder.spot_check(sentences)
            return Encoded(vectors, seconds, embedder, sentences, doubts)
        fingerprint = _fingerprint(corpus)
        folder = self.path if embedder.is_kept else Path(_unkept().name)
        members = [embedder, *embedder.companions]
        entries = [_entry(folder, member, fingerprint) for member in members]
        if any(entry.facts() is None for entry in entries):
            prepare = partial(fit, embedder, corpus, show_progress_bar)
            shards.complete(
                entries, embedder, sentences, prepare, client, show_progress_bar
            )
        doubts = _doubts(embedder, corpus, entries[0])
        facts = entries[0].facts() or {}
        vectors = shards.read(entries[0])
        return Encoded(vectors, facts.get("seconds"), embedder, sentences, doubts)


@dataclass(frozen=True, eq=False)
class Encoded:
    """What the store has of an embedder and a text.

    Attributes
    ----------
    vectors : float32[n, dim] or CSR array
    seconds : float or None
        To encode one sentence, reading the model included but not fitting; None if that
        was not measured.
    embedder : Embedder
        That of the full vectors.
    sentences : sequence of str
    doubts : list of str
        Those of its `spot_check`, if others have made it.
    """

    vectors: Embeddings
    seconds: float | None
    embedder: Embedder
    sentences: Sequence[str]
    doubts: list[str]

    @property
    def notes(self) -> list[str]:
        """What a reader must know: `Embedder.notes`, and the doubts."""
        return self.embedder.notes(self.sentences) + self.doubts


@cache
def _unkept() -> TemporaryDirectory:
    """A folder for vectors that are not kept; it ends with this process."""
    return TemporaryDirectory(prefix="sentence-", ignore_cleanup_errors=True)


def fit(
    embedder: Embedder, corpus: Corpus | Sequence[str], show_progress_bar: bool = False
) -> Embedder:
    """The embedder, fitted on a text.

    It comes from the cache, or from its own `fit`, whose result the cache then keeps.
    One that has been fitted already, or that learns nothing from text, is returned as
    it is.
    """
    if not embedder.needs_fit or embedder.fitted_on is not None:
        return embedder
    if isinstance(embedder, Shrunk):
        full = EmbeddingStore().embed(embedder.base, corpus, None, show_progress_bar)
        return _fit_form(embedder, corpus, full)
    sentences: Any = getattr(corpus, "sentences", corpus)
    if embedder.is_foreign:  # what it has learned is not known
        return embedder.fit(sentences)
    fingerprint = _fingerprint(corpus)
    key = {
        "state": STATE,
        "version": embedder.version,
        "settings": embedder.settings,
        "text": fingerprint,
    }
    entry = CacheEntry(paths.CACHE / "fitted", embedder.name, key)

    def learn() -> dict[str, Any]:
        embedder.fit(sentences, show_progress_bar)
        with entry.writing("state.npz") as stream:
            state: dict[str, Any] = embedder.state()
            np.savez(stream, **state)
        return {}

    entry.made(learn, f"fitting {embedder.name}")
    if embedder.fitted_on is None:
        with np.load(entry.folder / "state.npz", allow_pickle=False) as stored:
            state = dict(stored)
        try:
            embedder.restore(state, fingerprint)
        except KeyError:  # word vectors that it was made of have gone from the cache
            embedder.fit(sentences, show_progress_bar)
    return embedder


def _fit_form(
    embedder: Shrunk, corpus: Corpus | Sequence[str], full: Embeddings
) -> Shrunk:
    """A form, fitted on the full vectors of a text, unless it was fitted before."""
    if embedder.needs_fit and embedder.fitted_on is None:
        fit(embedder.base, corpus)
        embedder.learn(full, _fingerprint(corpus))
    return embedder


def _fingerprint(corpus: Corpus | Sequence[str]) -> str:
    if isinstance(corpus, Corpus):
        return corpus.fingerprint
    return text.fingerprint(corpus)


def _entry(folder: Path, embedder: Embedder, fingerprint: str) -> CacheEntry:
    fitted_on = None
    if embedder.needs_fit:
        fitted_on = embedder.fitted_on or fingerprint
    key = {
        "shard": shards.SIZE,
        "text": fingerprint,
        "version": embedder.version,
        "settings": embedder.settings,
        "fitted_on": fitted_on,
    }
    return CacheEntry(folder, embedder.name, key)


def _doubts(
    embedder: Embedder, corpus: Corpus | Sequence[str], entry: CacheEntry
) -> list[str]:
    """Those of `Embedder.spot_check`, kept with the vectors that they are about."""
    if not embedder.is_foreign or embedder.is_vouched_for:
        return []
    if not entry.has(DOUBTS):
        sentences: Any = getattr(corpus, "sentences", corpus)
        found = fit(embedder, corpus).spot_check(sentences)
        with entry.writing(DOUBTS) as stream:
            stream.write(json.dumps(found).encode())
    return json.loads((entry.folder / DOUBTS).read_bytes())
