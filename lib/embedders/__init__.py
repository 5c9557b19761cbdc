"""The registry of sentence embedders: `load` makes one by name, `catalog` lists them all.

A name is a row of the catalog (``minilm-avg``); or word vectors and a composition (``glove-840b-300d+usif``), where
several sets are put side by side (``glove-6b-50d+w2v-corpus+power-means``). What is trained or projected may be asked
for at a size: ``w2v-corpus-300d``, ``glove-6b-50d+borep-1024d``. Any other sentence encoder is named by its id on the
model hub (``sentence-transformers/all-mpnet-base-v2``) or by its folder (`hub.load`).
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import pandas as pd

from lib.embedders import hub
from lib.embedders.base import Concatenation, Embedder, Embeddings
from lib.embedders.registry import COMPOSITIONS, ENTRIES, FAMILIES, GROUPS, Composition, Entry, expand
from lib.run.errors import InputError
from lib.run.parameters import nearest, one_of, texts

# They register nothing, and are imported where they are used.
WITHOUT_ENTRIES = {"bert", "finetuning", "own", "urae_network", "words"}

for module in pkgutil.iter_modules(__path__):
    if module.name not in WITHOUT_ENTRIES:  # it may register embedders
        import_module(f"{__name__}.{module.name}")

__all__ = [
    "GROUPS",
    "Embedder",
    "Embeddings",
    "catalog",
    "composes_words",
    "compositions",
    "family",
    "load",
    "missing",
    "names",
    "parse",
    "select",
]


def names() -> list[str]:
    """The names of the catalog's rows, in its order. Word-vector sets take a composition as well (`compositions`)."""
    return [entry.name for entry in _entries()]


def _entries() -> list[Entry]:
    """By family, and then by name."""
    return sorted(ENTRIES.values(), key=lambda entry: (FAMILIES.index(entry.family), entry.name))


def select(parameter: str, chosen: Sequence[str], at_least: int = 1) -> tuple[list[str], dict[str, str]]:
    """Those of some embedders that are on this machine; and the others, each with what it lacks and how to get it.

    `chosen` may hold names of groups (`GROUPS`), such as "installed" or "table-1". Raises InputError, naming the
    `parameter`, for an unknown or repeated name, or if fewer than `at_least` are here.
    """
    wanted = texts(parameter, expand(texts(parameter, chosen)))
    absent = missing(wanted, parameter)
    here = [name for name in wanted if name not in absent]
    if len(here) < at_least:
        raise InputError(f"{parameter}: names {len(here)} embedders that are here; give at least {at_least}")
    return here, absent


def missing(chosen: Sequence[str], parameter: str = "embedder") -> dict[str, str]:
    """Those of some embedders that cannot be loaded here, each with what it lacks and how to get it."""
    lacking = {name: parse(parameter, name).missing for name in chosen}
    return {name: reason for name, reason in lacking.items() if reason}


def family(name: str) -> str:
    """The family that an embedder belongs to: sparse, static, trained on the corpus, contextual or encoder."""
    entry, _ = parse("embedder", name).rows[0]
    return entry.family


def composes_words(name: str) -> bool:
    """Whether an embedder composes static word vectors: their average, or by a suffix (`compositions`)."""
    return all(entry.words for entry, _ in parse("embedder", name).rows)


def load(name: str, **options: Any) -> Embedder:
    """Make an embedder by name.

    Parameters
    ----------
    name : str
    **options
        Those of its class; with a composition, of the composition's class.

    Raises
    ------
    InputError
        An unknown name or option; weights that are not here: with the file, its address and the folder to put it in.
    """
    parsed = parse("embedder", name)
    if parsed.missing:
        raise InputError(f"embedder: {name} is not available; {parsed.missing}")
    try:
        return parsed.make(options)
    except TypeError as error:
        raise InputError(f"embedder: {name} does not take these options: {error}") from error


COLUMNS = ["name", "family", "dim", "source", "license", "available", "how_to_get", "tried_on"]


def catalog() -> pd.DataFrame:
    """One row an embedder: name, family, dim, source, license, available, how_to_get, tried_on.

    `dim` is NA for the size of the vocabulary. `tried_on` says whether our numbers come from the real weights or
    whether the reader has been tried on small files in their official format only.
    """
    rows = [[getattr(row, column) for column in COLUMNS] for row in _entries()]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"dim": "Int64"})


def compositions() -> pd.DataFrame:
    """One row a suffix of word-vector sets: suffix, what, dim (for word vectors of d dimensions), source."""
    rows = [(f"+{suffix}", part.what, part.dims, part.source) for suffix, part in COMPOSITIONS.items()]
    return pd.DataFrame(rows, columns=["suffix", "what", "dim", "source"])


# -- names taken apart ----------------------------------------------------------------------------

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
    suffix, size = _sized(parameter, last, COMPOSITIONS)
    if suffix not in COMPOSITIONS:
        raise InputError(f"{parameter}: {name!r} is not known: no composition {last!r}; {nearest(last, COMPOSITIONS)}")
    rows = [_row(parameter, base) for base in bases]
    for entry, _ in rows:
        if entry.words is None:
            sets = [row for row, other in ENTRIES.items() if other.words]
            raise InputError(f"{parameter}: {name!r}: {entry.name} has no word vectors to compose; {nearest('', sets)}")
    return Name(name, rows, suffix, size)


def _row(parameter: str, name: str) -> tuple[Entry, dict[str, int]]:
    if "/" in name and name not in ENTRIES:
        return hub.entry(name), {}
    row, size = _sized(parameter, name, ENTRIES)
    return ENTRIES[one_of(parameter, row, ENTRIES)], size


def _sized(parameter: str, name: str, known: Mapping[str, Entry | Composition]) -> tuple[str, dict[str, int]]:
    """A name and the size at its end as an option, if the name without the size is known; InputError if it has none."""
    match = None if name in known else SIZE.fullmatch(name)
    if not match or match[1] not in known:
        return name, {}
    if not known[match[1]].sized:
        raise InputError(f"{parameter}: {name!r} is not known: {match[1]} comes in one size only; give {match[1]}")
    return match[1], {"dim": int(match[2])}
