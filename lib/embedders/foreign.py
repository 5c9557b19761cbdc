"""What a user gives, as one of our embedders: all that it returns is checked."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp

from lib.base.errors import InputError
from lib.embedders import own_code
from lib.embedders.base import Embedder
from lib.embedders.checkpoints import as_input_error
from lib.vectors import Embeddings

CONTRACT = (
    "give a function that takes a list of strings and returns an array of shape "
    "(sentences, dimensions), or a class or an object with such an encode"
)
# What an object may say of itself, as our own embedders do.
SAID = ("fitted_on", "needs_fit", "precision", "similarity_fn_name")


class ForeignEmbedder(Embedder):
    """A user's function or object.

    Parameters
    ----------
    inner : callable or object
        A function from a list of sentences to an array of shape (sentences,
        dimensions), or what has such an `encode`.
    name : str
        What it is called in tables, figures and errors.
    made_of : str
        Changes when its vectors may. If empty, only its name tells it from others.
    is_kept, is_stored : bool
        As for `Embedder`.
    """

    parameters = ("made_of",)
    batch_size = None
    is_foreign = True
    place = ""  # of its code

    def __init__(
        self,
        inner: Any,
        name: str,
        made_of: str = "",
        is_kept: bool = True,
        is_stored: bool = True,
    ) -> None:
        function = getattr(inner, "encode", getattr(inner, "encode_document", inner))
        if not callable(function):
            raise InputError(f"{name}: is of type {type(inner).__name__}; {CONTRACT}")
        self.inner = inner
        self.name = name
        self.made_of = made_of
        self.is_kept = is_kept
        self.is_stored = is_stored
        self.is_vouched_for = is_stored and not made_of
        for attribute in SAID:
            if hasattr(inner, attribute):
                setattr(self, attribute, getattr(inner, attribute))
        self._function = function
        self._options = _silencing(function)
        self._layout = ""

    def __reduce__(self) -> str | tuple:
        if self.place:  # another process reads the code itself
            return from_code, (self.place, self.name)
        return super().__reduce__()

    def calling(self, function: Callable, role: str) -> ForeignEmbedder:
        """The same, whose vectors another of its functions makes."""
        made_of = self.made_of and f"{self.made_of} {role}"
        other = ForeignEmbedder(
            self.inner, self.name, made_of, self.is_kept, self.is_stored
        )
        other.is_vouched_for = self.is_vouched_for
        other._function = function
        other._options = _silencing(function)
        return other

    def truncation(self, sentences: Sequence[str]) -> tuple[int, int]:
        is_ours = isinstance(self.inner, Embedder)
        return self.inner.truncation(sentences) if is_ours else (0, 0)

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        self.inner.fit(sentences)

    def _encode(self, sentences: Sequence[str]) -> Embeddings:
        """Vectors float32[n, dim], or a CSR array of that shape.

        Raises InputError, with the embedder's name, if it raises something, or returns
        what `checked` refuses.
        """
        with as_input_error(self.name, CONTRACT):
            returned = self._function(list(sentences), **self._options)
        vectors = checked(returned, self.name, sentences)
        check_layout(vectors, self.name, self._layout)
        self._layout = layout(vectors)
        return vectors


def from_code(name: str, label: str = "") -> ForeignEmbedder:
    """What ``path/to/file.py:attribute`` or ``module:attribute`` stands for.

    ``mine=path/to/file.py:attribute`` says what figures call it. Its vectors are stored
    until its code changes (`own_code`). It is called `label` or else by its name.
    """
    place = re.sub(r"^[\w.-]{1,40}=", "", name)
    code = own_code.load(place)
    made_of = f"{place} {code.made_of}"
    embedder = ForeignEmbedder(code.thing, label or name, made_of, code.is_kept)
    embedder.place = place
    return embedder


def _silencing(function: Callable) -> dict[str, bool]:
    """What keeps a function from drawing a progress bar beside ours."""
    with suppress(TypeError, ValueError):  # it may have no signature
        if "show_progress_bar" in inspect.signature(function).parameters:
            return {"show_progress_bar": False}
    return {}


# -- what it returns -------------------------------------------------------------------


def checked(returned: Any, name: str, sentences: Sequence[str]) -> Embeddings:
    """What `encode` has returned for these sentences, as float32[n, dim] or CSR.

    Raises an InputError with the embedder's `name` for anything but an array of finite
    numbers with a row for each sentence.
    """
    vectors = _array(returned, name)
    rows = len(sentences)
    if vectors.ndim != 2 or vectors.shape[0] != rows or not vectors.shape[1]:
        raise InputError(
            f"{name}: returned shape {vectors.shape} for {rows} sentences; "
            f"give ({rows}, dim)"
        )
    # A row's sum is finite exactly when every entry is.
    finite = np.isfinite(vectors.sum(axis=1, dtype=np.float64))
    if not finite.all():
        raise InputError(
            f"{name}: returned NaN or infinity for "
            f"{sentences[finite.argmin()][:60]!r}; give finite numbers"
        )
    return vectors


def layout(vectors: Embeddings) -> str:
    """A description of what all vectors of an embedder have in common."""
    storage = "sparse" if sp.issparse(vectors) else "dense"
    return f"{storage} vectors of {vectors.shape[1]} dimensions"


def check_layout(vectors: Embeddings, name: str, before: str) -> None:
    """Raise InputError unless vectors are laid out like earlier ones, if any."""
    now = layout(vectors)
    if before and now != before:
        raise InputError(
            f"{name}: returned {now}, and {before} on an earlier call; "
            "always return the same kind"
        )


def _array(returned: Any, name: str) -> Embeddings:
    """A float32 copy, since the embedder may reuse its memory.

    PyTorch tensors are copied from their device.
    """
    try:
        if sp.issparse(returned):
            return sp.csr_array(returned, dtype=np.float32, copy=True)
        if hasattr(returned, "detach"):
            returned = returned.detach().float().cpu().numpy()
        with np.errstate(over="ignore"):  # infinity is refused afterwards
            return np.array(returned).astype(np.float32, casting="same_kind")
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{name}: did not return an array of numbers "
            f"(type {type(returned).__name__}); {CONTRACT}"
        ) from error
