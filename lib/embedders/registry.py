"""The registry: a decorator says what the catalog shows of an embedder, and its name is known.

A new one is written in a module of this package, its own or that of its family::

    @embedder("elmo-small", CONTEXTUAL, 256, "ELMo, small model (1 Billion Word Benchmark)", "elmo-small")
    class Elmo(Embedder):
        def __init__(self, options, weights, name): ...

where the last ``"elmo-small"`` is the asset in ``lib/catalog/catalog.toml`` with its weights, whose paths are the first
arguments. A set of word vectors says its tokenizer, too, and has all that `composition` names as suffixes, such as
``glove-840b-300d+usif``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lib import catalog
from lib.catalog import published
from lib.run import paths
from lib.run.errors import InputError

SPARSE, STATIC, CORPUS, CONTEXTUAL, ENCODER = FAMILIES = (
    "sparse", "static", "trained on the corpus", "contextual", "encoder",
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A row of the catalog.

    Parameters
    ----------
    maker : callable
        Makes the embedder; called with the paths of its files, if it has any, with ``name``, and with options.
    name, family : str
    dim : int or None
        None for the size of the vocabulary.
    source : str
        Which model it is, for people.
    assets : tuple of str
        Ids in the catalog of outside assets.
    license : str
        By default that of the first asset.
    file : str
        The one file that it needs, relative to a data folder; by default all files of its assets.
    command : str
        What makes that file, where no asset has it.
    package : (str, str), optional
        A module that must be importable, and how to get it.
    preset : dict
        Options that the name stands for.
    sized : bool
        Whether a number of dimensions may be asked for in the name, as in ``w2v-corpus-300d``.
    words : callable, optional
        The tokenizer of word vectors: `maker` gives a mapping from words to vectors, or a `trained.Training` that
        leads to one. Alone they are averaged.
    """

    maker: Callable[..., Any]
    name: str
    family: str
    dim: int | None
    source: str
    assets: tuple[str, ...]
    license: str
    file: str = ""
    command: str = ""
    package: tuple[str, str] | None = None
    preset: Mapping[str, Any] = field(default_factory=dict)
    sized: bool = False
    words: Callable[[str], list[str]] | None = None

    def files(self) -> list[Path]:
        """The files that it needs; InputError, which says how to get them, where one is missing."""
        if not self.file:
            return [file for id in self.assets for file in catalog.locate(id)]
        if self.assets:
            return [catalog.file(self.file)]
        found = catalog.find(self.file)
        if found is None:
            raise InputError(f"no {self.file} in {paths.DATA} or another data folder; to make it: {self.command}")
        return [found]

    @property
    def missing(self) -> str:
        """What is not here and how to get it, one phrase; empty if everything is here."""
        try:
            self.files()
        except InputError as error:
            return str(error)
        if self.package and find_spec(self.package[0]) is None:
            return f"{self.package[0]} is not installed; {self.package[1]}"
        return ""

    @property
    def available(self) -> bool:
        """Whether everything is here."""
        return not self.missing

    @property
    def how_to_get(self) -> str:
        """What a person has to do on any machine, one phrase."""
        install = self.package[1] if self.package else ""
        steps = [self.command, *(catalog.get(id).how_to_get for id in self.assets), install]
        return ", ".join(filter(None, steps)) or "nothing: computed from the text at hand"

    @property
    def tried_on(self) -> str:
        """Whether it has run on the real weights here, or on small files in their format only."""
        packaged = all(catalog.get(id).access == "package" for id in self.assets)
        return "real weights" if packaged and not self.command else "format fixtures"

    def make(self, name: str, **options: Any) -> Any:
        """The embedder, or the word vectors."""
        return self.maker(*self.files(), name=name, **(self.preset | options))


@dataclass(frozen=True)
class Composition:
    """A suffix of word vectors.

    Parameters
    ----------
    maker : callable
        Called with ``name``, ``vectors``, ``tokenize`` and options; returns an Embedder.
    what, source : str
    dims : str
        Dimensions of the result for word vectors of d dimensions.
    sized : bool
        Whether a number of dimensions may be asked for, as in ``glove-6b-50d+borep-1024d``.
    """

    maker: Callable[..., Any]
    what: str
    source: str
    dims: str = "d"
    sized: bool = False


ENTRIES: dict[str, Entry] = {}
COMPOSITIONS: dict[str, Composition] = {}


def embedder(name: str, family: str, dim: int | None, source: str, *assets: str, **fields: Any) -> Callable:
    """Register the decorated class or function under a name; `Entry` says what the fields are."""

    def register(maker: Callable) -> Callable:
        license = fields.get("license") or catalog.get(assets[0]).license
        ENTRIES[name] = Entry(maker, name, family, dim, source, assets, **(fields | {"license": license}))
        return maker

    return register


def composition(suffix: str, what: str, source: str, **fields: Any) -> Callable:
    """Register the decorated class under a suffix of word vectors; `Composition` says what the fields are."""

    def register(maker: Callable) -> Callable:
        COMPOSITIONS[suffix] = Composition(maker, what, source, **fields)
        return maker

    return register


# -- groups, so that studies can speak of the same embedders --------------------------------------

GROUPS = {
    # one embedder for each idea, of what installs with pip or is trained on the text at hand
    "installed": (
        "tfidf", "bow", "glove-6b-50d", "glove-6b-50d+sif", "glove-6b-50d+usif", "glove-6b-50d+random-lstm-128d",
        "wordllama", "minilm-cls", "minilm-avg", "use-multilingual-q8", "w2v-corpus", "fasttext-corpus",
        "fasttext-corpus-sub", "sent2vec-corpus-uni", "sent2vec-corpus-bi", "pv-dbow-corpus",
    ),
    "table-1": tuple(published.load("n2o_table1")["embedder"]),  # of the N2O paper
}  # fmt: skip


def expand(chosen: Sequence[str]) -> list[str]:
    """The names, with each group in the place of its name; a group does not repeat what stands before it."""
    names: list[str] = []
    for name in chosen:
        names += [member for member in GROUPS[name] if member not in names] if name in GROUPS else [name]
    return names
