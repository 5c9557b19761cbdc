"""A user's own embedder, read from a folder or taken from code, to be used wherever one of the registry's is.

Taking it from code runs that code, with all the rights of this program: give only what you would run yourself.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from runpy import run_path
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sp

from lib.embedders import hub, parse
from lib.embedders.base import Embeddings, in_batches, mended
from lib.embedders.registry import ENTRIES
from lib.run import files, paths
from lib.run.errors import InputError, one_line

WAYS = "a model's folder, its id on the model hub (intfloat/e5-small-v2), path/to/file.py:function, or module:function"
NAME = re.compile(r"(?!\.\.?$)[\w.-]{1,40}")  # also the name of a folder, and neither this nor the one above
SAMPLE = 6  # sentences of the spot check
# Relative to a vector's length. Sums in another order move a float32 vector by 1e-6 to 1e-5; a change of this size can
# exchange neighbors.
TOLERANCE = 1e-3
CONTRACT = "give a function that takes a list of strings and returns an array of shape (sentences, dimensions)"


def load(spec: str | Path | Any, name: str = "", pooling: str = "", prompt: str = "") -> Checked:
    """The embedder that `spec` says, with a check of all that it returns (`Checked`).

    Parameters
    ----------
    spec : str, Path, callable or object
        One of

        - the folder of a model, or its id on the model hub (`lib.embedders.hub.load`);
        - ``path/to/file.py:function``: a function from a list of sentences to an array of shape (sentences,
          dimensions); or a class, which is made without arguments, or an object with such an ``encode``. The file is
          run anew by each `load`, so that an edited one counts; what it imports is not;
        - ``module:function``, the same in a module that Python finds;
        - such a function or object itself.

        A relative path counts from the project's folder.
    name : str
        What to call it. Then `lib.store` may keep its vectors, under this name and a digest of the model's files, or of
        the file with the function (not of what that imports: choose another name when it changes). Empty: it is called
        after `spec`, and nothing is kept.
    pooling, prompt : str
        Of a model in a folder or on the hub.

    Raises
    ------
    InputError
        Nothing there, a model that cannot be read, code that fails, or a name that is one of the registry's.
    """
    inner, label, made_of = _find(spec, pooling, prompt)
    label = name or re.sub(r"[^\w.-]", "_", label)[:40]
    check_name(label)
    digest = hashlib.blake2b(made_of.encode(), digest_size=8).hexdigest()
    return Checked(inner, label, f"{name}-{digest}" if name else None)


def check_name(name: str) -> None:
    """Raise InputError if `name` cannot be shown or belongs to an embedder of the registry."""
    if not NAME.fullmatch(name):
        raise InputError(f"name: {name!r} is not accepted; give 1 to 40 letters, digits, '.', '_' or '-'")
    try:
        parse("name", name)
    except InputError:
        return
    raise InputError(f"name: {name!r} is one of the registry's embedders; give your own another name")


def _find(spec: str | Path | Any, pooling: str, prompt: str) -> tuple[Any, str, str]:
    """The thing itself, what to call it, and what it is made of."""
    spec = str(spec) if isinstance(spec, Path) else spec
    if not isinstance(spec, str):
        return spec, getattr(spec, "__name__", type(spec).__name__), ""
    place, _, attribute = spec.rpartition(":")
    if not (place and attribute):
        is_folder = spec and os.path.isdir(paths.from_root(spec))
        if not is_folder and not re.fullmatch(hub.ID, spec):
            raise InputError(f"embedder: {spec!r} is no folder and no id of the model hub; give {WAYS}")
        given = {"pooling": pooling, "prompt": prompt}
        entry = ENTRIES.get(spec) or hub.entry(spec)
        embedder = entry.make(spec, **{key: value for key, value in given.items() if value})
        return embedder, Path(spec).name, json.dumps(embedder.settings, sort_keys=True)
    return _in_code(spec, place, attribute)


# -- from code ----------------------------------------------------------------------------------


def _in_code(spec: str, place: str, attribute: str) -> tuple[Any, str, str]:
    with as_input_error(f"embedder: {spec}"):
        module = _run(paths.from_root(place)) if place.endswith(".py") else import_module(place)
        thing = getattr(module, attribute)
        thing = thing() if isinstance(thing, type) else thing
    file = Path(getattr(module, "__file__", None) or "")
    return thing, Path(place).stem, f"{spec} {files.sha256(file)}" if file.is_file() else spec


def _run(file: Path) -> ModuleType:
    """A module made of a file as it is now: stored bytecode may outlive an edit, and is neither read nor left.

    As for a program that is started, what lies beside the file can be imported.
    """
    if not file.is_file():
        raise InputError(f"embedder: {file}: no such file; give {WAYS}")
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    module = ModuleType(file.stem)
    vars(module).update(run_path(str(file), run_name=file.stem))
    return module


# -- the check ------------------------------------------------------------------------------------


class Checked:
    """An embedder that is not one of the registry's, with its name and a check of all that it returns.

    Parameters
    ----------
    inner : callable or object
        A function from a list of sentences to an array of shape (sentences, dimensions), or what has such an `encode`.
    name : str
        What it is called in tables, figures and errors.
    cached_as : str, optional
        The name under which `lib.store` may keep its vectors; by default it keeps none.

    Attributes
    ----------
    sentences, seconds : int, float
        How many sentences `encode` has given to it, and how long it took over them.
    """

    def __init__(self, inner: Any, name: str, cached_as: str | None = None) -> None:
        self._inner, self._function = inner, getattr(inner, "encode", inner)
        if not callable(self._function):
            raise InputError(f"{name}: is of type {type(inner).__name__}; {CONTRACT}, or an object with such an encode")
        self.name, self.cached_as = name, cached_as
        self.sentences, self.seconds = 0, 0.0
        self._kind = ""

    def fit(self, sentences: Sequence[str]) -> Checked:
        """Let it learn from the text that it will encode, if it is an Embedder that needs to; returns itself."""
        if getattr(self._inner, "needs_fit", False):
            self._inner.fit(sentences)
        return self

    def encode(self, sentences: Sequence[str], batch_size: int = 2048, show_progress_bar: bool = False) -> Embeddings:
        """Vectors float32[n, dim], or a CSR array of that shape.

        Raises InputError, with the embedder's name, if it raises something, or returns what `checked` refuses.
        """
        return in_batches(self._timed, sentences, batch_size, self.name, show_progress_bar)

    def _timed(self, sentences: list[str]) -> Embeddings:
        started = time.perf_counter()
        vectors = self._call(sentences)
        self.seconds += time.perf_counter() - started
        self.sentences += len(sentences)
        return vectors

    def spot_check(self, sentences: Sequence[str]) -> list[str]:
        """Try it on a few of these sentences, together and one by one; returns a sentence for each doubt."""
        places = np.unique(np.linspace(0, len(sentences) - 1, SAMPLE).astype(int))
        sample = mended([sentences[int(i)] for i in places])
        together, alone = _dense(self._call(sample)), np.vstack([_dense(self._call([sentence])) for sentence in sample])
        moved = np.linalg.norm(together - alone, axis=1) > TOLERANCE * np.linalg.norm(alone, axis=1)
        doubts = []
        if moved.any():
            doubts.append("gives a sentence another vector from call to call, or in other company")
        if len(sample) > 1 and np.ptp(together, axis=0).max() == 0:
            doubts.append("gives different sentences one and the same vector")
        return [f"{self.name} {doubt}: its neighbors are only as certain as that." for doubt in doubts]

    def _call(self, sentences: list[str]) -> Embeddings:
        with as_input_error(f"{self.name}:", CONTRACT):
            returned = self._function(list(sentences))
        vectors = checked(returned, self.name, sentences, self._kind)
        self._kind = kind(vectors.shape[1], sp.issparse(vectors))
        return vectors


def checked(returned: Any, name: str, sentences: Sequence[str], before: str = "") -> Embeddings:
    """What `encode` has returned for these sentences, as float32[n, dim] or a CSR array of that shape.

    `before` is the `kind` of what it has returned earlier, if it has. Raises InputError with the embedder's `name` for
    no array of numbers, another number of rows than sentences, another kind than before, and NaN or infinity.
    """
    vectors, rows = _array(returned, name), len(sentences)
    if vectors.ndim != 2 or vectors.shape[0] != rows or not vectors.shape[1]:
        raise InputError(f"{name}: returned shape {vectors.shape} for {rows} sentences; give ({rows}, dim)")
    now = kind(vectors.shape[1], sp.issparse(vectors))
    if before and now != before:
        raise InputError(f"{name}: returned {now}, and {before} on an earlier call; give always the same")
    finite = np.isfinite(vectors.sum(axis=1, dtype=np.float64))  # just where all of a row is
    if not finite.all():
        raise InputError(
            f"{name}: returned NaN or infinity for {sentences[finite.argmin()][:60]!r}; give finite numbers"
        )
    return vectors


def kind(dim: int, sparse: bool) -> str:
    """What all vectors of an embedder have in common, in words."""
    return f"{'sparse' if sparse else 'dense'} vectors of {dim} dimensions"


def _array(returned: Any, name: str) -> Embeddings:
    """float32, and a copy: who returned it may use its memory again. Tensors of PyTorch are taken from their device."""
    try:
        if sp.issparse(returned):
            return sp.csr_array(returned, dtype=np.float32, copy=True)
        if hasattr(returned, "detach"):
            returned = returned.detach().float().cpu().numpy()
        with np.errstate(over="ignore"):  # infinity is refused afterwards
            return np.array(returned).astype(np.float32, casting="same_kind")
    except (TypeError, ValueError, RuntimeError) as error:
        kind_of = type(returned).__name__
        raise InputError(f"{name}: returned no array of numbers (type {kind_of}); {CONTRACT}") from error


def _dense(vectors: Embeddings) -> np.ndarray:
    return vectors.toarray() if sp.issparse(vectors) else vectors


@contextmanager
def as_input_error(doing: str, remedy: str = "mend it, or give another embedder") -> Iterator[None]:
    """Whatever code from elsewhere raises, as an InputError of one sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{doing} raised {type(error).__name__}: {one_line(error)}; {remedy}") from error
