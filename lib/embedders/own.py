"""A user's own embedder, read from a folder or taken from code.

It can be used wherever one of the registry's can. Taking it from code runs that code,
with all the rights of this program: give only what you would run yourself.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import isfunction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tqdm.std import tqdm

from lib.base import keys, paths
from lib.base.errors import InputError
from lib.base.parameters import OWN_NAME
from lib.embedders import form_of, hub, kinds, own_code, parse
from lib.embedders.base import (
    CONTRACT,
    Embedder,
    check_form,
    checked,
    dense,
    form,
    in_batches,
    mended,
)
from lib.embedders.checkpoints import as_input_error
from lib.embedders.kinds import Kind
from lib.embedders.own_code import WAYS
from lib.embedders.registry import ENTRIES, CatalogEntry
from lib.vectors import Embeddings

FAMILY = "your own"
SAMPLE = 6  # sentences of the spot check
# Relative to a vector's length. Sums in another order move a float32 vector by 1e-6 to
# 1e-5; a change of this size can exchange neighbors.
TOLERANCE = 1e-3
OF_BFLOAT16 = 2e-2  # there, sums in another order move a vector by 5e-3
BATCH_SECONDS = 2.0  # a batch takes a quarter of this to twice this
SMALLEST_BATCH = 8  # sentences; the first batch is the smallest
LARGEST_BATCH = 2048
DIFFERENT = (
    "so neighbors cannot be ranked; give an embedder whose vectors differ in direction"
)


def load(
    spec: str | Path | Any, name: str = "", pooling: str = "", prompt: str = ""
) -> Checked:
    """The embedder that `spec` names; all that it returns is checked (`Checked`).

    Parameters
    ----------
    spec : str, Path, callable or object
        One of

        - the folder of a model, or its id on the model hub (`lib.embedders.hub.load`);
        - ``path/to/file.py:function``: a function from a list of sentences to an array
          of shape (sentences, dimensions); or a class, which is made without arguments,
          or an object with such an ``encode``. An edited file counts at once, and so
          does an edited module that it imports (`own_code.load`);
        - ``module:function``, the same in a module that Python finds;
        - such a function or object itself.

        A relative path counts from the project's folder.
    name : str
        What to call it. `lib.store` then keeps its vectors, under this name and a
        digest of the model's files, of the code (if `own_code` sees all that it depends
        on) or of the function; an object's vectors are kept under this name alone:
        choose another one when they change. If empty, the name is taken from `spec`,
        and nothing is kept.
    pooling, prompt : str
        For a model in a folder or on the hub.

    Raises
    ------
    InputError
        Nothing is there, the model cannot be read, the code fails, or the registry has
        an embedder of that name.
    """
    found = _find(spec, pooling, prompt)
    label = name or re.sub(r"[^\w.-]", "_", found.label)[:40]
    check_name(label)
    digest = hashlib.blake2b(found.made_of.encode(), digest_size=8).hexdigest()
    return Checked(
        found.embedder,
        label,
        found.kind or kinds.unknown(label),
        f"{name}-{digest}" if name and found.is_kept else None,
    )


def check_name(name: str) -> None:
    """Raise InputError if `name` cannot be shown or belongs to the registry."""
    if not re.fullmatch(OWN_NAME, name):
        raise InputError(
            f"name: {name!r} is not accepted; "
            "give 1 to 40 letters, digits, '.', '_' or '-'"
        )
    try:
        parse("name", name)
    except InputError:
        return
    raise InputError(
        f"name: {name!r} is one of the registry's embedders; give your own another name"
    )


class _Found(NamedTuple):
    """An embedder.

    Attributes
    ----------
    embedder : callable or object
    label : str
        What it is called where the user gives no name.
    made_of : str
        Changes when its vectors may.
    kind : Kind or None
        None if its files do not state it.
    is_kept : bool
        Whether its vectors may be kept.
    """

    embedder: Any
    label: str
    made_of: str = ""
    kind: Kind | None = None
    is_kept: bool = True


def _find(spec: str | Path | Any, pooling: str, prompt: str) -> _Found:
    spec = str(spec) if isinstance(spec, Path) else spec
    if not isinstance(spec, str):
        return _Found(
            spec, getattr(spec, "__name__", type(spec).__name__), _of_function(spec)
        )
    is_folder = spec and os.path.isdir(paths.from_root(spec))
    base, at, suffix = spec.rpartition("@")
    is_form = at and not re.search("[/:]", suffix) and not is_folder
    if is_form and not hub.is_revision(base, suffix):
        maker, numbers = form_of("embedder", spec, suffix)
        full = _find(base, pooling, prompt)
        is_ours = isinstance(full.embedder, Embedder)
        shrunk = maker(full.embedder if is_ours else Own(base), *numbers)
        return full._replace(embedder=shrunk, made_of=_settings(shrunk))
    if not is_folder and re.fullmatch(".+:[^:]+", spec):
        code = own_code.load(spec)
        label = Path(spec.rpartition(":")[0]).stem
        made_of = f"{spec} {code.made_of}"
        return _Found(code.thing, label, made_of, is_kept=code.is_kept)
    if not is_folder and not re.fullmatch(f"{hub.ID}(@{hub.REVISION})?", spec):
        if re.split("[+@]", spec)[0] in ENTRIES:
            raise InputError(
                f"embedder: {spec!r} is one of the registry's; "
                f"in Python, give embedders.load({spec!r})"
            )
        raise InputError(
            f"embedder: {spec!r} is neither a folder nor a model hub id; give {WAYS}"
        )
    given = {"pooling": pooling, "prompt": prompt}
    entry = ENTRIES.get(spec) or hub.entry(spec)
    model = entry.make(spec, **{key: value for key, value in given.items() if value})
    return _Found(model, Path(spec).name, _settings(model), entry.kind)


def _of_function(thing: Any) -> str:
    """What a function is, or at least its code; empty for an object."""
    if not isfunction(thing):
        return ""
    try:
        return keys.of_function("embedder", thing)
    except InputError:  # it depends on more, a model, say
        return keys.of_code(thing)


def _settings(embedder: Embedder) -> str:
    return json.dumps(embedder.settings, sort_keys=True)


# -- among the registry's --------------------------------------------------------------


class Own(Embedder):
    """A function or object of the user's.

    Its name is ``path/to/file.py:function`` or ``module:function``. Its vectors are
    stored like those of the registry's embedders, until its code changes (`own_code`).
    """

    parameters = ("made_of",)
    batch_size = 2048
    is_foreign = True

    def __init__(self, name: str) -> None:
        code = own_code.load(name)
        self.name = name
        self.made_of = f"{name} {code.made_of}"
        self.is_kept = code.is_kept
        self.checked = Checked(code.thing, name, kinds.unknown(name))
        self.similarity_fn_name = self.checked.similarity_fn_name

    def __reduce__(self) -> tuple:  # another process reads the file itself
        return Own, (self.name,)

    def _encode(self, sentences: Sequence[str]) -> Embeddings:
        return self.checked.encode(sentences)


class OwnEntry(CatalogEntry):
    """A row of the catalog, of a user's own embedder."""

    @property
    def missing(self) -> str:
        """Empty; InputError for code that cannot be run."""
        Own(self.name)
        return ""


def entry(name: str) -> OwnEntry:
    """The row of a function or object that is named by its file or module."""
    return OwnEntry(
        Own, name, FAMILY, None, "your own code", (), kinds.unknown(name), "your own"
    )


# -- the check -------------------------------------------------------------------------


class Checked:
    """An embedder from outside the registry, whose results are checked.

    Parameters
    ----------
    inner : callable or object
        A function from a list of sentences to an array of shape (sentences,
        dimensions), or what has such an `encode`.
    name : str
        What it is called in tables, figures and errors.
    kind : Kind
        How comparisons by kind classify it.
    cached_as : str, optional
        The name under which `lib.store` may keep its vectors; by default it keeps none.

    Attributes
    ----------
    sentences, seconds : int, float
        How many sentences it has encoded, and how long that took.
    """

    def __init__(
        self, inner: Any, name: str, kind: Kind, cached_as: str | None = None
    ) -> None:
        self.inner = inner
        self._function = getattr(inner, "encode", inner)
        if not callable(self._function):
            raise InputError(f"{name}: is of type {type(inner).__name__}; {CONTRACT}")
        self.name = name
        self.kind = kind
        self.cached_as = cached_as
        self.sentences = 0
        self.seconds = 0.0
        self._form = ""
        self._size = SMALLEST_BATCH
        self._bar = None

    @property
    def needs_fit(self) -> bool:
        """Whether it is an Embedder that needs `fit`."""
        return getattr(self.inner, "needs_fit", False)

    @property
    def fitted_on(self) -> str | None:
        """Fingerprint of the text that it was fitted on, if it was."""
        return getattr(self.inner, "fitted_on", None)

    @property
    def similarity_fn_name(self) -> str:
        """By what its vectors are to be compared, as sentence-transformers calls it."""
        return getattr(self.inner, "similarity_fn_name", "cosine")

    def cut(self, sentences: Sequence[str]) -> tuple[int, int]:
        """The limit and the longer sentences of an Embedder; 0 for any other one."""
        is_ours = isinstance(self.inner, Embedder)
        return self.inner.cut(sentences) if is_ours else (0, 0)

    def fit(self, sentences: Sequence[str]) -> Checked:
        """Fit an Embedder that needs it on the text that it will encode.

        Returns itself; any other embedder is left as it is.
        """
        if self.needs_fit:
            self.inner.fit(sentences)
        return self

    def encode(
        self,
        sentences: Sequence[str],
        batch_size: int | None = None,
        show_progress_bar: bool = False,
    ) -> Embeddings:
        """Vectors float32[n, dim], or a CSR array of that shape.

        Without a `batch_size`, batches grow or shrink until one takes about
        `BATCH_SECONDS`, so that progress shows. Raises InputError, with the embedder's
        name, if it raises something, or returns what `checked` refuses.
        """
        size = batch_size or self._next_size
        return in_batches(self._timed, sentences, size, self.name, show_progress_bar)

    def _next_size(self) -> int:
        return self._size

    @contextmanager
    def moving(self, bar: tqdm) -> Iterator[None]:
        """Advance a progress bar after every batch."""
        self._bar = bar
        try:
            yield
        finally:
            self._bar = None

    def _timed(self, sentences: list[str]) -> Embeddings:
        started = time.perf_counter()
        vectors = self._call(sentences)
        seconds = time.perf_counter() - started
        self.seconds += seconds
        self.sentences += len(sentences)
        if seconds < BATCH_SECONDS / 4:
            self._size = min(4 * self._size, LARGEST_BATCH)
        elif seconds > 2 * BATCH_SECONDS:
            self._size = max(self._size // 4, 1)
        if self._bar is not None:
            self._bar.update(len(sentences))
        return vectors

    def spot_check(self, sentences: Sequence[str]) -> list[str]:
        """Encode a few of these sentences together and one by one.

        Returns what is wrong, each a predicate whose subject is the embedder: that the
        vectors differ, or that all sentences get the same one.
        """
        lengths = [len(sentence) for sentence in sentences]
        places = np.linspace(0, len(sentences) - 1, SAMPLE).astype(int)
        # Of different lengths, since a shorter one is padded.
        places = np.unique([*places, np.argmin(lengths), np.argmax(lengths)])
        sample = mended([sentences[int(i)] for i in places])
        together = dense(self._call(sample))
        alone = np.vstack([dense(self._call([sentence])) for sentence in sample])
        distances = np.linalg.norm(together - alone, axis=1)
        is_lowered = getattr(self.inner, "precision", "") == "bfloat16"
        tolerance = OF_BFLOAT16 if is_lowered else TOLERANCE
        moved = distances > tolerance * np.linalg.norm(alone, axis=1)
        if moved.any():
            doubt = "returns different vectors for a sentence in another call or batch"
            return [f"{doubt}, so its neighbors are not reproducible."]
        if len(sample) > 1 and np.ptp(together, axis=0).max() == 0:
            return [f"gives {len(sample)} different sentences the same vector."]
        return []

    def _call(self, sentences: list[str]) -> Embeddings:
        with as_input_error(self.name, CONTRACT):
            returned = self._function(list(sentences))
        vectors = checked(returned, self.name, sentences)
        check_form(vectors, self.name, self._form)
        self._form = form(vectors)
        return vectors
