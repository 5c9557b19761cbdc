"""Commands and `make` with wrong input: a sentence and a status that is not 0, and no shell reads what a user gives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from lib.catalog import __main__ as fetching
from lib.embedders import finetuning
from lib.run import cache, errors, paths
from lib.run import runner as run
from lib.studies import situate

ROOT = paths.ROOT
OWN = str(paths.NOTEBOOKS / "own_embedder.py:encode")

REFUSED = [
    (run.main, ["--profile=smok"], "PROFILE: 'smok' is not known; did you mean smoke?"),
    (run.main, ["--notebook=1"], "NOTEBOOK: '1' is not known; "),
    (run.main, ["--jobs=0"], "--jobs: 0 is not accepted; give 1 to 64"),
    (run.main, ["--jobs=two"], "argument --jobs: invalid int value: 'two'"),
    (fetching.main, ["--asset=glove"], "ASSET: 'glove' is not known; did you mean"),
    (situate.main, [f"--embedder={OWN}", "--seed=-1"], "--seed: -1 is not accepted; give 0 to 4294967296"),
    (finetuning.main, ["--task=mrcp"], "task: 'mrcp' is not known; did you mean mrpc?"),
    *((main, ["nonsense"], "unrecognized arguments: nonsense") for main in (cache.main, fetching.main)),
]


@pytest.mark.parametrize(("main", "arguments", "message"), REFUSED)
def test_a_wrong_option_gets_a_sentence_and_status_2(capsys, main, arguments, message) -> None:
    try:
        status = main(arguments)
    except SystemExit as end:  # of argparse, which shows how the command is used and then says its sentence
        status = end.code
    assert status == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


# -- what ends a command ----------------------------------------------------------------------------


def test_an_interrupt_is_said_in_a_word_and_has_the_shells_status(capsys) -> None:
    @errors.command
    def command() -> int:
        raise KeyboardInterrupt

    assert command() == 130
    assert capsys.readouterr().err == "Interrupted\n"


def test_a_reader_that_has_gone_ends_a_command_in_silence() -> None:
    """As in `make data | head -1`."""
    program = (
        "import sys\nfrom lib.run.errors import command\n"
        "@command\ndef main():\n    print('line\\n' * 100_000)\n    return 0\nsys.exit(main())"
    )
    command = [sys.executable, "-c", program]
    first = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first.stdout.close()
    _, said = first.communicate(timeout=120)
    assert said == b""
    assert first.returncode == 141


# -- make -------------------------------------------------------------------------------------------

needs_make = pytest.mark.skipif(not shutil.which("make"), reason="needs make")
INJECTIONS = [
    '"; touch {0}; "', "'; touch {0}; '", "`touch {0}`", "$(touch {0})", "$$(touch {0})", "$(shell touch {0})",
    "; touch {0}", "x\ntouch {0}", "$(error broken)", "--force", "#", "a  b", "$(NOTEBOOK)", "é",
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
    assert make("situate", "EMBEDDER=e", "POOLING=p", "PROMPT=q: ", "NAME=n", "NEIGHBORS=f", "OUTPUT=o") == [
        "-m", "lib.studies.situate", "--embedder=e", "--pooling=p", "--prompt=q: ", "--name=n", "--neighbors=f",
        "--output=o",
    ]  # fmt: skip
    assert make("finetune", "MODEL=m", "OUTPUT=o") == [
        "-m", "lib.embedders.finetuning", "--task=multinli", "--model=m", "--output=o"
    ]  # fmt: skip


def test_no_recipe_holds_what_a_user_gives() -> None:
    """A variable in a recipe's text would be parsed by the shell."""
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()
    given = next(line for line in lines if line.startswith("GIVEN :=")).split()[2:]
    assert set(given) == {line.split()[0] for line in lines if " ?=" in line}
    for line in lines:
        if line.startswith("\t"):
            assert not [name for name in [*given, "CURDIR"] if f"$({name})" in line or f"${{{name}}}" in line]
