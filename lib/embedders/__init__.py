"""The registry of sentence embedders: `load` makes one, `catalog` lists them.

A name is a row of the catalog (``minilm-avg``); or word vectors and a composition
(``glove-840b-300d+usif``), where several sets are put side by side
(``glove-6b-50d+w2v-corpus+power-means``). What is trained or projected may be asked for
at a size: ``w2v-corpus-300d``, ``glove-6b-50d+borep-1024d``. Any other sentence encoder
is named by its id on the model hub (``sentence-transformers/all-mpnet-base-v2``) or by
its folder (`hub.load`), and a function of your own by its file
(``path/to/file.py:function``, `own.load`).

After any of these names, ``@`` and a form stand for smaller vectors
(``minilm-avg@int8``, ``glove-6b-50d+sif@binary``, ``minilm-avg@64d@int8``).
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import connected_components

from lib.base import paths
from lib.base.errors import InputError
from lib.base.parameters import nearest, one_of, texts
from lib.embedders import hub
from lib.embedders.base import Embedder
from lib.embedders.kinds import UNKNOWN, Kind
from lib.embedders.registry import (
    COMPOSITIONS,
    ENTRIES,
    FAMILIES,
    FORMS,
    PRESETS,
    CatalogEntry,
    Composition,
    expand,
)
from lib.embedders.words import Concatenation

# They register nothing, and import much; they are imported where they are used.
WITHOUT_ENTRIES = {"bert", "foreign", "own", "own_code", "urae_network"}

for module in pkgutil.iter_modules(__path__):
    if module.name not in WITHOUT_ENTRIES:  # it may register embedders
        import_module(f"{__name__}.{module.name}")

__all__ = [
    "PRESETS",
    "Embedder",
    "Kind",
    "catalog",
    "compositions",
    "families",
    "family",
    "form_of",
    "forms",
    "kind",
    "load",
    "missing",
    "names",
    "of_unknown_kind",
    "parse",
    "related",
    "select",
]


def names() -> list[str]:
    """The names of the catalog's rows, in order.

    Sets of word vectors also take a composition as a suffix (`compositions`).
    """
    return [entry.name for entry in _entries()]


def _entries() -> list[CatalogEntry]:
    """By family, and then by name."""
    return sorted(
        ENTRIES.values(), key=lambda entry: (FAMILIES.index(entry.family), entry.name)
    )


def select(
    parameter: str, chosen: Sequence[str], at_least: int = 1
) -> tuple[list[str], dict[str, str]]:
    """Which of some embedders are on this machine, and what the others lack.

    Returns the names of those that are here, and for each of the others what it lacks
    and how to get it.

    `chosen` may hold names of `PRESETS`, such as "installed" or "table-1".
    Raises InputError, naming the `parameter`, for an unknown or repeated name, or if
    fewer than `at_least` are here.
    """
    wanted = texts(parameter, expand(texts(parameter, chosen)))
    absent = missing(wanted, parameter)
    here = [name for name in wanted if name not in absent]
    if len(here) < at_least:
        raise InputError(
            f"{parameter}: {len(here)} of these embedders are on this machine; "
            f"give at least {at_least} that are"
        )
    return here, absent


def missing(chosen: Sequence[str], parameter: str = "embedder") -> dict[str, str]:
    """What each embedder that cannot be loaded lacks, and how to get it."""
    lacking = {name: parse(parameter, name).missing for name in chosen}
    return {name: reason for name, reason in lacking.items() if reason}


def family(name: str) -> str:
    """The family of an embedder.

    One of: sparse, static, trained on the corpus, contextual, encoder.
    """
    entry, _ = parse("embedder", name).rows[0]
    return entry.family


def kind(name: str) -> Kind:
    """The kind of an embedder, by which studies compare it with others.

    Architecture, training objective, whether it reads word order, method, text and
    origin.
    """
    return parse("embedder", name).kind


def of_unknown_kind(chosen: Sequence[str]) -> list[str]:
    """Embedders of unknown architecture, which comparisons by kind leave out."""
    return [name for name in chosen if kind(name).architecture == UNKNOWN]


def related(a: str, b: str) -> bool:
    """Whether two embedders are near copies: the same method and training text."""
    return not _origins(a).isdisjoint(_origins(b))


def _origins(name: str) -> set[tuple[str, str]]:
    """The methods of an embedder, each with the text that it learned from."""
    rows = parse("embedder", name).rows
    return {(entry.kind.method, entry.kind.text) for entry, _ in rows}


def families(chosen: Sequence[str]) -> np.ndarray:
    """int[n], equal for embedders that are related, directly or by others."""
    pairs = [[related(a, b) for b in chosen] for a in chosen]
    return connected_components(np.array(pairs), directed=False)[1]


def load(name: str, **options: Any) -> Embedder:
    """Make an embedder by name.

    Parameters
    ----------
    name : str
    **options
        Those of its class; with a composition, of the composition's class, and `epochs`
        of word vectors that are trained.

    Raises
    ------
    InputError
        An unknown name or option; weights that are not here: with the file, its address
        and the folder to put it in.

    Examples
    --------
    >>> from lib import embedders
    >>> embedders.load("wordllama").encode(["a cat", "a dog"]).shape
    (2, 256)
    """
    parsed = parse("embedder", name)
    if reason := parsed.missing:
        raise InputError(f"embedder: {name} is not available; {reason}")
    try:
        return parsed.make(options)
    except TypeError as error:
        wrong = re.search(r"argument '(\w+)'", str(error))
        if not wrong or wrong[1] not in options:
            raise
        raise InputError(
            f"embedder: {name} does not take these options: {error}"
        ) from error


def catalog() -> pd.DataFrame:
    """One row per embedder: what it is and how to get it.

    Columns are name, family, dim, source, license, available, how_to_get and tried_on,
    and of its `Kind` architecture, objective and reads_order. `dim` is NA for the size
    of the vocabulary. `tried_on` says whether our numbers come from the real weights or
    whether the reader has been tried on small files in their official format only.

    Examples
    --------
    >>> from lib import embedders
    >>> embedders.catalog().set_index("name").loc["wordllama", "family"]
    'static'
    """
    rows = [entry.row() for entry in _entries()]
    return pd.DataFrame(rows).astype({"dim": "Int64"})


def compositions() -> pd.DataFrame:
    """One row per suffix of word-vector sets: suffix, what, dim, source.

    `dim` is given in terms of d, the dimensions of the word vectors.
    """
    rows = [
        (f"+{suffix}", part.what, part.dims, part.source)
        for suffix, part in COMPOSITIONS.items()
    ]
    return pd.DataFrame(rows, columns=["suffix", "what", "dim", "source"])


def forms() -> pd.DataFrame:
    """One row per form of dense vectors: suffix, what, bytes, source.

    `bytes` are those of a vector of d dimensions.
    """
    rows = [(f"@{form.suffix}", form.what, form.size, form.source) for form in FORMS]
    return pd.DataFrame(rows, columns=["suffix", "what", "bytes", "source"])


# -- names taken apart -----------------------------------------------------------------

SIZE = re.compile(r"(.+)-([1-9]\d*)d")
MEAN = "mowe"  # the composition that word vectors have without a suffix
# Options of word vectors that are trained on the text.
OF_TRAINING = ("dim", "epochs", "seed", "alpha")


class Name(NamedTuple):
    """A name taken apart.

    Attributes
    ----------
    name : str
        Without forms.
    rows : list of (CatalogEntry, dict)
        Rows of the catalog, each with the size that the name asks for, if any.
    composition : str
        The suffix of the composition; empty if the name has none.
    size : dict
        The size that the composition's suffix asks for, if any.
    forms : tuple of (callable, tuple)
        What makes the vectors smaller, in order: functions of an embedder and of the
        numbers in the suffix, with these numbers.
    """

    name: str
    rows: list[tuple[CatalogEntry, dict[str, int]]]
    composition: str = ""
    size: dict[str, int] = {}  # noqa: RUF012 - never changed
    forms: tuple[tuple[Callable[..., Embedder], tuple[int, ...]], ...] = ()

    @property
    def missing(self) -> str:
        """What is not here and how to get it; empty if everything is here."""
        # Each asks the model hub once.
        reasons = [entry.missing for entry, _ in self.rows]
        return "; ".join(dict.fromkeys(filter(None, reasons)))

    @property
    def kind(self) -> Kind:
        """What the embedder is."""
        of_rows = [entry.kind for entry, _ in self.rows]
        if not self.composition:
            return of_rows[0]
        return COMPOSITIONS[self.composition].kind(of_rows)

    def make(self, options: dict[str, Any]) -> Embedder:
        """The embedder; several sets of word vectors are put side by side."""
        embedders = [self._one(entry, size, options) for entry, size in self.rows]
        made = embedders[0]
        if len(embedders) > 1:
            made = Concatenation(self.name, embedders)
        for maker, numbers in self.forms:
            made = maker(made, *numbers)
        return made

    def _one(
        self, entry: CatalogEntry, size: dict[str, int], options: dict[str, Any]
    ) -> Embedder:
        if entry.words is None:
            return entry.make(self.name, **(size | options))
        # Compositions have a seed and a size of their own, too.
        training = ("epochs",) if self.composition else OF_TRAINING
        size = size | {key: options[key] for key in training if key in options}
        options = {key: value for key, value in options.items() if key not in training}
        vectors = entry.make(entry.name, **size)
        composed = COMPOSITIONS[self.composition or MEAN]
        options = {"tokenize": entry.words} | self.size | options
        return composed.maker(name=self.name, vectors=vectors, **options)


def parse(parameter: str, name: str) -> Name:
    """Take a name apart.

    Raises InputError, naming the `parameter` and the nearest names, if there is no such
    embedder.
    """
    # A folder's name may have an @ or a colon, too.
    if re.search("[/@:]", name) and paths.from_root(name).is_dir():
        return Name(name, [(hub.entry(name), {})])
    base, at, suffix = name.rpartition("@")
    if at and not re.search("[/:]", suffix) and not hub.is_revision(base, suffix):
        made_by = form_of(parameter, name, suffix)
        full = parse(parameter, base)
        return full._replace(forms=(*full.forms, made_by))
    if ":" in name:  # no name of the registry has one
        from lib.embedders import own

        return Name(name, [(own.entry(name), {})])
    *bases, last = name.split("+")
    if not bases:
        return Name(name, [_row(parameter, name)])
    suffix, size = _sized(parameter, last, COMPOSITIONS)
    if suffix not in COMPOSITIONS:
        raise InputError(
            f"{parameter}: {name!r} is not known: no composition {last!r}; "
            f"{nearest(last, COMPOSITIONS)}"
        )
    rows = [_row(parameter, base) for base in bases]
    for entry, _ in rows:
        if entry.words is None:
            sets = [row for row, other in ENTRIES.items() if other.words]
            raise InputError(
                f"{parameter}: {name!r}: {entry.name} has no word vectors to compose; "
                f"{nearest('', sets)}"
            )
    return Name(name, rows, suffix, size)


def form_of(
    parameter: str, name: str, suffix: str
) -> tuple[Callable[..., Embedder], tuple[int, ...]]:
    """What makes a form, and the numbers in its suffix.

    Raises InputError, naming the `parameter`, for an unknown form.
    """
    for form in FORMS:
        numbers = form.match(suffix)
        if numbers is not None:
            return form.maker, numbers
    known = ", ".join(f"@{form.suffix}" for form in FORMS)
    raise InputError(
        f"{parameter}: {name!r} is not known: no form {'@' + suffix!r}; "
        f"accepted: {known} (N: a whole number)"
    )


def _row(parameter: str, name: str) -> tuple[CatalogEntry, dict[str, int]]:
    if "/" in name and name not in ENTRIES:
        return hub.entry(name), {}
    row, size = _sized(parameter, name, ENTRIES)
    return ENTRIES[one_of(parameter, row, ENTRIES)], size


def _sized(
    parameter: str, name: str, known: Mapping[str, CatalogEntry | Composition]
) -> tuple[str, dict[str, int]]:
    """Split the size off the end of a name, as an option.

    Only if the name without the size is known; raises InputError if that comes in one
    size only.
    """
    match = SIZE.fullmatch(name)
    if name in known or not match:
        return name, {}
    stem, dim = match.groups()
    if stem not in known:
        return name, {}
    if not known[stem].sized:
        raise InputError(
            f"{parameter}: {name!r} is not known: {stem} comes in one size only; "
            f"give {stem}"
        )
    return stem, {"dim": int(dim)}
