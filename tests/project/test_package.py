"""The installed package works in any folder, with tables, without notebooks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from lib import corpora
from lib.base import paths
from tests.copies import run

PROGRAM = """
import json
from lib import corpora, embedders
from lib.base import paths
from lib.store import EmbeddingStore

corpus = corpora.load("lee")
vectors = EmbeddingStore().embed(embedders.load("wordllama"), corpus)
paths.figures_folder("mine")
print(json.dumps({
    "code": paths.__file__,
    "shape": vectors.shape,
}))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """An unpacked wheel, built from a copy of the project.

    Building in the project itself would leave a folder `build`.
    """
    source = tmp_path_factory.mktemp("source")
    folder = tmp_path_factory.mktemp("package")
    skipped = shutil.ignore_patterns("__pycache__")
    for name in ("lib", "audit", "tools", "tests", "benchmarks"):
        shutil.copytree(paths.ROOT / name, source / name, ignore=skipped)
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(paths.ROOT / name, source)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", folder]
    subprocess.run([*command, source], check=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def folder(tmp_path) -> Path:
    """An empty folder to work in."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


@pytest.fixture
def python(package, folder) -> Callable[..., subprocess.CompletedProcess]:
    """A function that runs Python in the folder, with the package and no cache."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SENTENCE_")
    }
    variables["PYTHONPATH"] = str(package)

    return partial(run, folder, variables)


def test_the_package_is_lib_with_its_tables(package) -> None:
    (metadata,) = package.glob("*.dist-info")
    assert set(package.iterdir()) == {package / "lib", metadata}
    command = ["git", "ls-files", "lib"]
    listed = subprocess.check_output(command, cwd=paths.ROOT, text=True).split()
    assert [name for name in listed if not (package / name).exists()] == []


# README: "The cache, figures and downloads are then kept in the folder that you start
# Python in"
def test_it_embeds_in_an_empty_folder_and_keeps_its_cache_there(
    package, folder, python
) -> None:
    done = python("-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert Path(found["code"]).is_relative_to(package)
    assert found["shape"] == [len(corpora.load("lee").sentences), 256]
    assert sorted(entry.name for entry in folder.iterdir()) == [".cache", "figures"]
    assert (folder / ".cache" / "embeddings").is_dir()
    assert (folder / "figures" / "interactive" / "mine").is_dir()


def test_without_notebooks_a_notebook_says_so_in_a_sentence(folder, python) -> None:
    opened = "from lib.base import parameters; parameters.check_notebook('01_n2o', {})"
    said = python("-c", opened).stderr.splitlines()[-1]
    assert f"{folder}/notebooks: no such folder; run notebooks in a check" in said
