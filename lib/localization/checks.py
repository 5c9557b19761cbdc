"""What cannot be classified, said in one sentence before anything is fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp

from lib.embedders.base import Embeddings
from lib.run.errors import InputError
from lib.transfer.folds import check_classes

SHOWN = 60  # characters of a sentence


def check(vectors: Embeddings, labels: np.ndarray, folds: int, sentences: Sequence[str] | None) -> None:
    """Raise InputError for vectors, labels and sentences that do not match or cannot be parted into folds."""
    if not vectors.shape[1]:
        raise InputError("vectors: have no dimensions; give at least one")
    if vectors.shape[0] != len(labels):
        raise InputError(
            f"vectors: shape {np.shape(vectors)} for {len(labels)} labels; give a row for each sentence, "
            "zeros for one without any known word"
        )
    if sentences is not None:
        if len(sentences) != len(labels):
            raise InputError(f"sentences: {len(sentences)} for {len(labels)} labels; give one for each")
        _check_distinct(sentences, labels)
    check_classes(labels, folds, np.arange(len(labels)))
    finite = _finite_rows(vectors)
    if not finite.all():
        row = int(np.argmin(finite))
        which = f"row {row}" if sentences is None else f"row {row} ({_shown(sentences[row])})"
        raise InputError(f"vectors: {which} holds NaN or infinity; give a finite vector for each sentence")


def zero_rows(vectors: Embeddings) -> int:
    """How many sentences have a vector of zeros, which every classifier takes for the same sentence."""
    return int((_count_in_rows(vectors, lambda values: values != 0) == 0).sum())


def _finite_rows(vectors: Embeddings) -> np.ndarray:
    return _count_in_rows(vectors, lambda values: ~np.isfinite(values)) == 0


def _count_in_rows(vectors: Embeddings, is_so: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """How many numbers of each row are so, of a CSR array those stored. Read-only arrays are left as they are."""
    if not sp.issparse(vectors):
        return np.count_nonzero(is_so(vectors), axis=1)
    vectors = sp.csr_array(vectors)
    rows = np.repeat(np.arange(vectors.shape[0]), np.diff(vectors.indptr))
    return np.bincount(rows, is_so(vectors.data), vectors.shape[0])


def _check_distinct(sentences: Sequence[str], labels: np.ndarray) -> None:
    seen: dict[str, int] = {}
    for row, sentence in enumerate(sentences):
        first = seen.setdefault(sentence, row)
        if first == row:
            continue
        one, other = labels[first], labels[row]
        if one == other:
            raise InputError(f"sentences: {_shown(sentence)} is in group {one} twice; leave one of the two out")
        raise InputError(f"sentences: {_shown(sentence)} is in groups {one} and {other}; merge them, or leave one out")


def _shown(sentence: str) -> str:
    return repr(sentence if len(sentence) <= SHOWN else sentence[: SHOWN - 3] + "...")
