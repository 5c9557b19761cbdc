"""Numba's `njit`, with code that is compiled once and kept beside the modules.

Several processes may compile at a time. Numba's own cache (``cache=True``) is not safe
for that: two processes that compile one function for different types give their files
the same number, and a later run would use the wrong code. And it does not see a change
in a compiled function of another module. Here a lock is held while the cache is read or
written, and the compiled code is valid for the contents of all modules with compiled
functions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from filelock import FileLock
from numba.core.caching import FunctionCache
from numba.extending import is_jitted

LIBRARY = Path(__file__).resolve().parent.parent


def njit(function: Callable | None = None, **options: Any) -> Any:
    """`numba.njit` with the cache of this module; uncached if no folder is writable.

    Parameters
    ----------
    function : callable, optional
        What to compile, where no options are given.
    **options
        Those of `numba.njit`.
    """
    if function is None:
        return lambda function: njit(function, **options)
    compiled = numba.njit(**options)(function)
    if is_jitted(compiled):  # not where NUMBA_DISABLE_JIT is set
        with suppress(RuntimeError):  # Numba found no folder that can be written
            compiled._cache = _Cache(function)
    return compiled


@cache
def _sources() -> str:
    """A digest of all modules of `lib` with compiled functions."""
    digest = hashlib.blake2b(digest_size=16)
    for file in sorted(LIBRARY.rglob("*.py")):
        content = file.read_bytes()
        if b"njit" in content:
            digest.update(content)
    return digest.hexdigest()


class _Cache(FunctionCache):
    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        # Compared before the rest of the index is unpickled, which may name classes
        # that the modules no longer have.
        self._cache_file._version += _sources()

    def _lock(self) -> FileLock:
        return FileLock(Path(self.cache_path) / "compiled.lock")

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        with self._lock():
            return super().load_overload(signature, target_context)

    def save_overload(self, signature: Any, data: Any) -> None:
        with suppress(OSError), self._lock():  # a full disk costs a second compilation
            super().save_overload(signature, data)
