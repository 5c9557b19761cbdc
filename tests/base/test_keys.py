"""A function's key: equal for equal functions, another where results may differ."""

from __future__ import annotations

import functools
import importlib
import operator
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from nltk.tokenize import RegexpTokenizer

from lib.base import keys
from lib.corpora import text
from lib.embedders.composition import SIF
from lib.store import EmbeddingStore
from tests.refusals import refused

VECTORS = {"Red": np.float32([1, 0]), "red": np.float32([0, 1])}
SENTENCES = ["Red red", "Red", "red red"]


def key(function) -> str:
    return keys.of_function("tokenize", function)


def defined(source: str, name: str = "tokenize"):
    """What a notebook's cell defines."""
    scope = {"__name__": "__main__", "re": re, "RegexpTokenizer": RegexpTokenizer}
    exec(source, scope)
    return scope[name]


def test_a_function_that_is_defined_anew_gives_new_vectors(tmp_path) -> None:
    store = EmbeddingStore(tmp_path)

    def first_of(tokenize) -> list[float]:
        sif = SIF(VECTORS, {"Red": 0.1, "red": 0.1}, m=0, tokenize=tokenize)
        return store.embed(sif, SENTENCES)[0].tolist()

    weight = 1e-3 / (1e-3 + 0.1)
    cased = first_of(defined("def tokenize(s): return s.split()"))
    lowered = first_of(defined("def tokenize(s): return s.lower().split()"))
    np.testing.assert_allclose(cased, [weight / 2, weight / 2], rtol=1e-6)
    np.testing.assert_allclose(lowered, [0, weight], rtol=1e-6)


CLASS = """
class T:
    size = 1
    def __init__(self, low): self.low = low
    def __call__(self, s): return s.lower().split() if self.low else s.split()
    @property
    def p(self): return 1
"""
# Two definitions, only the first of which is made twice.
PAIRS = {
    "code": (
        "def tokenize(s): return s.split()",
        "def tokenize(s): return s.split(' ')",
    ),
    "a lambda's constant": ("tokenize = lambda s: s[:1]", "tokenize = lambda s: s[:2]"),
    "a default": ("def tokenize(s, n=1): return s", "def tokenize(s, n=2): return s"),
    "a keyword's default": (
        "def tokenize(s, *, n=1): return s",
        "def tokenize(s, *, n=2): return s",
    ),
    "a closure": (
        "tokenize = (lambda n: lambda s: s[n])(1)",
        "tokenize = (lambda n: lambda s: s[n])(2)",
    ),
    "a global": (
        "N = {'a', 'b', 'c'}\ndef tokenize(s): return s in N",
        "N = {'a', 'b', 'd'}\ndef tokenize(s): return s in N",
    ),
    "a global of a global": (
        "N = 1\ndef g(s): return f(s) + N\ndef f(s): return g(s)\ntokenize = f",
        "N = 2\ndef g(s): return f(s) + N\ndef f(s): return g(s)\ntokenize = f",
    ),
    "a function inside": (
        "def tokenize(s):\n def g(t): return t + '1'\n return g(s)",
        "def tokenize(s):\n def g(t): return t + '2'\n return g(s)",
    ),
    "an attribute": (
        "def tokenize(s): return tokenize.n\ntokenize.n = 1",
        "def tokenize(s): return tokenize.n\ntokenize.n = 2",
    ),
    "a method of an object with state": (
        f"{CLASS}tokenize = T(True).__call__",
        f"{CLASS}tokenize = T(False).__call__",
    ),
    "a callable object": (f"{CLASS}tokenize = T(True)", f"{CLASS}tokenize = T(False)"),
    "its class": (
        f"{CLASS}tokenize = T(True)",
        f"{CLASS.replace('return 1', 'return 2')}tokenize = T(True)",
    ),
    "a pattern's method": (
        "tokenize = re.compile('a').findall",
        "tokenize = re.compile('b').findall",
    ),
    "a package's object": (
        "tokenize = RegexpTokenizer('a').tokenize",
        "tokenize = RegexpTokenizer('b').tokenize",
    ),
    "a partial function": (
        "from functools import partial\ntokenize = partial(re.split, 'a')",
        "from functools import partial\ntokenize = partial(re.split, 'b')",
    ),
    "a cached function": (
        "from functools import cache\n@cache\ndef tokenize(s): return s",
        "from functools import cache\n@cache\ndef tokenize(s): return s.lower()",
    ),
    "a name taken over": (
        "from functools import wraps\nfrom lib.corpora import text\n"
        "@wraps(text.word_tokens)\ndef tokenize(s): return s",
        "from functools import wraps\nfrom lib.corpora import text\n"
        "@wraps(text.word_tokens)\ndef tokenize(s): return s.lower()",
    ),
    "the class of a class": (
        "class M(type):\n def __call__(c, s): return 1\nclass tokenize(metaclass=M): 0",
        "class M(type):\n def __call__(c, s): return 2\nclass tokenize(metaclass=M): 0",
    ),
    "an array": (
        "from numpy import add, ones\nA = ones(2)\ndef tokenize(s): return add(A, 1)",
        "from numpy import add, ones\nA = ones(3)\ndef tokenize(s): return add(A, 1)",
    ),
    "a tensor": (
        "import torch\nT = torch.ones(2).bfloat16()\ntokenize = lambda s: T",
        "import torch\nT = torch.zeros(2).bfloat16()\ntokenize = lambda s: T",
    ),
    "a model": (
        "import torch\nM = torch.nn.PReLU(2)\ntokenize = lambda s: M(s)",
        "import torch\nM = torch.nn.PReLU(3)\ntokenize = lambda s: M(s)",
    ),
    "a compiled function": (
        "import numba\n@numba.njit\ndef tokenize(s): return s",
        "import numba\n@numba.njit\ndef tokenize(s): return s + 1",
    ),
    "a mapping that cannot change": (
        "from types import MappingProxyType as M\nD = M({'a': 1})\n"
        "def tokenize(s): return D[s]",
        "from types import MappingProxyType as M\nD = M({'a': 2})\n"
        "def tokenize(s): return D[s]",
    ),
    "a generic class": (
        "from typing import Generic, TypeVar\nT = TypeVar('T')\n"
        "class tokenize(Generic[T]): size = 1",
        "from typing import Generic, TypeVar\nT = TypeVar('T')\n"
        "class tokenize(Generic[T]): size = 2",
    ),
}


@pytest.mark.parametrize("what", PAIRS)
def test_equal_functions_have_one_key_and_others_another(what) -> None:
    one, other = PAIRS[what]
    assert key(defined(one)) == key(defined(f"\n\n{one}"))  # wherever it stands
    assert key(defined(one)) != key(defined(other))


def test_a_module_that_a_function_names_counts_as_far_as_it_is_named(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "its_helper.py").write_text("N = 1\nOTHER = 1\n")
    its_helper = importlib.import_module("its_helper")

    def enclosing(module):
        return lambda s: module.N

    scope = {"__name__": "__main__", "its_helper": its_helper}
    exec("def f(s): return its_helper.N", scope)
    exec("def g(s):\n from its_helper import N\n return N", scope)
    exec("def h(s): return getattr(its_helper, 'N')", scope)
    exec("ALL = [its_helper]\ndef i(s): return ALL[0].N", scope)
    exec("def j(s, given=its_helper): return given.N", scope)
    by_name = [*(scope[name] for name in "fgh"), enclosing(its_helper)]
    functions = [*by_name, scope["i"], scope["j"]]
    before = [key(function) for function in functions]
    its_helper.OTHER = 2
    assert [key(function) for function in by_name] == before[: len(by_name)]
    its_helper.OTHER = 1
    its_helper.N = 2
    assert not set(before) & {key(function) for function in functions}


def test_an_installed_function_is_its_name_and_version() -> None:
    assert key(text.word_tokens) == "lib.corpora.text.word_tokens"
    assert re.fullmatch(r"re\.findall of Python 3\.\d+\.\d+", key(re.findall))
    assert re.fullmatch(r"numpy\.asarray of numpy [\d.]+", key(np.asarray))
    assert key(str.split).startswith("builtins.str.split of Python")


def test_a_key_is_the_same_in_another_process() -> None:
    code = PAIRS["a global"][0] + "\ntokenize.d = {'a': {1, 2, 'x'}, 'b': T(1)}"
    code = f"from lib.base import keys\n{CLASS}{code}\n"
    code += "print(keys.of_function('t', tokenize))"
    found = set()
    for seed in "12":
        command = [sys.executable, "-c", code]
        ended = subprocess.run(
            command, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True
        )
        found.add(ended.stdout)
    assert len(found) == 1
    assert found.pop().startswith("__main__.tokenize ")


READING = """
from pathlib import Path
class T:
    def __init__(self, file): self.words = set(open(file).read().split())
    def save(self, file): open(file, 'w').write(' '.join(self.words))
    def tokenize(self, s): return [w for w in s.split() if w in self.words]
class Lazy:
    def more(self): return Path('more').read_text()
    def tokenize(self, s): return self.more()
"""


def test_what_an_object_was_made_from_is_in_it(tmp_path) -> None:
    found = set()
    for words in ("a b", "a c"):
        (tmp_path / "words").write_text(words)
        made = defined(READING, "T")(tmp_path / "words")
        found.add(key(made.tokenize))
    assert len(found) == 2
    with refused("it uses read_text"):
        key(defined(READING, "Lazy")().tokenize)
    with refused("it uses open"):
        key(defined(f"{READING}def tokenize(s): return T('words').tokenize(s)"))


class Holding:
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def tokenize(self, sentence: str) -> list[str]:
        return sentence.split()


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (Holding().tokenize, "cannot pickle '_thread.lock' object"),
        (
            functools.partial(Holding().tokenize, "a"),
            "cannot pickle '_thread.lock' object",
        ),
        (lambda sentence: eval(sentence), "it uses eval"),
        (lambda sentence: list(open(sentence)), "it uses open"),  # noqa: SIM115
        (lambda sentence: Path(sentence).read_text(), "it uses read_text"),
        (lambda sentence: os.environ[sentence], "it uses environ"),
        (
            np.frompyfunc(operator.not_, 1, 1),
            "its builtins.ufunc has no readable",
        ),
    ],
)
def test_what_has_no_key_gets_a_sentence(function, why) -> None:
    with refused(f"({why}"):
        key(function)
