"""How well a probing task is solved on frozen embeddings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lib import transfer
from lib.corpora import Corpus
from lib.embedders.base import Embeddings, stack
from lib.probing.probe import Probe
from lib.run import arrays
from lib.run.errors import InputError

Encode = Callable[[Sequence[str]], Embeddings]


def reusing(corpus: Corpus, vectors: Embeddings, encode: Encode) -> Encode:
    """A function as `encode` that takes the embeddings of a corpus's sentences from those that are there.

    All sentences of SentLen and WC, and half of BShift, stand in the corpus that they were made from.

    Parameters
    ----------
    vectors : float[n, dim] or CSR, the embeddings of the corpus by the same embedder
    """
    place = {sentence: i for i, sentence in enumerate(corpus.sentences)}

    def look_up(sentences: Sequence[str]) -> Embeddings:
        known = [place[sentence] for sentence in sentences if sentence in place]
        new = [sentence for sentence in sentences if sentence not in place]
        parts = ([vectors[known]] if known else []) + ([encode(new)] if new else [])
        is_new = np.array([sentence not in place for sentence in sentences])
        return stack(parts)[np.argsort(np.argsort(is_new, kind="stable"))]

    return look_up


def evaluate(
    probe: Probe,
    encode: Encode,
    classifier: str | transfer.Classifier = "logistic",
    **options: Any,
) -> transfer.Result:
    """Accuracy on the test split of a classifier that was trained on train and whose settings were chosen on dev.

    Parameters
    ----------
    encode : a function from sentences to embeddings, such as ``partial(store.embed, embedder)`` or `reusing` it. It is
        called once, with the sentences of all splits; an embedder that it fits on them is transductive.
    classifier, options : `lib.transfer.Options`

    Raises
    ------
    InputError
        Another number of embeddings than sentences, and what `lib.transfer.train_test` raises.
    """
    sentences = probe.sentences
    vectors = arrays.matrix("encode", encode(sentences))
    if vectors.shape[0] != len(sentences):
        raise InputError(f"encode: made {vectors.shape[0]} embeddings of {len(sentences)} sentences; make one for each")
    ends = np.cumsum([0, *map(len, probe.splits)])
    train, dev, test = (
        (vectors[start:end], split.labels) for start, end, split in zip(ends, ends[1:], probe.splits, strict=False)
    )
    return transfer.train_test(train, test, dev, classifier=classifier, **options)
