"""Nothing in the sources unpickles, evaluates text or builds a shell's line: a reading of every syntax tree."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lib.run import paths

# Each with the reason why it is there; what is no longer found must go from here.
ALLOWED = {
    ("lib/run/cluster.py", "import pickle"): "work for one's own workers; docs/cluster.md says what follows",
    ("lib/run/cluster.py", "import cloudpickle"): "the same",
    ("lib/run/cluster.py", "pickle.loads"): "the same",
    ("lib/embedders/own.py", "exec"): "the user's own code, which the parameter `embedder` names to be run",
    ("lib/run/strict_yaml.py", "yaml loader"): "a SafeLoader that refuses more",
}

UNPICKLERS = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
NEVER = {
    *("eval", "exec", "__import__", "os.system", "os.popen", "os.execv", "os.execvp", "tempfile.mktemp"),
    *("subprocess.getoutput", "subprocess.getstatusoutput", "yaml.load", "yaml.load_all", "yaml.unsafe_load"),
    *("yaml.full_load", "pandas.read_pickle", "pickle.load", "pickle.loads", "pickle.Unpickler", "zipfile.extractall"),
    *("numpy.lib.format.read_array", "ssl._create_unverified_context", "torch.hub.load"),
}
NEEDED = {"numpy.load": ("allow_pickle", False), "torch.load": ("weights_only", True)}
FORBIDDEN_OPTIONS = {"trust_remote_code": False, "shell": False, "allow_pickle": False, "verify": True}
UNPICKLING_CLASSES = {
    "KeyedVectors",
    "Word2Vec",
    "FastText",
    "Doc2Vec",
    "Dictionary",
    "TfidfModel",
    "LsiModel",
    "Phrases",
}
STARTERS = {f"subprocess.{name}" for name in ("run", "Popen", "call", "check_call", "check_output")}
SHOWN_RAW = {"HTML", "Javascript", "SVG", "Latex"}


class Reading(ast.NodeVisitor):
    """Collects what is not wanted in a module, by the full names of what it imports."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.found: list[str] = []

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.names[alias.asname or alias.name.split(".")[0]] = (
                alias.name if alias.asname else alias.name.split(".")[0]
            )
            self._imported(alias.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        self._imported(node.module or "")

    def _imported(self, module: str) -> None:
        if module.split(".")[0] in UNPICKLERS:
            self.found.append(f"import {module}")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if any(self._name(base).endswith("Loader") and self._name(base).startswith("yaml.") for base in node.bases):
            self.found.append("yaml loader")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        name, options = self._name(node.func), {option.arg: option.value for option in node.keywords}
        if name in NEVER or name.rpartition(".")[2] == "extractall":
            self.found.append(name)
        if name in NEEDED and not _is(options.get(NEEDED[name][0]), NEEDED[name][1]):
            self.found.append(f"{name} without {NEEDED[name][0]}={NEEDED[name][1]}")
        for option, value in FORBIDDEN_OPTIONS.items():
            if option in options and not _is(options[option], value):
                self.found.append(f"{name} with {option}")
        if name.rpartition(".")[2] in ("system", "getoutput") and not all(map(_is_text, node.args)):
            self.found.append(name)
        if name in STARTERS and node.args and _makes_text(node.args[0]):
            self.found.append(f"{name} of a text")
        owner, _, method = name.rpartition(".")
        if method == "load" and owner.rpartition(".")[2] in UNPICKLING_CLASSES:
            self.found.append(name)
        if name.startswith("IPython.") and method in SHOWN_RAW:
            self.found.append(name)
        self.generic_visit(node)

    def _name(self, node: ast.expr) -> str:
        if isinstance(node, ast.Attribute):
            return f"{self._name(node.value)}.{node.attr}"
        return self.names.get(node.id, node.id) if isinstance(node, ast.Name) else ""


def _is(node: ast.expr | None, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _makes_text(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _makes_text(node.left) or _makes_text(node.right)
    return isinstance(node, ast.JoinedStr) or _is_text(node)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def read(source: str) -> list[str]:
    reading = Reading()
    reading.visit(ast.parse(source))
    return reading.found


def sources() -> Iterator[tuple[str, str]]:
    """Every module of the project and the code of every notebook, by its path."""
    for file in (file for folder in ("lib", "benchmarks") for file in sorted((paths.ROOT / folder).rglob("*.py"))):
        yield str(file.relative_to(paths.ROOT)), file.read_text(encoding="utf-8")
    for file in sorted(paths.NOTEBOOKS.glob("*.py")):
        yield f"notebooks/{file.name}", file.read_text(encoding="utf-8")
    for file in sorted(paths.NOTEBOOKS.glob("*.ipynb")):
        yield f"notebooks/{file.name}", code_of(file)


def code_of(notebook: Path) -> str:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert not any(line.startswith(("!", "%", "?")) for source in code for line in source.splitlines())
    return "\n".join(code)


def test_nothing_unpickles_evaluates_text_or_starts_a_shell() -> None:
    found = {(file, what) for file, source in sources() for what in read(source)}
    assert found - ALLOWED.keys() == set()
    assert ALLOWED.keys() - found == set()


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from joblib import load",
        "from pickle import loads as l; l(b'')",
        "import numpy as np; np.load(f)",
        "import numpy as np; np.load(f, allow_pickle=True)",
        "from numpy import load; load(f, allow_pickle=ok)",
        "import torch; torch.load(f)",
        "import torch as t; t.load(f, weights_only=False)",
        "import pandas as pd; pd.read_pickle(f)",
        "from gensim.models import KeyedVectors; KeyedVectors.load(f)",
        "import yaml; yaml.load(t, yaml.Loader)",
        "import yaml\nclass L(yaml.Loader): ...",
        "eval(t)",
        "exec(t)",
        "import os; os.system(t)",
        "import subprocess; subprocess.run(f'rm {t}')",
        "get_ipython().system(f'rm {t}')",
        "import subprocess; subprocess.run('rm ' + t)",
        "import subprocess; subprocess.run(['rm', t], shell=True)",
        "AutoModel.from_pretrained(f, trust_remote_code=True)",
        "AutoModel.from_pretrained(f, trust_remote_code=wanted)",
        "archive.extractall(f)",
        "import requests; requests.get(u, verify=False)",
        "from IPython.display import HTML; HTML(t)",
    ],
)
def test_the_reading_sees(source) -> None:
    assert read(source)


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np; np.load(f, allow_pickle=False)",
        "import torch; torch.load(f, weights_only=True)",
        "import yaml; yaml.safe_load(t)",
        "import subprocess; subprocess.run([sys.executable, '-m', 'pip'] + more)",
        "model.eval(); WordVectors.load(f); tasks.load(n)",
    ],
)
def test_the_reading_lets_pass(source) -> None:
    assert read(source) == []


def test_sentences_of_a_text_reach_markdown_only_escaped() -> None:
    """In the notebooks; what stands in a table of pandas or of `lib.run.markdown` is escaped there."""
    escaped = ("escape(", "markdown.escape(", "len(")
    unescaped = [
        f"{file.name}: {said}"
        for file in sorted(paths.NOTEBOOKS.glob("*.ipynb"))
        for node in ast.walk(ast.parse(code_of(file)))
        if isinstance(node, ast.FormattedValue) and "corpus.sentences" in (said := ast.unparse(node.value))
        if not said.startswith(escaped)
    ]
    assert unescaped == []
