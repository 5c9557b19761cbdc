"""What the registry's rows and suffixes are.

A word-vector set is a row; compositions are suffixes that turn any of them into further embedders, such as
``glove-840b-300d+usif``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from lib import catalog
from lib.corpora import text
from lib.embedders.base import Embedder
from lib.embedders.tokens import Tokenizer
from lib.run import paths
from lib.run.errors import InputError
from lib.run.parameters import one_of

STATIC, CORPUS, SPARSE, CONTEXTUAL, ENCODER = "static", "trained on the corpus", "sparse", "contextual", "encoder"
REAL, FORMAT = "real weights", "format fixtures"


@dataclass(frozen=True)
class Entry:
    """A row of the catalog.

    Attributes
    ----------
    family, source, license : str
    dim : int, or None for the size of the vocabulary
    make : makes the embedder; takes ``name`` and options
    assets : ids in the catalog of outside assets; without any, all that it needs is the text at hand
    files : the files of the assets that it needs; empty for all of them
    made_here : for weights that the project makes itself: a file in a data folder, and the command that makes it
    module : a module that must be importable, and how to get it
    tried_on : whether it has run on the real weights, or on small files in their format only
    sized : whether a number of dimensions may be asked for in the name, as in ``w2v-corpus-300d``
    """

    family: str
    dim: int | None
    source: str
    license: str
    make: Callable[..., Embedder]
    assets: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    made_here: tuple[str, str] = ("", "")
    module: tuple[str, str] = ("", "")
    tried_on: str = REAL
    sized: bool = False

    @property
    def missing(self) -> str:
        """What is not here and how to get it, one phrase; empty if everything is here."""
        file, command = self.made_here
        if file and catalog.find(file) is None:
            return f"no {file} in {paths.DATA} or another data folder; to make it: {command}"
        try:
            for path in self.files:
                catalog.file(path)
            for asset in self.assets if not self.files else ():
                catalog.locate(asset)
        except InputError as error:
            return str(error)
        module, install = self.module
        return f"{module} is not installed; {install}" if module and find_spec(module) is None else ""

    @property
    def how_to_get(self) -> str:
        """What a person has to do on any machine, one phrase."""
        steps = [self.made_here[1], *(catalog.get(asset).how_to_get for asset in self.assets), self.module[1]]
        return ", ".join(step for step in steps if step) or "nothing: computed from the text at hand"


@dataclass(frozen=True)
class WordSet(Entry):
    """A row of word vectors, which alone gives their average.

    Attributes
    ----------
    vectors : gives the mapping, or the `trained.Training` that leads to one
    tokenize : the tokenizer that fits them
    """

    vectors: Callable[..., Any] = dict
    tokenize: Tokenizer = text.word_tokens


@dataclass(frozen=True)
class Composition:
    """A suffix of word-vector sets, and the class that composes them.

    Attributes
    ----------
    what, source : for people
    dims : dimensions of the result for word vectors of d dimensions, in words
    weighted : whether it takes word probabilities
    sized : whether a number of dimensions may be asked for, as in ``glove-6b-50d+borep-1024d``
    """

    module: str
    kind: str
    what: str
    source: str
    dims: str = "d"
    weighted: bool = False
    sized: bool = False

    def make(self, name: str, vectors: Any, tokenize: Tokenizer, options: dict[str, Any]) -> Embedder:
        """The composition of some word vectors."""
        kind = getattr(import_module(f"lib.embedders.{self.module}"), self.kind)
        if self.weighted:
            options = options | {"probabilities": _probabilities(options.get("probabilities", "wordfreq"))}
        return kind(vectors=vectors, **({"name": name, "tokenize": tokenize} | options))


COMPOSITIONS = {
    "mowe": Composition(
        "composition", "Average", "mean of word embeddings, as without a suffix", "Mikolov et al. 2013"
    ),
    "sowe": Composition("composition", "Sum", "sum of word embeddings", "White et al. 2015, section 3.2.3"),
    "sif": Composition("composition", "SIF", "smoothed inverse frequency", "Arora et al. 2017", weighted=True),
    "usif": Composition("composition", "USIF", "unsupervised SIF", "Ethayarajh 2018, algorithm 1", weighted=True),
    "power-means": Composition(
        "power_means", "PowerMeans", "mean, maximum and minimum, concatenated", "Rücklé et al. 2018", dims="3 d"
    ),
    "urae": Composition("urae", "URAE", "unfolding recursive autoencoder", "Socher et al. 2011"),
    "borep": Composition(
        "random_encoders", "BOREP", "random projection, maximum", "Wieting and Kiela 2019", dims="4096", sized=True
    ),
    "random-lstm": Composition(
        "random_encoders", "RandomLSTM", "random LSTM, maximum", "Wieting and Kiela 2019", dims="4096", sized=True
    ),
}
PROBABILITIES = ("wordfreq", "enwiki", "corpus")


def _probabilities(given: str | Mapping[str, float] | None) -> Mapping[str, float] | None:
    """p(w) by the name of their source; "corpus" for those of the fitted text."""
    if not isinstance(given, str):
        return given
    one_of("probabilities", given, PROBABILITIES)
    if given == "corpus":
        return None
    if given == "enwiki":
        return text.read_probabilities(catalog.file("frequencies/enwiki_vocab_min200.txt"))
    return text.word_probabilities()
