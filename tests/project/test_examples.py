"""The examples in docstrings give what they show."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

from lib.base import paths

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = [
    file.relative_to(paths.ROOT).with_suffix("")
    for file in sorted((paths.ROOT / "lib").rglob("*.py"))
    if ">>> " in file.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("file", MODULES, ids=str)
def test_an_example_gives_what_it_shows(file: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = import_module(".".join(file.parts).removesuffix(".__init__"))
    assert doctest.testmod(module, optionflags=FLAGS).failed == 0
