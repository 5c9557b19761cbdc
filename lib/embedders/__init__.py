"""The registry of sentence embedders: `load` makes one by name, `catalog` lists them all.

A name is a row of the catalog (``minilm-avg``); or word vectors and a composition (``glove-840b-300d+usif``), where
several sets are put side by side (``glove-6b-50d+w2v-corpus+power-means``). What is trained or projected may be asked
for at a size: ``w2v-corpus-300d``, ``glove-6b-50d+borep-1024d``. Any other sentence encoder is named by its id on the
model hub (``sentence-transformers/all-mpnet-base-v2``) or by its folder (`hub.load`).
"""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pandas as pd

from lib.embedders.base import Embedder, Embeddings
from lib.embedders.groups import GROUPS, expand
from lib.embedders.names import parse
from lib.embedders.registry import COMPOSITIONS, ENTRIES, FAMILIES, Entry
from lib.run.errors import InputError
from lib.run.parameters import texts

# They import a compiler or PyTorch, register nothing, and are imported where they are used.
HEAVY = {"finetuning", "urae_network", "word_means"}

for module in pkgutil.iter_modules(__path__):
    if module.name not in HEAVY:  # it may register embedders
        import_module(f"{__name__}.{module.name}")

__all__ = [
    "GROUPS",
    "Embedder",
    "Embeddings",
    "catalog",
    "check_names",
    "composes_words",
    "compositions",
    "family",
    "load",
    "missing",
    "names",
    "select",
]


def names() -> list[str]:
    """The names of the catalog's rows, in its order. Word-vector sets take a composition as well (`compositions`)."""
    return [entry.name for entry in _entries()]


def _entries() -> list[Entry]:
    """By family, and then by name."""
    return sorted(ENTRIES.values(), key=lambda entry: (FAMILIES.index(entry.family), entry.name))


def check_names(parameter: str, chosen: Sequence[str], at_least: int = 1) -> None:
    """Raise InputError, naming the `parameter`, for an unknown or repeated name, or for fewer than `at_least`."""
    for name in texts(parameter, chosen):
        parse(parameter, name)
    if len(chosen) < at_least:
        raise InputError(f"{parameter}: names {len(chosen)} embedders; give at least {at_least}")


def select(parameter: str, chosen: Sequence[str], at_least: int = 1) -> tuple[list[str], dict[str, str]]:
    """Those of some embedders that are on this machine; and the others, each with what it lacks and how to get it.

    `chosen` may hold names of groups (`GROUPS`), such as "installed" or "table-1". Raises InputError, naming the
    `parameter`, for an unknown or repeated name, or if fewer than `at_least` are here.
    """
    wanted = expand(texts(parameter, chosen))
    check_names(parameter, wanted)
    absent = missing(wanted)
    here = [name for name in wanted if name not in absent]
    check_names(parameter, here, at_least)
    return here, absent


def missing(chosen: Sequence[str]) -> dict[str, str]:
    """Those of some embedders that cannot be loaded here, each with what it lacks and how to get it."""
    lacking = {name: parse("embedder", name).missing for name in chosen}
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
    rows = [
        (row.name, row.family, row.dim, row.source, row.license, row.available, row.how_to_get, row.tried_on)
        for row in _entries()
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"dim": "Int64"})


def compositions() -> pd.DataFrame:
    """One row a suffix of word-vector sets: suffix, what, dim (for word vectors of d dimensions), source."""
    rows = [(f"+{suffix}", part.what, part.dims, part.source) for suffix, part in COMPOSITIONS.items()]
    return pd.DataFrame(rows, columns=["suffix", "what", "dim", "source"])
