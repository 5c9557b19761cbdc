"""Stored embeddings of sentences, by embedders fitted on a corpus or a part of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from lib import corpora, embedders
from lib.base.cluster import in_processes
from lib.base.environment import thread_pool
from lib.corpora import Corpus, text
from lib.embedders.registry import CORPUS
from lib.embedders.sparse import BagOfWords
from lib.store import EmbeddingStore, fit
from lib.tasks import local
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


def treebank_lower(sentence: str) -> list[str]:
    """Penn Treebank tokens in lower case."""
    return [token.lower() for token in text.treebank_tokens(sentence)]


def held_out(corpus: Corpus, *tested: Sequence[str]) -> Corpus | list[str]:
    """A text to learn from, without what is tested.

    Left out are the tested sentences and their verses in every translation.

    Parameters
    ----------
    corpus : Corpus
    *tested : sequences of str

    Returns
    -------
    list of str; the corpus itself where it has none of them
    """
    verses = corpora.load(local.CORPUS)
    group_of = dict(zip(verses.sentences, verses.groups.tolist(), strict=True))
    sentences = set().union(*tested)
    groups = {group_of[each] for each in sentences & group_of.keys()}
    groups.discard(corpora.UNKNOWN_GROUP)
    others = [each for each in corpus.sentences if each not in sentences]
    kept = [each for each in others if group_of.get(each) not in groups]
    return kept if len(kept) < len(corpus) else corpus


def encode(
    names: Iterable[str],
    corpus: Corpus | Sequence[str],
    sentences: Sequence[str],
    **options: Any,
) -> dict[str, Embeddings]:
    """The vectors of sentences by several embedders, each fitted on a corpus."""
    names = list(names)
    order = names[::-1]  # what is trained is named last and takes longest
    jobs = ((name, corpus, list(sentences), options) for name in order)
    found = dict(zip(order, in_processes(encoded, jobs), strict=True))
    return {name: found[name] for name in names}


def encoded(
    name: str,
    corpus: Corpus | Sequence[str],
    sentences: list[str],
    options: Mapping[str, Any],
) -> Embeddings:
    """`encode` with one embedder: real[n, d], dense or CSR."""
    found = encoder(name, corpus, **options)(sentences)
    return found if sp.issparse(found) else np.array(found)


def bag_of_words(sentences: Sequence[str]) -> sp.csr_array:
    """Counts of lower-cased Penn Treebank tokens, float32[n, vocabulary].

    Section 3.2.4.
    """
    return BagOfWords(treebank_lower).fit_encode(sentences)
