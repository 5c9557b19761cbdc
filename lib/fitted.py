"""What embedders have learned from a text (idf, common components, paragraph models), kept so that it is learned once.

A file for each embedder and text, ``fitted`` in the cache, holds arrays of numbers. It is named after everything that
the arrays depend on; a damaged one is made anew.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lib import files, paths, text
from lib.corpora import Corpus
from lib.embedders.base import Embedder


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
    try:
        with np.load(file, allow_pickle=False) as arrays:
            embedder.restore(dict(arrays), fingerprint)
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):
        return False
    return True


def _write(file: Path, state: dict[str, np.ndarray]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with files.replacing(file) as stream:
        np.savez(stream, **state)
