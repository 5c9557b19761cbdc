"""Numba's `njit` for the loops of this project: compiled once and kept on disk, so that a second process need not.

Numba keeps what it has compiled in files that it numbers. Two processes that compile a function for different types
at the same time give both the same number, and whoever reads it later runs the other's code: wrong numbers without a
word. Here a file is named after all that its code depends on, holds a checksum, and is written whole or not at all.
Among what it depends on are the sources of the compiled functions of other modules, which Numba does not look at.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
from numba.core import serialize
from numba.core.caching import FunctionCache
from numba.extending import is_jitted

from lib.run import files

HOME = str(Path(__file__).resolve().parent.parent)
CHECKSUM = 16  # bytes at the start of a file


def njit(function: Callable | None = None, **options: Any) -> Any:
    """`numba.njit`, whose compiled code is kept beside the module, or in the user's cache where that cannot be written.

    Parameters
    ----------
    function : the one to be compiled, where no options are given
    options : those of `numba.njit`
    """
    if function is None:
        return lambda function: njit(function, **options)
    made = numba.njit(**options)(function)
    if is_jitted(made):  # not so where NUMBA_DISABLE_JIT is set
        with suppress(RuntimeError):  # no folder can be written: it is compiled in each process
            made._cache = _Cache(function)
    return made


class _Cache(FunctionCache):
    """Numba's own, with other files."""

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        self._cache_file = _Files(Path(self._cache_path), self._impl.filename_base, _sources(function))

    def save_overload(self, signature: Any, compiled: Any) -> None:
        with suppress(OSError):  # a full disk costs a second compilation, not the result of this one
            super().save_overload(signature, compiled)


class _Files:
    """The compiled code of one function: a file for each combination of types.

    Parameters
    ----------
    folder : Path
    base : str, how the names of the files begin
    sources : files whose contents the code depends on
    """

    def __init__(self, folder: Path, base: str, sources: list[str]) -> None:
        self.folder, self.base = folder, base
        self.stamp = _digest(numba.__version__.encode(), *map(_content, sources)).hex()

    def load(self, key: Any) -> Any:
        """What was saved under this key; None if nothing was, or if it is damaged."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        if _digest(content[CHECKSUM:]) != content[:CHECKSUM]:
            return None
        saved_key, data = serialize.loads(content[CHECKSUM:])
        return data if saved_key == key else None

    def save(self, key: Any, data: Any) -> None:
        content = serialize.dumps((key, data))
        with files.replacing(self._path(key)) as stream:
            stream.write(_digest(content) + content)
        for path in self.folder.glob(f"{self.base}.*"):
            if not path.name.startswith(f"{self.base}.{self.stamp}"):
                path.unlink(missing_ok=True)

    def flush(self) -> None:
        for path in self.folder.glob(f"{self.base}.*"):
            path.unlink(missing_ok=True)

    def _path(self, key: Any) -> Path:
        return self.folder / f"{self.base}.{self.stamp}-{_digest(str(key).encode()).hex()}.nbc"


def _digest(*parts: bytes) -> bytes:
    total = hashlib.blake2b(digest_size=CHECKSUM)
    for part in parts:
        total.update(len(part).to_bytes(8) + part)
    return total.digest()


@cache
def _content(file: str) -> bytes:
    return Path(file).read_bytes()


def _sources(function: FunctionType) -> list[str]:
    """The file of a function, and those of the compiled functions of `lib` that its module has, and of theirs."""
    found: dict[str, None] = {}
    waiting = [function]
    while waiting:
        function = waiting.pop()
        file = function.__code__.co_filename
        if file not in found:
            found[file] = None
            waiting += _compiled(function.__globals__)
    return sorted(found)


def _compiled(names: dict[str, Any]) -> Iterator[FunctionType]:
    """The functions behind what is compiled in a module, or in the modules of `lib` that it has imported whole."""
    for value in list(names.values()):
        inside = inspect.ismodule(value) and value.__name__.startswith("lib.")
        for item in list(vars(value).values()) if inside else [value]:
            inner = getattr(item, "py_func", None) if is_jitted(item) else getattr(item, "_defn", None)
            if isinstance(inner, FunctionType) and inner.__code__.co_filename.startswith(HOME):
                yield inner
