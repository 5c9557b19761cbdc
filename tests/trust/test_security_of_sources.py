"""Nothing in the sources unpickles, evaluates text or starts a shell: a reading of every syntax tree."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

import pytest

from lib.run import paths

# Each with the reason why it is there.
ALLOWED = {
    ("lib/embedders/own.py", "exec"): "the user's own code, which the parameter `embedder` names to be run",
}
MODULES = {"pickle", "_pickle", "cloudpickle", "dill", "shelve", "marshal"}
CALLS = {
    *("eval", "exec", "__import__", "os.system", "os.popen", "pickle.load", "pickle.loads", "joblib.load"),
    *("pandas.read_pickle", "torch.hub.load", "yaml.load", "yaml.unsafe_load", "yaml.full_load"),
}
METHODS = {"extractall", "getoutput", "KeyedVectors.load", "Word2Vec.load", "FastText.load", "Doc2Vec.load"}
NEEDED = {"numpy.load": ("allow_pickle", False), "torch.load": ("weights_only", True)}
FORBIDDEN_UNLESS = {"trust_remote_code": False, "shell": False, "allow_pickle": False, "verify": True}


def found_in(source: str) -> Iterator[str]:
    """What is not wanted in a module, by the full names of what it imports."""
    tree = ast.parse(source)
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                origin = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                names[alias.asname or alias.name] = origin + alias.name
                if (origin + alias.name).split(".")[0] in MODULES:
                    yield (origin + alias.name).split(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            first, _, rest = ast.unparse(node.func).partition(".")
            name = names.get(first, first) + (f".{rest}" if rest else "")
            options = {option.arg: ast.unparse(option.value) for option in node.keywords}
            if name in CALLS or any(f".{name}".endswith(f".{method}") for method in METHODS):
                yield name
            if name in NEEDED and options.get(NEEDED[name][0]) != str(NEEDED[name][1]):
                yield f"{name} without {NEEDED[name][0]}={NEEDED[name][1]}"
            for option, value in FORBIDDEN_UNLESS.items():
                if options.get(option, str(value)) != str(value):
                    yield f"{name} with {option}"


def sources() -> Iterator[tuple[str, str]]:
    """Every module of the project and the code of every notebook, by its path."""
    for folder in ("lib", "tools", "benchmarks"):
        for file in sorted((paths.ROOT / folder).rglob("*.py")):
            yield str(file.relative_to(paths.ROOT)), file.read_text(encoding="utf-8")
    for file in sorted(paths.NOTEBOOKS.glob("*.ipynb")):
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        yield file.name, "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def test_nothing_unpickles_evaluates_text_or_starts_a_shell() -> None:
    assert {(file, what) for file, source in sources() for what in found_in(source)} - ALLOWED.keys() == set()


@pytest.mark.parametrize(
    "source",
    [
        "from pickle import loads as l",
        "import numpy as np; np.load(f)",
        "from numpy import load; load(f, allow_pickle=ok)",
        "import torch as t; t.load(f, weights_only=False)",
        "from gensim.models import KeyedVectors; KeyedVectors.load(f)",
        "import yaml; yaml.load(t, yaml.Loader)",
        "exec(t)",
        "import subprocess; subprocess.run(['rm', t], shell=True)",
        "AutoModel.from_pretrained(f, trust_remote_code=wanted)",
        "archive.extractall(f)",
        "import requests; requests.get(u, verify=False)",
    ],
)
def test_the_reading_sees(source) -> None:
    assert list(found_in(source))


@pytest.mark.parametrize(
    "source",
    [
        "import numpy as np; np.load(f, allow_pickle=False)",
        "import torch; torch.load(f, weights_only=True)",
        "import yaml; yaml.safe_load(t)",
        "model.eval(); WordVectors.load(f); tasks.load(n)",
    ],
)
def test_the_reading_lets_pass(source) -> None:
    assert list(found_in(source)) == []
