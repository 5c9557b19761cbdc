"""Commands and `make` with odd input: a sentence and a status that is not 0, no traceback, nothing run by a shell."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lib import corpora, n2o
from lib.catalog import __main__ as fetching
from lib.corpora import Corpus
from lib.embedders import own
from lib.finetuning import __main__ as finetuning
from lib.neighborhoods import Entry, Neighborhoods
from lib.neighbors import Neighbors
from lib.run import cache, errors, paths
from lib.run import runner as run
from lib.run.errors import InputError
from lib.situate import __main__ as situate
from tests.sizes import CASES
from tools.site import __main__ as site

ROOT = paths.ROOT
OWN = str(paths.NOTEBOOKS / "own_embedder.py:encode")
ODD = [
    "", " ", "'", '"', "`touch x`", "$(touch x)", "; touch x", "a\nb", "--", "-x", "~nobody/x", "~", "a" * 300,
    "a" * 100_000, "a\udcffb", "/dev/null", "/", "..", "é", "\u202eabc", "%s%n", "{0}", "{", "a:b", ":b", "a.py:b",
    "/nowhere/x.py:f", "os:system", "json:nothing", "sys:exit", "1e400", "nan", "-1", "9" * 30, "\x1b[2J",
]  # fmt: skip


class Reached(InputError):
    """All options were accepted; what comes then is not the point here."""


@pytest.fixture(scope="module")
def harmless(tmp_path_factory):
    """Nothing is fetched, executed, computed or written outside of a temporary folder."""

    def reached(*_: object, **__: object) -> None:
        raise Reached("reached")

    folder = tmp_path_factory.mktemp("project")
    tiny = Corpus("tiny", ["a", "b"], np.zeros(2, np.int32), np.zeros(1, np.int32), np.full(2, -1, np.int32))
    with pytest.MonkeyPatch.context() as patch:
        for module, name in (
            (run, "run_all"),
            (run, "digest"),
            (fetching, "_fetch"),
            (site, "build"),
            (situate, "_compute"),
            (finetuning, "finetune"),
            (cache, "delete"),
        ):
            patch.setattr(module, name, reached)
        ids = np.array([[1], [0]])
        lists = Entry(Neighbors(ids, np.ones((2, 1), np.float32)), "sparse", 7)
        stored = Neighborhoods("bible-gospels", tiny.fingerprint, 2, n2o.Samples.of([[0, 1]]), {"one": lists})
        read = situate._stored
        patch.setattr(situate, "_stored", lambda options: read(options) if options.neighbors or options.k else stored)
        load = corpora.load
        patch.setattr(corpora, "load", lambda name: tiny if name == "bible-gospels" else load(name))
        patch.setattr(paths, "ROOT", folder)
        patch.setattr(paths, "CACHE", folder)
        patch.chdir(folder)
        yield folder


def ended(main: Callable, *arguments: str) -> tuple[int, str]:
    """The exit status, which is not 0, and what the command says on standard error: a sentence, no traceback."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", said)
        try:
            status = main(list(arguments))
        except SystemExit as end:  # of argparse, which shows how the command is used and then says its sentence
            status = end.code
            assert status == 2
    assert status != 0
    assert "Traceback" not in said.getvalue()
    sentence = said.getvalue().splitlines()[-1]
    assert 0 < len(sentence) < 1000
    return status, sentence


OPTIONS = {
    "run": (run.main, ["--profile", "--notebook", "--jobs"], []),
    "catalog": (fetching.main, ["--asset"], []),
    "site": (site.main, ["--output"], []),
    "situate": (
        situate.main,
        ["--embedder", "--name", "--pooling", "--neighbors", "--corpus", "--k", "--seed", "--output"],
        [f"--embedder={OWN}"],
    ),
    "finetuning": (
        finetuning.main,
        ["--task", "--model", "--output", "--threads", "--epochs", "--learning-rate", "--device", "--precision"],
        ["--task=mrpc"],
    ),
}


@pytest.mark.parametrize(
    "option", [f"{command} {name}" for command, (_, names, _) in OPTIONS.items() for name in names]
)
def test_an_odd_option_gets_a_sentence(harmless, option) -> None:
    command, name = option.split()
    main, _, before = OPTIONS[command]
    for odd in ODD:
        ended(main, *before, f"{name}={odd}")


@settings(max_examples=CASES, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(option=st.sampled_from(sorted(OPTIONS)), word=st.text(max_size=12), which=st.integers(0, 7))
def test_any_option_gets_a_sentence(harmless, option, word, which) -> None:
    main, names, before = OPTIONS[option]
    ended(main, *before, f"{names[which % len(names)]}={word}")


@pytest.mark.parametrize("main", [cache.main, fetching.main, site.main])
def test_a_word_that_a_command_does_not_know_is_refused(harmless, main) -> None:
    assert "unrecognized arguments: nonsense" in ended(main, "nonsense")[1]


# -- an embedder of one's own -----------------------------------------------------------------------

OWN_CODE = {
    "raises at import": ("1 / 0\ndef f(s): pass", "raised ZeroDivisionError: division by zero"),
    "ends at import": ("import sys\nsys.exit(3)\ndef f(s): pass", "raised SystemExit: 3"),
    "ends without a word": ("raise SystemExit\ndef f(s): pass", "raised SystemExit"),
    "syntax error": ("def f(:\n", "raised SyntaxError"),
    "no Python": ("\0\1\2", "raised"),
    "cannot be imported": ("import nothing_of_this_name\n", "raised ModuleNotFoundError"),
    "no such function": ("def g(s): return s\n", "has no 'f'; accepted: g"),
    "another sort of exception": ("class E(BaseException): pass\ndef f(s): raise E('no')", "raised E: no"),
    "is cancelled": ("import asyncio\ndef f(s): raise asyncio.CancelledError('late')", "raised CancelledError: late"),
    "a module that answers": ("def __getattr__(n): raise ValueError(n)\n", "raised ValueError: f"),
    "a number": ("f = 3\n", "is of type int"),
    "a class that needs something": ("class f:\n    def __init__(self, x): pass\n", "raised TypeError"),
    "raises": ("def f(s): raise RuntimeError('two\\nlines')", "raised RuntimeError: two lines for a list"),
    "ends": ("import sys\ndef f(s): sys.exit('enough')", "raised SystemExit: enough"),
    "takes one": ("def f(s): return [float(len(s.strip()))]", "takes one sentence and no list"),
    "None": ("def f(s): return None", "returned no array of numbers (type NoneType)"),
    "strings": ("def f(s): return s", "returned no array of numbers (type list)"),
    "ragged": ("def f(s): return [[1.0] * (i + 1) for i in range(len(s))]", "returned"),
    "one row": ("def f(s): return [1.0, 2.0]", "returned shape (2,)"),
    "too few rows": ("import numpy as np\ndef f(s): return np.ones((1, 3))", "returned shape (1, 3)"),
    "no dimensions": ("import numpy as np\ndef f(s): return np.ones((len(s), 0))", "give (2, dim)"),
    "NaN": ("import numpy as np\ndef f(s): return np.full((len(s), 2), np.nan)", "returned NaN or infinity"),
    "beyond float32": ("import numpy as np\ndef f(s): return np.full((len(s), 2), 1e300)", "returned NaN or infinity"),
    "complex": ("import numpy as np\ndef f(s): return np.ones((len(s), 2), complex)", "returned no array of numbers"),
    "a sparse tensor": (
        "import torch\ndef f(s): return torch.eye(len(s)).to_sparse()",
        "returned no array of numbers (type Tensor)",
    ),
    "more dimensions later": (
        "import numpy as np\nn = iter(range(1, 99))\ndef f(s): return np.ones((len(s), next(n)))",
        "on an earlier call",
    ),
}


@pytest.mark.parametrize("case", OWN_CODE)
def test_code_of_ones_own_that_fails_ends_in_a_sentence(harmless, case, tmp_path) -> None:
    code, message = OWN_CODE[case]
    (tmp_path / "mine.py").write_text(code)
    _, sentence = ended(situate.main, f"--embedder={tmp_path}/mine.py:f")
    assert message in sentence
    assert "mine" in sentence


def test_an_interrupt_in_code_of_ones_own_is_an_interrupt(harmless, tmp_path) -> None:
    for code in ("raise KeyboardInterrupt\ndef f(s): pass", "def f(s): raise KeyboardInterrupt"):
        (tmp_path / "mine.py").write_text(code)
        assert ended(situate.main, f"--embedder={tmp_path}/mine.py:f") == (130, "Interrupted")


RIGHT = {
    "a list of lists": "def f(s): return [[len(t), 1] for t in s]",
    "a tensor with a gradient": (
        "import torch\ndef f(s): return torch.tensor([[len(t), 1.0] for t in s], requires_grad=True)"
    ),
    "half precision": "import torch\ndef f(s): return torch.tensor([[len(t), 1.0] for t in s], dtype=torch.bfloat16)",
    "prints": "def f(s):\n    print('hello')\n    return [[len(t), 1] for t in s]",
    "empties its argument": (
        "def f(s):\n    out = [[len(t), 1] for t in s]\n    s.clear()\n    return out"
    ),
    "changes its argument": "def f(s):\n    s.sort()\n    s[0] = s[0]\n    return [[1, 1]] * len(s)",
    "uses one buffer": (
        "import numpy as np\nb = np.zeros((9, 2))\n"
        "def f(s):\n    b[: len(s)] = [[len(t), 1] for t in s]\n    return b[: len(s)]"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RIGHT)
def test_code_of_ones_own_that_is_unusual_and_right_is_used(case, tmp_path) -> None:
    (tmp_path / "mine.py").write_text(RIGHT[case])
    mine = own.load(f"{tmp_path}/mine.py:f")
    sentences = ["a", "bb", "ccc", "dddd", "eeeee"]
    found = mine.encode(sentences, batch_size=2)
    assert found.dtype == np.float32
    lengths = [1] * 5 if case == "changes its argument" else [1, 2, 3, 4, 5]
    assert found.tolist() == [[length, 1] for length in lengths]
    assert sentences == ["a", "bb", "ccc", "dddd", "eeeee"]


def test_a_folder_a_pipe_and_a_circle_of_links_are_no_code(harmless, tmp_path) -> None:
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "circle.py").symlink_to(tmp_path / "circle.py")
    for name in ("folder", "pipe", "circle"):
        assert "no such file" in ended(situate.main, f"--embedder={tmp_path}/{name}.py:f")[1]
    assert ended(situate.main, f"--embedder={tmp_path}")[0] == 2


# -- what ends a command ----------------------------------------------------------------------------


def test_an_interrupt_is_said_in_a_word_and_has_the_shells_status(capsys) -> None:
    @errors.said_in_a_sentence
    def command() -> int:
        raise KeyboardInterrupt

    assert command() == 130
    assert capsys.readouterr().err == "Interrupted\n"


def test_a_reader_that_has_gone_ends_a_command_in_silence() -> None:
    """As in `make data | head -1`."""
    program = (
        "import sys\nfrom lib.run.errors import said_in_a_sentence\n"
        "@said_in_a_sentence\ndef main():\n    print('line\\n' * 100_000)\n    return 0\nsys.exit(main())"
    )
    command = [sys.executable, "-c", program]
    first = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first.stdout.close()
    _, said = first.communicate(timeout=120)
    assert said == b""
    assert first.returncode == 141


def test_bytes_that_are_no_text_are_shown_all_the_same() -> None:
    program = (
        "import sys\nfrom lib.run.errors import said_in_a_sentence\n"
        "@said_in_a_sentence\ndef main():\n    print('a\\udcffé')\n    return 0\nsys.exit(main())"
    )
    for encoding, shown in (("utf-8", "a\\udcffé\n".encode()), ("ascii", b"a\\udcff\\xe9\n")):
        environment = os.environ | {"PYTHONIOENCODING": encoding}
        found = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, check=True
        )
        assert (found.stdout, found.stderr) == (shown, b"")


# -- make -------------------------------------------------------------------------------------------

needs_make = pytest.mark.skipif(not shutil.which("make"), reason="needs make")
INJECTIONS = [
    '01"; touch {0}; "', "'; touch {0}; '", "`touch {0}`", "$(touch {0})", "$$(touch {0})", "$(shell touch {0})",
    "$${{x:-$(touch {0})}}", "; touch {0}", "| touch {0}", "x\ntouch {0}", "\\\"; touch {0}",
    "$(eval X := $(shell touch {0}))",
    "$(error broken)", "--force", "-h", "#", "%", "$", "\\", "a  b", "$(NOTEBOOK)", "é",
]  # fmt: skip


@pytest.fixture
def make(tmp_path):
    """A function that calls a target with a Python that writes down what it was given."""
    stub = tmp_path / "stub"
    stub.mkdir()
    (stub / "python").write_text('#!/bin/sh\nprintf "%s\\0" "$@" > "$SEEN"\n')
    (stub / "python").chmod(0o755)

    def call(target: str, *variables: str, **environment: str) -> list[str]:
        seen = tmp_path / "seen"
        subprocess.run(
            ["make", "-s", "-o", ".venv/complete", f"BIN={stub}", target, *variables],
            cwd=ROOT,
            env=os.environ | {"SEEN": str(seen)} | environment,
            capture_output=True,
            check=True,
        )
        return seen.read_bytes().decode().split("\0")[:-1]

    return call


@needs_make
@pytest.mark.parametrize("injection", INJECTIONS)
def test_a_variable_of_make_is_text_that_no_shell_and_no_make_reads(make, tmp_path, injection) -> None:
    touched = tmp_path / "touched"
    text = injection.format(touched)
    given = make("figures", f"NOTEBOOK={text}", PROFILE=text)
    assert given == ["-m", "lib.run", f"--profile={text}", f"--notebook={text}", "--jobs=1"]
    assert not touched.exists()


@needs_make
def test_every_variable_reaches_its_command(make) -> None:
    assert make("data", "ASSET=a b") == ["-m", "lib.catalog", "--asset=a b"]
    assert make("situate", "EMBEDDER=e", "NAME=n", "NEIGHBORS=f", "OUTPUT=o") == [
        "-m", "lib.situate", "--embedder=e", "--name=n", "--neighbors=f", "--output=o"
    ]  # fmt: skip
    assert make("finetune", "MODEL=m", "OUTPUT=o") == [
        "-m", "lib.finetuning", "--task=multinli", "--model=m", "--output=o"
    ]  # fmt: skip


def test_no_recipe_holds_what_a_user_gives() -> None:
    """A variable in a recipe's text would be parsed by the shell."""
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    given = next(line for line in lines if line.startswith("GIVEN :=")).split()[2:]
    assert set(given) == {line.split()[0] for line in lines if " ?=" in line}
    for line in lines:
        if line.startswith("\t"):
            assert not [name for name in [*given, "CURDIR"] if f"$({name})" in line or f"${{{name}}}" in line]
