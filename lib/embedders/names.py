"""Names of embedders: rows of the catalog, their sizes, and compositions of word vectors."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import Any, NamedTuple

import numpy as np

from lib.embedders import hub
from lib.embedders.base import Embedder
from lib.embedders.registry import COMPOSITIONS, ENTRIES, Entry
from lib.run.errors import InputError
from lib.run.parameters import nearest, one_of

SIZE = re.compile(r"(.+)-([1-9]\d*)d")
MEAN = "mowe"  # the composition that word vectors have without a suffix
OF_TRAINING = ("dim", "epochs", "seed")  # options of word vectors that are trained on the text


class Name(NamedTuple):
    """A name taken apart.

    Attributes
    ----------
    name : str
    rows : list of (Entry, dict)
        Rows of the catalog, each with the size asked for.
    composition : str
        Of their words; empty if none is named.
    size : dict
        Asked for of the composition.
    """

    name: str
    rows: list[tuple[Entry, dict[str, int]]]
    composition: str = ""
    size: dict[str, int] = {}  # noqa: RUF012 - never changed

    @property
    def missing(self) -> str:
        """What is not here and how to get it; empty if everything is here."""
        return "; ".join(dict.fromkeys(entry.missing for entry, _ in self.rows if entry.missing))

    def make(self, options: dict[str, Any]) -> Embedder:
        """The embedder; several sets of word vectors are put side by side."""
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
        return maker(name=self.name, vectors=vectors, **({"tokenize": entry.words} | self.size | options))


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


class Concatenation(Embedder):
    """The vectors of several embedders, one beside the other; float32[n, sum of their dimensions].

    Parameters
    ----------
    name : str
    parts : sequence of Embedder
        With dense vectors, at least two.
    """

    def __init__(self, name: str, parts: Sequence[Embedder]) -> None:
        self.name, self.parts = name, list(parts)
        self.needs_fit = any(part.needs_fit for part in parts)

    @property
    def settings(self) -> dict[str, Any]:
        return {"parts": [{"name": part.name, "version": part.version} | part.settings for part in self.parts]}

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        for part in self.parts:
            part.fit(sentences, show_progress_bar)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return np.hstack([part.encode(sentences) for part in self.parts])

    def state(self) -> dict[str, np.ndarray]:
        return {f"{i}/{key}": array for i, part in enumerate(self.parts) for key, array in part.state().items()}

    def restore(self, state: dict[str, np.ndarray], fitted_on: str) -> Embedder:
        for i, part in enumerate(self.parts):
            own = {key.removeprefix(f"{i}/"): array for key, array in state.items() if key.startswith(f"{i}/")}
            part.restore(own, fitted_on if part.needs_fit else "")
        return super().restore(state, fitted_on)
