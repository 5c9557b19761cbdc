"""The registry: a decorator states an embedder's name and its catalog entry.

A new one is written in a module of this package, its own or that of its family::

    @embedder(
        "elmo-small", CONTEXTUAL, 256,
        "ELMo, small model (1 Billion Word Benchmark)", "elmo-small", kind=ELMO,
    )
    class Elmo(Embedder):
        def __init__(self, options, weights, name): ...

where the last ``"elmo-small"`` is the asset in ``lib/catalog/catalog.toml`` with its
weights, whose paths are the first arguments, and ``ELMO`` is a `kinds.Kind`, by which
studies compare embedders; every embedder needs one. A set of word vectors also states
its tokenizer, and takes every suffix registered with `composition`, such as
``glove-840b-300d+usif``. Every embedder with dense vectors takes every suffix
registered with `register_quantization`, such as ``minilm-avg@int8``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from lib import catalog
from lib.base import paths
from lib.base.errors import InputError
from lib.embedders.kinds import Kind, composed

SPARSE = "sparse"
STATIC = "static"
CORPUS = "trained on the corpus"
CONTEXTUAL = "contextual"
ENCODER = "encoder"
FAMILIES = (SPARSE, STATIC, CORPUS, CONTEXTUAL, ENCODER)
COLUMNS = (
    "name", "family", "dim", "source", "license", "available", "how_to_get", "tried_on",
)  # fmt: skip
OF_KIND = ("architecture", "objective", "reads_order")


@dataclass(frozen=True)
class CatalogEntry:
    """A row of the catalog.

    Parameters
    ----------
    maker : callable
        Makes the embedder; called with the paths of its files, if it has any, with
        ``name``, and with options.
    name, family : str
    dim : int or None
        None for the size of the vocabulary.
    source : str
        Which model it is, for people.
    assets : tuple of str
        Ids in the catalog of outside assets.
    kind : Kind
        With `words`, that of their plain average.
    license : str
        By default that of the first asset.
    file : str
        The one file that it needs, relative to a data folder; by default all files of
        its assets.
    command : str
        What makes that file, where no asset has it.
    package : (str, str), optional
        A module that must be importable, and how to get it.
    preset : dict
        Options that the name stands for.
    sized : bool
        Whether a number of dimensions may be asked for in the name, as in
        ``w2v-corpus-300d``.
    words : callable, optional
        The tokenizer of word vectors: `maker` gives a mapping from words to vectors, or
        a `trained.WordTraining` that leads to one. Alone they are averaged.
    """

    maker: Callable[..., Any]
    name: str
    family: str
    dim: int | None
    source: str
    assets: tuple[str, ...]
    kind: Kind
    license: str
    file: str = ""
    command: str = ""
    package: tuple[str, str] | None = None
    preset: Mapping[str, Any] = field(default_factory=dict)
    sized: bool = False
    words: Callable[[str], list[str]] | None = None

    def files(self) -> list[Path]:
        """The files that it needs.

        Raises InputError, which says how to get them, if one is missing.
        """
        if not self.file:
            return [file for id in self.assets for file in catalog.locate(id)]
        if self.assets:
            return [catalog.file(self.file)]
        file = catalog.find(self.file)
        if file is None:
            raise InputError(
                f"no {self.file} in {paths.DATA} or another data folder; "
                f"to make it: {self.command}"
            )
        return [file]

    @property
    def missing(self) -> str:
        """What is missing and how to get it, in one phrase; empty if nothing is."""
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
        assets = [catalog.get(id).how_to_get for id in self.assets]
        steps = [self.command, *assets, install]
        return (
            ", ".join(filter(None, steps)) or "nothing: computed from the text at hand"
        )

    @property
    def tried_on(self) -> str:
        """Whether it has run on the real weights here, or only on small files.

        The small files are in the format of the weights.
        """
        packaged = all(catalog.get(id).access == "package" for id in self.assets)
        return (
            "real weights"
            if packaged and not self.command
            else "never run on real weights"
        )

    def row(self) -> dict[str, Any]:
        """What the catalog says of it, by column."""
        own = {column: getattr(self, column) for column in COLUMNS}
        return own | {column: getattr(self.kind, column) for column in OF_KIND}

    def make(self, name: str, **options: Any) -> Any:
        """The embedder, or the word vectors.

        Raises InputError for a file of a package that has another sha256 than the
        catalog says.
        """
        for id in self.assets:
            catalog.check(id)
        return self.maker(*self.files(), name=name, **{**self.preset, **options})


@dataclass(frozen=True)
class Composition:
    """A suffix of word vectors.

    Parameters
    ----------
    maker : callable
        Called with ``name``, ``vectors``, ``tokenize`` and options; returns an
        Embedder.
    what, source : str
    architecture : str
    objective : str
        What it is trained for itself, on the text at hand; `kinds.NO_TRAINING` if it is
        not.
    reads_order : bool
    dims : str
        Dimensions of the result for word vectors of d dimensions.
    sized : bool
        Whether a number of dimensions may be asked for, as in
        ``glove-6b-50d+borep-1024d``.
    """

    maker: Callable[..., Any]
    what: str
    source: str
    architecture: str
    objective: str
    reads_order: bool
    dims: str = "d"
    sized: bool = False

    def kind(self, words: list[Kind]) -> Kind:
        """What it is over sets of word vectors of these kinds."""
        return composed(words, self.architecture, self.objective, self.reads_order)


@dataclass(frozen=True)
class Form:
    """A smaller form of any dense vectors, a suffix after ``@``.

    Parameters
    ----------
    maker : callable
        Called with an embedder, and with the number in the suffix if it has one;
        returns an Embedder.
    suffix, what, source, size : str
        In the suffix, N stands for a whole number. `size` is that of a vector of d
        dimensions.
    """

    maker: Callable[..., Any]
    suffix: str
    what: str
    source: str
    size: str

    def match(self, suffix: str) -> tuple[int, ...] | None:
        """The number in a suffix of this form, if it has one; None for another form."""
        found = re.fullmatch(self.suffix.replace("N", r"([1-9]\d{0,5})"), suffix)
        return tuple(map(int, found.groups())) if found else None


ENTRIES: dict[str, CatalogEntry] = {}
COMPOSITIONS: dict[str, Composition] = {}
FORMS: list[Form] = []


def embedder(
    name: str,
    family: str,
    dim: int | None,
    source: str,
    *assets: str,
    kind: Kind,
    **fields: Any,
) -> Callable:
    """Register the decorated class or function under a name.

    `CatalogEntry` says what the fields are.
    """

    def register(maker: Callable) -> Callable:
        if not fields.get("license"):
            fields["license"] = catalog.get(assets[0]).license
        ENTRIES[name] = CatalogEntry(
            maker, name, family, dim, source, assets, kind, **fields
        )
        return maker

    return register


def composition(suffix: str, what: str, source: str, **fields: Any) -> Callable:
    """Register the decorated class under a suffix of word vectors.

    `Composition` says what the fields are.
    """

    def register(maker: Callable) -> Callable:
        COMPOSITIONS[suffix] = Composition(maker, what, source, **fields)
        return maker

    return register


def register_quantization(what: str, source: str, size: str) -> Callable:
    """Register the decorated class as a form of other embedders' vectors.

    The class says its suffix.
    """

    def register(maker: Any) -> Any:
        FORMS.append(Form(maker, maker.suffix, what, source, size))
        return maker

    return register


# -- presets, so that studies can speak of the same embedders --------------------------

_TABLE_1 = pd.read_csv(Path(__file__).with_name("n2o_table1.csv"))
PRESETS = {
    # one embedder for each idea, of what installs with pip or is trained on the text at
    # hand
    "installed": (
        "tfidf", "bow", "glove-6b-50d", "glove-6b-50d+sif", "glove-6b-50d+usif",
        "glove-6b-50d+random-lstm-128d", "spacy-md", "spacy-md+sif", "spacy-md+usif",
        "wordllama", "spacy-md-cnn", "minilm-cls", "minilm-avg",
        "paraphrase-minilm-l3-cls", "paraphrase-minilm-l3-avg", "use-multilingual-q8",
        "w2v-corpus", "fasttext-corpus", "fasttext-corpus-sub", "sent2vec-corpus-uni",
        "sent2vec-corpus-bi", "pv-dbow-corpus",
    ),
    "table-1": tuple(_TABLE_1["embedder"]),  # of the N2O paper
}  # fmt: skip


def expand(chosen: Sequence[str]) -> list[str]:
    """The names, with each preset replaced by its members.

    A preset does not repeat what stands before it.
    """
    names: list[str] = []
    for name in chosen:
        if name in PRESETS:
            names += [member for member in PRESETS[name] if member not in names]
        else:
            names.append(name)
    return names
