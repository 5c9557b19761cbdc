"""What the name of an embedder says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lib.embedders.base import Embedder
from lib.embedders.entries import COMPOSITIONS, Composition, Entry, WordSet
from lib.embedders.registry import ENTRIES
from lib.run.errors import InputError
from lib.run.parameters import nearest, one_of

SIZE = re.compile(r"(.+)-([1-9]\d*)d")


@dataclass(frozen=True)
class Part:
    """A row and the size that was asked for, None for its own."""

    name: str
    entry: Entry
    dim: int | None

    @property
    def options(self) -> dict[str, Any]:
        """What the row's class is made with."""
        return {} if self.dim is None else {"dim": self.dim}


@dataclass(frozen=True)
class Name:
    """A name in its parts: rows, and the composition of their word vectors if there is one."""

    name: str
    parts: tuple[Part, ...]
    composition: Composition | None
    dim: int | None  # of the composition

    @property
    def family(self) -> str:
        """The family of the first part."""
        return self.parts[0].entry.family

    @property
    def missing(self) -> str:
        """What is not here and how to get it; empty if everything is here."""
        return "; ".join(dict.fromkeys(part.entry.missing for part in self.parts if part.entry.missing))

    def make(self, options: dict[str, Any]) -> Embedder:
        """The embedder; several parts are put side by side."""
        made = [self._one(part, self.name if len(self.parts) == 1 else part.name, options) for part in self.parts]
        if len(made) == 1:
            return made[0]
        from lib.embedders.concatenation import Concatenation

        return Concatenation(self.name, made)

    def _one(self, part: Part, name: str, options: dict[str, Any]) -> Embedder:
        if self.composition is None:
            return part.entry.make(name=name, **part.options, **options)
        assert isinstance(part.entry, WordSet)
        own = options if self.dim is None else {"dim": self.dim} | options
        return self.composition.make(name, part.entry.vectors(**part.options), part.entry.tokenize, own)


def parse(parameter: str, name: str) -> Name:
    """Take a name apart; InputError, naming the `parameter` and the nearest names, if there is no such embedder."""
    *bases, last = name.split("+")
    if not bases:
        return Name(name, (_row(parameter, name),), None, None)
    suffix, dim = _sized(last, COMPOSITIONS)
    if suffix not in COMPOSITIONS:
        raise InputError(f"{parameter}: {name!r} is not known: no composition {last!r}; {nearest(last, COMPOSITIONS)}")
    if dim is not None and not COMPOSITIONS[suffix].sized:
        raise InputError(f"{parameter}: {name!r} is not known: {suffix} has the size of its word vectors")
    parts = tuple(_row(parameter, base) for base in bases)
    for part in parts:
        if not isinstance(part.entry, WordSet):
            sets = [row for row, entry in ENTRIES.items() if isinstance(entry, WordSet)]
            raise InputError(f"{parameter}: {name!r}: {part.name} has no word vectors to compose; {nearest('', sets)}")
    return Name(name, parts, COMPOSITIONS[suffix], dim)


def _row(parameter: str, name: str) -> Part:
    row, dim = _sized(name, ENTRIES)
    entry = ENTRIES[one_of(parameter, row if row in ENTRIES else name, ENTRIES)]
    if dim is not None and not entry.sized:
        raise InputError(f"{parameter}: {name!r} is not known: {row} comes in one size only")
    return Part(name, entry, dim)


def _sized(name: str, known: Any) -> tuple[str, int | None]:
    """A name and the size at its end, if the name is not known as it is."""
    match = None if name in known else SIZE.fullmatch(name)
    return (match[1], int(match[2])) if match else (name, None)
