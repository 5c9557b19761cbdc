"""What the results of a notebook depend on, as one digest: unchanged, it need not run again."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lib import catalog
from lib.run import parameters, paths


def digest(notebook: Path, profile: str, given: Mapping[str, Any]) -> str:
    """Hexadecimal digest of a notebook's source, its parameters, the modules of `lib` that it imports (directly or
    not), the pinned packages, and the data that it may read.

    `given` are the parameters that the profile changes.
    """
    cells = parameters.cells(notebook)
    sources = ["".join(cell["source"]) for cell in cells]
    code = [source for source, cell in zip(sources, cells, strict=True) if cell["cell_type"] == "code"]
    values = parameters.of_notebook(notebook) | dict(given)
    total = hashlib.blake2b(digest_size=16)
    for part in (sys.version, json.dumps(sources), json.dumps(values, sort_keys=True)):
        total.update(part.encode() + b"\0")
    for file in [paths.ROOT / "requirements.lock", *library_files(code)]:
        total.update(str(file.relative_to(paths.ROOT)).encode() + b"\0" + file.read_bytes())
    for path in _data_files(values.values(), profile):
        status = path.stat()
        total.update(f"{path} {status.st_size} {status.st_mtime_ns}\0".encode())
    return total.hexdigest()


def library_files(sources: Iterable[str]) -> list[Path]:
    """Files of `lib` that these sources import, and those that these import in turn; tables beside them too."""
    found: set[Path] = set()
    waiting = [module for source in sources for module in _imported(source)]
    while waiting:
        for file in _files_of(waiting.pop()):
            if file not in found:
                found.add(file)
                waiting += _imported(file.read_text(encoding="utf-8")) if file.suffix == ".py" else []
    return sorted(found)


def _imported(source: str) -> list[str]:
    """Dotted names that begin with ``lib`` and are imported anywhere in a source, in functions too."""
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.split(".")[0] == "lib"]


def _files_of(module: str) -> Iterator[Path]:
    """The module's file, or its package's ``__init__``; and the tables in the folder of its name."""
    path = paths.ROOT.joinpath(*module.split("."))
    for file in (path.with_suffix(".py"), path / "catalog.toml", path / "__init__.py"):
        if file.exists():
            yield file
    yield from sorted(path.glob("*.csv"))


def _data_files(values: Iterable[Any], profile: str) -> Iterator[Path]:
    """Files outside the project that a run may read: those that it names, and the data folders where they count."""
    named = [value for value in values if isinstance(value, str)]
    for value in named:
        yield from _named_files(value)
    if profile == "paper" or any(re.match(r"reuters$|gigaword:", value) for value in named):
        for folder in catalog.folders():
            yield from _files_below(folder)


def _named_files(value: str) -> Iterator[Path]:
    """The files of a user's text (``lines:PATH``), embedder (``PATH.py:function``, a model's folder) or neighbors."""
    kind, _, rest = value.partition(":")
    is_text = kind in ("lines", "text")
    path = paths.from_root(rest if is_text else kind)
    if os.path.isfile(path) and (is_text or path.suffix in (".py", ".parquet")):
        yield path
    elif os.path.isfile(path / "config.json"):
        yield from _files_below(path)


def _files_below(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())
