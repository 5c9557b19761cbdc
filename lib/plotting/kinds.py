"""What each kind of embedder looks like, and what an embedder is called in figures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pandas as pd

from lib import embedders
from lib.base.errors import InputError
from lib.embedders.kinds import (
    POOLED_WORDS,
    PRETRAINED,
    RANDOM,
    STATIC_AVERAGE,
    TRAINED_HERE,
    UNKNOWN,
    WORD_COUNTS,
)
from lib.plotting.style import look

AVERAGE = "pretrained, words averaged"
NETWORK = "pretrained network"
# The colors and markers of `look`, in this order, in every figure.
LEGEND = (AVERAGE, NETWORK, TRAINED_HERE, WORD_COUNTS, UNKNOWN)
# A random network learns nothing, so what is pretrained of it are its words.
POOLED = (STATIC_AVERAGE, POOLED_WORDS, RANDOM)
SHORT = {
    "tfidf": "tf-idf",
    "bow": "word counts",
    "glove-6b-50d": "GloVe",
    "spacy-md": "spaCy",
    "spacy-md-cnn": "spaCy network",
    "wordllama": "WordLlama",
    "minilm-cls": "MiniLM [CLS]",
    "minilm-avg": "MiniLM",
    "paraphrase-minilm-l3-cls": "MiniLM-L3 [CLS]",
    "paraphrase-minilm-l3-avg": "MiniLM-L3",
    "use-multilingual-q8": "USE",
    "w2v-corpus": "word2vec, trained here",
    "fasttext-corpus": "fastText words, trained here",
    "fasttext-corpus-sub": "fastText, trained here",
    "sent2vec-corpus-uni": "Sent2Vec, trained here",
    "sent2vec-corpus-bi": "Sent2Vec bigrams, trained here",
    "pv-dbow-corpus": "PV-DBOW, trained here",
}
COMPOSED = {"sif": "SIF", "usif": "uSIF", "sowe": "sum"}


def group(name: str) -> str:
    """Which of `LEGEND` an embedder belongs to: `UNKNOWN` outside the registry."""
    try:
        kind = embedders.kind(name)
    except InputError:
        return UNKNOWN
    if kind.origin != PRETRAINED:
        return kind.origin
    return AVERAGE if kind.architecture in POOLED else NETWORK


def groups(names: Iterable[str]) -> pd.Series:
    """The group of each embedder, in the order of the names, indexed by name."""
    names = list(names)
    return pd.Series([group(name) for name in names], names, dtype=object)


def display_name(name: str) -> str:
    """A short name for figures, such as ``GloVe + SIF`` or ``MiniLM, int8``.

    Code that its user has named (``mine=path/to/file.py:function``) has that name;
    others stay as they are.
    """
    if is_named(name):
        return name.partition("=")[0]
    full, *forms = name.split("@")
    if forms:
        return ", ".join([display_name(full), *forms])
    words, plus, method = name.partition("+")
    if words not in SHORT:
        return name
    if method.startswith("random-lstm"):
        method = "random LSTM"
    return SHORT[words] + (f" + {COMPOSED.get(method, method)}" if plus else "")


def is_named(name: str) -> bool:
    """Whether an embedder's user has named it: ``mine=path/to/file.py:function``."""
    return re.fullmatch(r"[\w.-]{1,40}=.+:.+", name) is not None


def marks(kinds: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The color and marker of each kind, in the order of a legend.

    A kind of embedder (`LEGEND`) has the same ones in every figure. Other kinds follow
    in the order in which they come.
    """
    present = list(dict.fromkeys(kinds))
    fixed = [kind for kind in LEGEND if kind in present]
    others = [kind for kind in present if kind not in LEGEND]
    places = {kind: LEGEND.index(kind) for kind in fixed}
    first = len(LEGEND) if fixed else 0
    places |= {kind: first + i for i, kind in enumerate(others)}
    return {kind: look(place) for kind, place in places.items()}
