"""The check of what an embedder that is not one of the registry's returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from lib.run.errors import InputError
from lib.vectors import Embeddings

MADE = (
    "if it makes an embedder, name a class or an object (`model = make()` in your "
    "file, then file.py:model)"
)
CONTRACT = (
    "give a function that takes a list of strings and returns an array of shape "
    "(sentences, dimensions)"
)


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
    # A sum is finite just where all of its row is.
    finite = np.isfinite(vectors.sum(axis=1, dtype=np.float64))
    if not finite.all():
        raise InputError(
            f"{name}: returned NaN or infinity for "
            f"{sentences[finite.argmin()][:60]!r}; give finite numbers"
        )
    return vectors


def form(vectors: Embeddings) -> str:
    """What all vectors of an embedder have in common, in words."""
    storage = "sparse" if sp.issparse(vectors) else "dense"
    return f"{storage} vectors of {vectors.shape[1]} dimensions"


def check_form(vectors: Embeddings, name: str, before: str) -> None:
    """Raise InputError unless vectors have the form of earlier ones, if any."""
    now = form(vectors)
    if before and now != before:
        raise InputError(
            f"{name}: returned {now}, and {before} on an earlier call; "
            "give always the same"
        )


def _array(returned: Any, name: str) -> Embeddings:
    """A float32 copy, since the embedder may reuse its memory.

    PyTorch's tensors are copied from their device.
    """
    try:
        if sp.issparse(returned):
            return sp.csr_array(returned, dtype=np.float32, copy=True)
        if hasattr(returned, "detach"):
            returned = returned.detach().float().cpu().numpy()
        with np.errstate(over="ignore"):  # infinity is refused afterwards
            return np.array(returned).astype(np.float32, casting="same_kind")
    except (TypeError, ValueError, RuntimeError) as error:
        kind_of = type(returned).__name__
        makes = callable(returned) or hasattr(returned, "encode")
        remedy = MADE if makes else CONTRACT
        raise InputError(
            f"{name}: returned no array of numbers (type {kind_of}); {remedy}"
        ) from error


def dense(vectors: Embeddings) -> np.ndarray:
    """The vectors as an array, whatever they are."""
    return vectors.toarray() if sp.issparse(vectors) else vectors
