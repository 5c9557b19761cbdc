"""What several tests share."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from lib.base import paths
from tests.sizes import EXAMPLES

# Workers share the cores, and small arrays are no work for several threads. Set before
# a library asks for it.
for name, value in {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}.items():
    os.environ.setdefault(name, value)
# No deadline: the first example pays for imports, and machines are noisy. Where a
# change must land, the same examples.
settings.register_profile(
    "project",
    deadline=None,
    derandomize="CI" in os.environ,
    max_examples=EXAMPLES,
)
settings.load_profile("project")

DATA = [
    Path(folder) for folder in os.environ.get("SENTENCE_DATA", "").split(":") if folder
]


def pytest_collection_modifyitems(items: list) -> None:
    """The longest file first, so that no worker waits for the other one at the end."""
    items.sort(key=lambda item: item.path.stem != "test_smoke")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def own_cache(tmp_path, monkeypatch) -> Path:
    """A cache of its own for the test."""
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    return paths.CACHE


@pytest.fixture
def data_folder(tmp_path, monkeypatch, own_cache) -> Path:
    """An empty folder, the only one where data are looked for; with its own cache."""
    monkeypatch.setattr(paths, "DATA", tmp_path)
    monkeypatch.setenv(paths.DATA_VARIABLE, "")
    return tmp_path


@pytest.fixture
def data_file():
    """A function that finds a file of the papers' data or skips the test."""

    def find(path: str) -> Path:
        for folder in DATA:
            if (folder / path).exists():
                return folder / path
        pytest.skip(
            f"needs {path} of the papers' data in a folder named by SENTENCE_DATA"
        )

    return find
