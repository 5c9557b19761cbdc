"""The registry: a decorator says what the catalog shows of an embedder, and its name is known.

A new one is written in the module of its family::

    @embedder("elmo-small", CONTEXTUAL, 256, "ELMo, small model (1 Billion Word Benchmark)", "elmo-small")
    def elmo(name, files, **options):
        return Elmo(*files, name=name, **options)

where the last ``"elmo-small"`` is the asset in ``lib/catalog/catalog.toml`` with its weights. A set of word vectors
says its tokenizer, too, and has all that `composition` names as suffixes, such as ``glove-840b-300d+usif``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lib import catalog
from lib.embedders.base import Embedder
from lib.run import paths
from lib.run.errors import InputError
from lib.run.parameters import nearest, one_of

SPARSE, STATIC, CORPUS, CONTEXTUAL, ENCODER = FAMILIES = (
    "sparse", "static", "trained on the corpus", "contextual", "encoder",
)  # fmt: skip
REAL, FORMAT = "real weights", "format fixtures"
SIZE = re.compile(r"(.+)-([1-9]\d*)d")
MEAN = "mowe"  # the composition that word vectors have without a suffix
OF_TRAINING = ("dim", "epochs", "seed")  # options of word vectors that are trained on the text


@dataclass(frozen=True)
class Entry:
    """A row of the catalog.

    Parameters
    ----------
    maker : callable
        Makes the embedder; called with ``name``, with ``files`` (a list of paths) if it has any, and with options.
    name, family : str
    dim : int or None
        None for the size of the vocabulary.
    source : str
        Which model it is, for people.
    assets : tuple of str
        Ids in the catalog of outside assets.
    license : str
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
        if not self.command:
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
        return REAL if packaged and not self.command else FORMAT

    def make(self, name: str, **options: Any) -> Any:
        """The embedder, or the word vectors."""
        files = {"files": self.files()} if self.assets or self.file else {}
        return self.maker(name=name, **files, **(self.preset | options))


@dataclass(frozen=True)
class Composition:
    """A suffix of word vectors.

    Parameters
    ----------
    maker : callable
        Called with ``name``, ``vectors``, ``tokenize`` and options.
    what, source : str
    dims : str
        Dimensions of the result for word vectors of d dimensions.
    sized : bool
        Whether a number of dimensions may be asked for, as in ``glove-6b-50d+borep-1024d``.
    """

    maker: Callable[..., Embedder]
    what: str
    source: str
    dims: str = "d"
    sized: bool = False


ENTRIES: dict[str, Entry] = {}
COMPOSITIONS: dict[str, Composition] = {}


def embedder(name: str, family: str, dim: int | None, source: str, *assets: str, **fields: Any) -> Callable:
    """Register the decorated class or function under a name; `Entry` says what the fields are.

    The license is that of the first asset, if it is not given.
    """

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


# -- names --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Name:
    """A name taken apart: rows, each with the size asked for, and the composition of their words if there is one."""

    name: str
    rows: list[tuple[Entry, dict[str, int]]]
    composition: str = ""
    size: Mapping[str, int] | None = None

    @property
    def missing(self) -> str:
        """What is not here and how to get it; empty if everything is here."""
        return "; ".join(dict.fromkeys(entry.missing for entry, _ in self.rows if entry.missing))

    def make(self, options: dict[str, Any]) -> Embedder:
        """The embedder; several sets of word vectors are put side by side."""
        from lib.embedders.composition import Concatenation

        made = [self._one(entry, size, options) for entry, size in self.rows]
        return made[0] if len(made) == 1 else Concatenation(self.name, made)

    def _one(self, entry: Entry, size: dict[str, int], options: dict[str, Any]) -> Embedder:
        if entry.words is None:
            return entry.make(self.name, **(size | options))
        if not self.composition:
            size = size | {key: options[key] for key in OF_TRAINING if key in options}
            options = {key: value for key, value in options.items() if key not in OF_TRAINING}
        vectors = entry.make(entry.name, **size)
        maker = COMPOSITIONS[self.composition or MEAN].maker
        return maker(name=self.name, vectors=vectors, **({"tokenize": entry.words} | (self.size or {}) | options))


def parse(parameter: str, name: str) -> Name:
    """Take a name apart; InputError, naming the `parameter` and the nearest names, if there is no such embedder."""
    *bases, last = name.split("+")
    if not bases:
        return Name(name, [_row(parameter, name)])
    suffix, size = _sized(last, COMPOSITIONS)
    if suffix not in COMPOSITIONS:
        raise InputError(f"{parameter}: {name!r} is not known: no composition {last!r}; {nearest(last, COMPOSITIONS)}")
    if size and not COMPOSITIONS[suffix].sized:
        raise InputError(f"{parameter}: {name!r} is not known: {suffix} has the size of its word vectors")
    rows = [_row(parameter, base) for base in bases]
    for entry, _ in rows:
        if entry.words is None:
            sets = [row for row, other in ENTRIES.items() if other.words]
            raise InputError(f"{parameter}: {name!r}: {entry.name} has no word vectors to compose; {nearest('', sets)}")
    return Name(name, rows, suffix, size)


def _row(parameter: str, name: str) -> tuple[Entry, dict[str, int]]:
    if "/" in name and name not in ENTRIES:
        from lib.embedders import hub

        return hub.entry(name), {}
    row, size = _sized(name, ENTRIES)
    entry = ENTRIES[one_of(parameter, row if row in ENTRIES else name, ENTRIES)]
    if size and not entry.sized:
        raise InputError(f"{parameter}: {name!r} is not known: {row} comes in one size only")
    return entry, size


def _sized(name: str, known: Container[str]) -> tuple[str, dict[str, int]]:
    """A name and the size at its end as an option, if the name is not known as it is."""
    match = None if name in known else SIZE.fullmatch(name)
    return (match[1], {"dim": int(match[2])}) if match else (name, {})
