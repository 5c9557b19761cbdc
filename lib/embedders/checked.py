"""Anything that encodes sentences, checked each time it is called: for embedders that others wrote."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from lib.corpora import text
from lib.embedders.base import Embeddings, mended, stack
from lib.run import progress
from lib.run.errors import InputError

BATCH = 2048  # sentences given at a time; a store's shard
TRIED = 6  # sentences of the spot check
# Relative to a vector's length. Sums in another order move a float32 vector by 1e-6 to 1e-5; a change of this size can
# exchange neighbors.
TOLERANCE = 1e-3
CONTRACT = "give a function that takes a list of strings and returns an array of shape (sentences, dimensions)"


class Checked:
    """An embedder that is not one of the registry's, with its name and a check of all that it returns.

    Parameters
    ----------
    inner : a function from a list of sentences to an array of shape (sentences, dimensions), or an object that has
        such an `encode`
    name : str, what it is called in tables, figures and errors
    cached_as : str or None, the name under which `lib.store` may keep its vectors; None to keep none

    Attributes
    ----------
    dim : int or None, of its vectors; None before the first call
    sentences, seconds : how many sentences `encode` has given to it, and how long it took over them
    """

    def __init__(self, inner: Any, name: str, cached_as: str | None = None) -> None:
        if not callable(getattr(inner, "encode", inner)):
            raise InputError(f"{name}: is of type {type(inner).__name__}; {CONTRACT}, or an object with such an encode")
        self.name, self.cached_as = name, cached_as
        self.dim: int | None = None
        self.sentences, self.seconds = 0, 0.0
        self._inner, self._function = inner, getattr(inner, "encode", inner)
        self._kind = ""  # of its vectors, in words

    def fit(self, sentences: Sequence[str]) -> Checked:
        """Let it learn from the text that it will encode, if it is an Embedder that needs to; returns itself."""
        if getattr(self._inner, "needs_fit", False) is True:
            with told(f"{self.name}: fit"):
                self._inner.fit(sentences)
        return self

    def encode(self, sentences: Sequence[str], batch_size: int = BATCH, show_progress_bar: bool = False) -> Embeddings:
        """Vectors float32[n, dim], or a CSR array of that shape.

        Raises InputError, with the embedder's name and what it did, if it raises something, or returns no array of
        numbers, another number of rows than sentences, NaN or infinity, or other dimensions than before.
        """
        sentences, parts = mended(sentences), []
        with progress.bar(len(sentences), f"encode {self.name}", show=show_progress_bar) as bar:
            for start in range(0, max(len(sentences), 1), batch_size):
                batch = sentences[start : start + batch_size]
                started = time.perf_counter()
                parts.append(self._call(batch))
                self.seconds += time.perf_counter() - started
                self.sentences += len(batch)
                bar.update(len(batch))
        return stack(parts)

    def spot_check(self, sentences: Sequence[str]) -> list[str]:
        """Try it on a few of these sentences: twice together, and each one alone.

        Returns a sentence for each doubt: vectors that change from call to call, that depend on the other sentences
        of a call (as they do for some models), or that are all the same. Raises InputError as `encode` does.
        """
        places = np.unique(np.linspace(0, len(sentences) - 1, TRIED).astype(int))
        tried = [sentences[int(i)] for i in places]
        first, again = self._call(tried), self._call(tried)
        alone = stack([self._call([sentence]) for sentence in tried])
        doubts = []
        if (moved := _largest_move(first, again)) > TOLERANCE:
            doubts.append(f"gave a sentence another vector on a second call (up to {moved:.1%} away)")
        elif (moved := _largest_move(first, alone)) > TOLERANCE:
            doubts.append(f"gave a sentence another vector alone than among others (up to {moved:.1%} away)")
        if len(tried) > 1 and np.ptp(_dense(first), axis=0).max() == 0:
            doubts.append("gave different sentences one and the same vector, so that their order decides")
        return [f"{self.name} {doubt}: its neighbors are only as certain as that." for doubt in doubts]

    def _call(self, sentences: Sequence[str]) -> Embeddings:
        given = [text.mend(sentence) for sentence in sentences]
        try:
            returned = self._function(list(given))  # a list of its own, whatever is done with it
        except (InputError, KeyboardInterrupt):
            raise
        except BaseException as error:
            if given and self._takes_one(given[0]):
                raise InputError(f"{self.name}: takes one sentence and no list; {CONTRACT}") from error
            raise InputError(f"{self.name}: raised {said(error)} for a list of sentences; {CONTRACT}") from error
        vectors = checked(returned, self.name, given, self._kind)
        if not vectors.shape[1]:
            raise InputError(
                f"{self.name}: returned shape {vectors.shape} for {len(given)} sentences; give ({len(given)}, dim)"
            )
        self.dim, self._kind = vectors.shape[1], kind(vectors.shape[1], sp.issparse(vectors))
        return vectors

    def _takes_one(self, sentence: str) -> bool:
        try:
            return np.asarray(self._function(sentence), dtype=np.float32).ndim == 1
        except KeyboardInterrupt:
            raise
        except BaseException:
            return False


def checked(returned: Any, name: str, sentences: Sequence[str], before: str = "") -> Embeddings:
    """What `encode` has returned for these sentences, as float32[n, dim] or a CSR array of that shape.

    `before` is the `kind` of what it has returned earlier, if it has. Raises InputError with the embedder's `name` for
    no array of numbers, another number of rows than sentences, another kind than before, and NaN or infinity.
    """
    vectors = _array(returned, name)
    rows = len(sentences)
    if vectors.ndim != 2 or vectors.shape[0] != rows:
        raise InputError(f"{name}: returned shape {vectors.shape} for {rows} sentences; give ({rows}, dim)")
    now = kind(vectors.shape[1], sp.issparse(vectors))
    if before and now != before:
        raise InputError(f"{name}: returned {now}, and {before} on an earlier call; give always the same")
    sums = vectors.sum(axis=1, dtype=np.float64)  # finite just where all of a row is
    if not np.isfinite(sums).all():
        sentence = sentences[int(np.argmin(np.isfinite(sums)))]
        raise InputError(
            f"{name}: returned NaN or infinity for {sentence[:60]!r}; give finite numbers (zeros, say, where no word "
            "is known)"
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
        array = np.asarray(returned)
    except Exception:  # rows of different lengths, a tensor of a layout that NumPy does not have
        array = np.empty(0, object)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name}: returned no array of numbers (type {type(returned).__name__}); {CONTRACT}")
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinity, which is refused
        return array.astype(np.float32)


def _largest_move(before: Embeddings, after: Embeddings) -> float:
    """How far a row has moved at the most, relative to its length; 0 where both are zero."""
    before, after = _dense(before), _dense(after)
    lengths = np.maximum(np.linalg.norm(before, axis=1), np.linalg.norm(after, axis=1))
    return float((np.linalg.norm(before - after, axis=1) / np.where(lengths > 0, lengths, 1)).max())


def _dense(vectors: Embeddings) -> np.ndarray:
    return vectors.toarray() if sp.issparse(vectors) else vectors


@contextmanager
def told(doing: str) -> Iterator[None]:
    """Whatever code from elsewhere raises, as an InputError of one sentence."""
    try:
        yield
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise InputError(f"{doing} raised {said(error)}; mend it, or give another embedder") from error


def said(error: BaseException) -> str:
    """The class of an exception and what it says, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
