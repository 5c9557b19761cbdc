"""Embedders as functions from sentences to their stored embeddings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lib import embedders
from lib.base.environment import thread_pool
from lib.corpora import Corpus
from lib.embedders.registry import CORPUS
from lib.store import EmbeddingStore, fit
from lib.vectors import Embeddings


def encoder(
    name: str, corpus: Corpus | Sequence[str], **options: Any
) -> Callable[[Sequence[str]], Embeddings]:
    """From sentences to their stored embeddings.

    The embedder is fitted on the corpus if it learns from text; options are its own.
    """
    embedder = fit(embedders.load(name, **options), corpus)
    return lambda sentences: EmbeddingStore().embed(embedder, list(sentences))


def encoders(
    names: Iterable[str], corpus: Corpus | Sequence[str]
) -> dict[str, Callable[[Sequence[str]], Embeddings]]:
    """`encoder` of several embedders, by name.

    Those that are trained on the corpus come first, each on a core of its own.
    """
    names = list(dict.fromkeys(names))
    trained = [name for name in names if embedders.family(name) == CORPUS]
    with thread_pool() as pool:
        made = pool.map(lambda name: encoder(name, corpus), trained)
        found = dict(zip(trained, made, strict=True))
    for name in names:
        if name not in found:
            found[name] = encoder(name, corpus)
    return {name: found[name] for name in names}
