"""What embedders have learned from a text (idf, common components, paragraph models), kept so that it is learned once.

A file for each embedder and text, ``fitted`` in the cache, holds arrays of numbers. It is named after everything that
the arrays depend on, and carries a checksum of that name and of every array: one that is damaged, or that belongs to
something else, is made anew. Where the cache cannot be written, an embedder learns each time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lib.corpora import Corpus, text
from lib.embedders.base import Embedder
from lib.run import files, locks, paths

CHECKSUM = "checksum"  # the name of its array

_log = logging.getLogger(__name__)


def fit(embedder: Embedder, corpus: Corpus | Sequence[str], show_progress_bar: bool = False) -> Embedder:
    """The embedder, fitted on a text: by what the cache holds, or else by its own `fit`, which the cache then keeps.

    One that has been fitted already, or that learns nothing from text, is returned as it is. One that does not say
    what it has learned (`Embedder.state` is empty) learns each time.
    """
    if not embedder.needs_fit or embedder.fitted_on is not None:
        return embedder
    sentences = getattr(corpus, "sentences", corpus)
    fingerprint = corpus.fingerprint if isinstance(corpus, Corpus) else text.fingerprint(sentences)
    file = _file(embedder, fingerprint)
    if not _restored(embedder, file, fingerprint):
        with locks.held_if_possible(file.with_suffix(".lock"), f"fitting {embedder.name}"):
            if not _restored(embedder, file, fingerprint):
                embedder.fit(sentences, show_progress_bar)
                if state := embedder.state():
                    _write(file, state)
    return embedder


def _file(embedder: Embedder, fingerprint: str) -> Path:
    description = json.dumps([embedder.name, embedder.version, embedder.settings, fingerprint], sort_keys=True)
    digest = hashlib.blake2b(description.encode(), digest_size=8).hexdigest()
    return paths.CACHE / "fitted" / f"{re.sub(r'[^A-Za-z0-9.+-]', '_', embedder.name)}-{digest}.npz"


def _restored(embedder: Embedder, file: Path, fingerprint: str) -> bool:
    """Whether the embedder could take up what the file holds."""
    if not file.exists():
        return False
    try:
        with np.load(file, allow_pickle=False) as arrays:
            state = dict(arrays)
        if state.pop(CHECKSUM).tobytes() != _digest(file.name, state):
            raise ValueError("another checksum")
        embedder.restore(state, fingerprint)
    except Exception as error:  # a damaged archive can make its readers raise anything
        _log.warning("%s: cannot be used (%s: %s); learning again", file, type(error).__name__, error)
        return False
    return True


def _write(file: Path, state: dict[str, np.ndarray]) -> None:
    checksum = np.frombuffer(_digest(file.name, state), np.uint8)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with files.replacing(file) as stream:
            np.savez(stream, **state, **{CHECKSUM: checksum})
    except OSError as error:
        _log.warning("%s: cannot be written (%s); to be learned again next time", file, error)


def _digest(name: str, state: dict[str, np.ndarray]) -> bytes:
    digest = hashlib.blake2b(name.encode(), digest_size=16)
    for key, array in sorted(state.items()):
        digest.update(f"\0{key} {array.dtype.str} {array.shape}\0".encode())
        digest.update(np.ascontiguousarray(array))
    return digest.digest()
