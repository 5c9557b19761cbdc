"""Convergence warnings of scikit-learn: counted, so that they stand beside the result, and not lost in a log."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class Warnings:
    """How many fits have not converged; `count` is there when the `with` statement is left."""

    count: int = 0


@contextmanager
def counted() -> Iterator[Warnings]:
    """Count ConvergenceWarning within a ``with`` statement; every other warning goes where it would have gone."""
    from sklearn.exceptions import ConvergenceWarning

    found = Warnings()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        yield found
    found.count = sum(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    for warning in caught:
        if not issubclass(warning.category, ConvergenceWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
