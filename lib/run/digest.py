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


def digest(notebook: Path, profile: str, values: Mapping[str, Any]) -> str:
    """Digest of a notebook's source, its parameters, the modules of `lib` that it imports (directly or not), Python,
    the pinned packages, and the data that it may read.

    Parameters
    ----------
    notebook : Path
    profile : str
    values : mapping
        The values of the parameters by name.
    """
    cells = parameters.cells(notebook)
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    sources = [paths.ROOT / "requirements.lock", *library_files(code)]
    parts = [
        sys.version,
        [cell["source"] for cell in cells],
        values,
        [(str(file.relative_to(paths.ROOT)), file.read_text(encoding="utf-8")) for file in sources],
        [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in _data_files(values.values(), profile)],
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def library_files(sources: Iterable[str]) -> list[Path]:
    """Files of `lib` that these sources import, and those that these import in turn; tables beside them, too."""
    found: set[Path] = set()
    waiting = list(sources)
    while waiting:
        new = set(_imported(waiting.pop())) - found
        packages = [file.parent for file in new if file.suffix == ".py" and "iter_modules" in file.read_text("utf-8")]
        new |= {file for folder in packages for file in folder.glob("*.py")} - found  # which import all their modules
        found |= new
        waiting += [file.read_text(encoding="utf-8") for file in new if file.suffix == ".py"]
    return sorted(found)


def _imported(source: str) -> Iterator[Path]:
    """Files of what is imported from `lib` anywhere in a source, in functions too, and of the packages around it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for first, *rest in (name.split(".") for name in names):
            path = paths.ROOT / first
            for part in ["", *rest] if first == "lib" else ():
                path /= part
                yield from (file for file in (path.with_suffix(".py"), path / "__init__.py") if file.exists())
                yield from (file for kind in ("*.toml", "*.csv") for file in path.glob(kind))


def _data_files(values: Iterable[Any], profile: str) -> Iterator[Path]:
    """Files outside the project that a run may read: those that it names, and the data folders where they count."""
    texts = [value for value in values if isinstance(value, str)]
    for text in texts:
        for part in text.partition(":"):  # lines:PATH, PATH.py:function, PATH
            path = paths.from_root(part)
            if os.path.isfile(path):
                yield path
            elif os.path.isfile(path / "config.json"):  # a model
                yield from _files_below(path)
    if profile == "paper" or any(re.match(r"reuters$|gigaword:", text) for text in texts):
        for folder in catalog.folders():
            yield from _files_below(folder)


def _files_below(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())
