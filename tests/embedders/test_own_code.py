"""A user's own code runs as a module does, and its vectors are kept while they hold."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lib import embedders, store
from lib.base import paths
from lib.embedders import own, own_code
from lib.store import EmbeddingStore
from tests.refusals import refused
from tools.run import jobs

SENTENCES = ["one", "two fish"]
HEAD = "import numpy as np\nfrom pathlib import Path\nHERE = Path(__file__).parent\n"
ENCODE = "def encode(sentences):\n    return np.full((len(sentences), 2), {})\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """A function that writes a file and returns its path."""
    # Without what other tests have left.
    path = [folder for folder in sys.path if folder not in own_code._folders]
    monkeypatch.setattr(sys, "path", path)
    monkeypatch.setattr(own_code, "_folders", [])
    for name in own_code._imported:
        sys.modules.pop(name, None)
    own_code._imported.clear()

    def write(name: str, text: str) -> Path:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        return tmp_path / name

    yield write
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


def next_run() -> None:
    """Forget what a process remembers of users' code and of vectors not kept."""
    own_code._loaded.clear()
    store._unkept.cache_clear()


def embedded(file: Path, folder: Path, name: str = "encode") -> list[list[float]]:
    mine = embedders.load(f"{file}:{name}")
    return EmbeddingStore(folder).embed(mine, SENTENCES).tolist()


# -- what vectors depend on ------------------------------------------------------------

# The file `other` of each holds a number. What imports it, and how it is written.
IMPORTS = {
    "a module": ("from other import N\n", "other.py"),
    "a module of a module": ("import between\nN = between.other.N\n", "other.py"),
    "a package's module": ("import whole.other as it\nN = it.N\n", "whole/other.py"),
    "a folder's module": ("from plain.other import N\n", "plain/other.py"),
    "a folder's folder's module": (
        "from level.deep.other import N\n",
        "level/deep/other.py",
    ),
    "a relative import": ("from whole import N\n", "whole/inner.py"),
}


@pytest.mark.parametrize("what", IMPORTS)
def test_an_edited_module_gives_new_vectors(what, write, tmp_path) -> None:
    code, other = IMPORTS[what]
    write("between.py", "import other\n")
    write("whole/__init__.py", "from .inner import N\n")
    write("whole/inner.py", "N = 1\n")
    file = write("mine.py", HEAD + code + ENCODE.format("N"))
    for number in (1, 2):
        write(other, f"N = {number}\n")
        assert embedded(file, tmp_path / "store") == [[number, number]] * 2
    next_run()
    assert embedded(file, tmp_path / "store") == [[2, 2]] * 2


def test_a_module_that_a_function_imports_when_it_is_called_counts(
    write, tmp_path
) -> None:
    code = "def encode(s):\n    import late\n    return np.full((len(s), 2), late.N)\n"
    file = write("mine.py", HEAD + code)
    for number in (1, 2):
        write("late.py", f"N = {number}\n")
        assert embedded(file, tmp_path / "store") == [[number, number]] * 2


# How code imports the file `found/other.py` that its text does not name.
UNNAMED = {
    "Python's path": (
        "import sys\nsys.path.append(str(HERE / 'found'))\nimport other\n",
        1,
    ),
    "a computed name": (
        "import sys\nfrom importlib import import_module as load\n"
        "sys.path.append(str(HERE / 'found'))\nother = load('oth' + 'er')\n",
        0,
    ),
    "a file": (
        "from importlib import util\n"
        "spec = util.spec_from_file_location('it', HERE / 'found' / 'other.py')\n"
        "other = util.module_from_spec(spec)\nspec.loader.exec_module(other)\n",
        0,
    ),
}


@pytest.mark.parametrize("what", UNNAMED)
def test_a_module_that_is_found_when_code_runs_counts(what, write, tmp_path) -> None:
    code, is_kept = UNNAMED[what]
    count = "with open(HERE / 'runs', 'a') as runs: runs.write('x')\n"
    file = write("mine.py", HEAD + count + code + ENCODE.format("other.N"))
    path = [*sys.path]
    for number in (1, 2):
        if is_kept:  # as a new process begins
            sys.path[:] = path
            sys.modules.pop("other", None)
        write("found/other.py", f"N = {number}\n")
        mine = own.load(f"{file}:encode", "mine")
        assert mine.is_kept == is_kept
        vectors = EmbeddingStore(tmp_path / "store").embed(mine, SENTENCES)
        assert vectors.tolist() == [[number, number]] * 2
    assert (tmp_path / "runs").read_text() == "xx"


def test_files_of_one_name_in_two_folders_do_not_mix(write, tmp_path) -> None:
    for number in (1, 2, 1):
        write(f"{number}/beside.py", f"N = {number}\n")
        code = HEAD + "from beside import N\n" + ENCODE.format("N")
        file = write(f"{number}/mine.py", code)
        assert embedded(file, tmp_path / "store") == [[number, number]] * 2


SIZE = "(HERE / 'size').stat().st_size"  # which cannot be seen
READS = {
    "when it is read": ("N = np.load(HERE / 'n.npy')\n", "N"),
    "when it is called": ("", "np.load(HERE / 'n.npy')"),
    "a database": ("import sqlite3\nsqlite3.connect('n.npy')\n", SIZE),
    "a module's file": ("import pkgutil\npkgutil.get_data('between', 'size')\n", SIZE),
    "by pandas": ("import pandas as pd\nif 0: pd.read_parquet('n')\n", SIZE),
    "another process": ("import subprocess\nsubprocess.run(['true'])\n", SIZE),
    "a computed import": ("import importlib\nimportlib.import_module('re')\n", SIZE),
    "the environment": ("import os\nos.environ.get('NONE')\n", SIZE),
    "it by another name": ("from os import getenv as get\nget('NONE')\n", SIZE),
    "a package that may read": ("import tokenizers\n", SIZE),
}


@pytest.mark.parametrize("what", READS)
def test_code_that_reaches_further_encodes_again_unless_it_states_a_version(
    what, write, tmp_path, capsys, monkeypatch
) -> None:
    monkeypatch.delenv(paths.LOG_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    write("between.py", "")
    first, number = READS[what]
    code = HEAD + first + ENCODE.format(number)
    found = {}
    for name, version in {"unstated": "", "stated": "VERSION = 1\n"}.items():
        file = write(f"{name}.py", code + version)
        found[name] = []
        for value in (1.0, 2.0):
            np.save(tmp_path / "n.npy", value)
            write("size", "x" * int(value))
            next_run()
            (vector, _) = embedded(file, tmp_path / "store")
            found[name].append(vector[0])
    assert found == {"unstated": [1, 2], "stated": [1, 1]}
    said = capsys.readouterr().err.splitlines()
    said = [line for line in said if "so its vectors are not kept; to keep" in line]
    assert [f"{tmp_path}/unstated.py:encode " in line for line in said] == [True, True]


def test_what_installed_packages_read_does_not_count(tmp_path) -> None:
    code = own_code.load("notebooks/own_embedder.py:encode")
    assert code.is_kept


def test_where_all_is_forced_own_code_encodes_again(
    write, tmp_path, monkeypatch
) -> None:
    file = write("mine.py", HEAD + "VERSION = 1\n" + ENCODE.format(1))
    embedded(file, tmp_path / "store")
    kept = list((tmp_path / "store").iterdir())
    monkeypatch.setenv(paths.FORCE_VARIABLE, "yes")
    next_run()
    assert embedded(file, tmp_path / "store") == [[1, 1]] * 2
    assert list((tmp_path / "store").iterdir()) == kept


# -- as a module -----------------------------------------------------------------------

MODULE = (
    HEAD
    + """
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import ClassVar

@dataclass
class Model:
    size: ClassVar[int] = 2
    number: float = 3.0

    def encode(self, sentences):
        return np.full((len(sentences), self.size), self.number)

def length(sentence):
    return [float(len(sentence)), 1.0]

def {how}(sentences):
    with ProcessPoolExecutor(1, get_context("{how}")) as pool:
        return np.array(list(pool.map(length, sentences)))
"""
)


@pytest.mark.parametrize("name", ["mine", "my-model", "mine.v2", "numpy", "conftest"])
def test_a_file_is_a_module_whatever_it_is_called(name, write) -> None:
    file = write(f"{name}.py", MODULE.replace("{how}", "fork"))
    model = own_code.load(f"{file}:Model").thing
    assert pickle.loads(pickle.dumps(model)) == model
    assert model.encode(SENTENCES).tolist() == [[3, 3]] * 2
    lengths = own.load(f"{file}:fork").encode(SENTENCES)
    assert lengths.tolist() == [[3, 1], [8, 1]]
    assert sys.modules["numpy"] is np


def test_a_process_that_is_spawned_finds_it(write) -> None:
    file = write("mine.py", MODULE.replace("{how}", "spawn"))
    lengths = own.load(f"{file}:spawn").encode(SENTENCES)
    assert lengths.tolist() == [[3, 1], [8, 1]]


def test_code_runs_once_and_again_when_it_has_changed(write, tmp_path) -> None:
    count = "with open(HERE / 'runs', 'a') as runs: runs.write('x')\n"
    file = write("mine.py", HEAD + count + ENCODE.format(1))
    for _ in range(3):
        embedders.select("embedder_names", [f"{file}:encode"])
        embedded(file, tmp_path / "store")
    assert (tmp_path / "runs").read_text() == "x"
    write("mine.py", HEAD + count + ENCODE.format(7))
    assert embedded(file, tmp_path / "store") == [[7, 7]] * 2
    assert (tmp_path / "runs").read_text() == "xx"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys\nsys.exit(2)\n", "exits when it is imported"),
        (
            "import argparse\nargparse.ArgumentParser().parse_args(['--x'])\n",
            "exits when it is imported (SystemExit: 2); put what runs as a",
        ),
        ("def encode(s): raise SystemExit(3)\n", "raised SystemExit: 3; fix it"),
        ("def encode(s:\n", "raised SyntaxError"),
        ("raise KeyError('no')\n", "raised KeyError: 'no'; fix it"),
    ],
)
def test_code_that_ends_or_fails_gets_a_sentence(write, code, message) -> None:
    file = write("mine.py", code)
    with refused(message):
        own_code.load(f"{file}:encode")


def test_a_file_in_the_projects_folder_takes_no_packages_place(write, tmp_path) -> None:
    for name in ("numpy", "pandas", "psutil"):
        write(f"{name}.py", "raise SystemExit('taken')\n")
    for module in ("tools.run", "lib.swap"):
        ended = subprocess.run(
            [sys.executable, "-m", module, "--help"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(paths.ROOT)},
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 0, ended.stderr


# -- folders ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["tuned@v2", "run:3", "10:00:00", "a@int8", "x.py:y"])
def test_a_folder_is_looked_for_before_its_name_is_parsed(
    name, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    (tmp_path / name).mkdir()
    (tmp_path / name / "config.json").write_text("{}")
    for given in (name, f"./{name}", str(tmp_path / name)):
        assert embedders.missing([given, f"{given}@int8"]) == {}
        for form in ("", "@int8"):
            with refused(f"pooling: {given} does not say how its tokens are pooled"):
                embedders.load(given + form)
            with refused(f"pooling: {given} does not say how its tokens are pooled"):
                own.load(given + form)
            files = list(jobs._data_files([given + form]))
            assert tmp_path / name / "config.json" in files
