"""Kinds of embedders, by which studies compare them.

An embedder's kind is stated where it is registered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

UNKNOWN = "unknown"

# Architectures. A static average is the plain mean of the vectors of a sentence's
# words, which are the same in every sentence. If n-grams have vectors, too, the average
# depends on the order of the words.
WORD_COUNTS = "word counts"
PROJECTED_COUNTS = "projected word counts"
STATIC_AVERAGE = "static average"
NGRAM_AVERAGE = "average of words and n-grams"
POOLED_WORDS = "word vectors pooled in another way"
RANDOM = "random network"
PARAGRAPH = "paragraph vector"
RECURSIVE = "recursive network"
RECURRENT = "recurrent network"
CONVOLUTIONAL = "convolutional network"
TRANSFORMER = "transformer"

# Training objectives
NO_TRAINING = "none"
CONTEXT = "words in context"  # word2vec, GloVe, fastText, Sent2Vec, paragraph vectors
LANGUAGE_MODEL = "language model"
# Words are reconstructed, by an autoencoder or by principal components.
RECONSTRUCTION = "reconstruction"
INFERENCE = "natural language inference"
# Pairs that belong together against other pairs; also ranking translations.
CONTRASTIVE = "contrastive"
SEVERAL_TASKS = "several tasks"

HERE = "the text at hand"
PRETRAINED = "pretrained"
TRAINED_HERE = "trained here"
ORIGINS = (PRETRAINED, TRAINED_HERE, WORD_COUNTS)


@dataclass(frozen=True)
class Kind:
    """What an embedder is.

    Parameters
    ----------
    architecture, objective : str
        One of the constants above, `UNKNOWN` if nobody says which.
    reads_order : bool or None
        Whether reordering the words changes the vector; None if nobody says.
    method, text : str
        How it was trained, and on what: `HERE` where it learns from the text at hand.
        Embedders that share both are near copies.

    Examples
    --------
    >>> from lib import embedders
    >>> embedders.kind("glove-6b-50d+sif").architecture
    'word vectors pooled in another way'
    """

    architecture: str
    objective: str
    reads_order: bool | None
    method: str
    text: str

    @property
    def origin(self) -> str:
        """Where what it has learned comes from: one of `ORIGINS`, or `UNKNOWN`."""
        if self.architecture == WORD_COUNTS:
            return WORD_COUNTS
        return {HERE: TRAINED_HERE, UNKNOWN: UNKNOWN}.get(self.text, PRETRAINED)


def unknown(name: str, text: str = UNKNOWN) -> Kind:
    """The kind of an unknown embedder, which is related only to itself."""
    return Kind(UNKNOWN, UNKNOWN, None, name, text)


def composed(
    words: list[Kind], architecture: str, objective: str, reads_order: bool
) -> Kind:
    """The kind of a composition of one or several sets of word vectors.

    `objective` is the composition's own training objective on the text at hand; with
    `NO_TRAINING`, it keeps the objective of the words.
    """
    texts = [kind.text for kind in words]
    text = HERE if HERE in texts else _joined(texts)
    method = _joined(kind.method for kind in words)
    if objective != NO_TRAINING:
        return Kind(architecture, objective, reads_order, method, HERE)
    objectives = _joined(kind.objective for kind in words)
    return Kind(architecture, objectives, reads_order, method, text)


def _joined(names: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(names))
