"""Commands and `make` with wrong input: a sentence and a nonzero status.

No shell reads what a user gives.
"""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from lib.run import cache, errors, paths
from lib.run import runner as run
from tools import data as fetching

ROOT = paths.ROOT

REFUSED = [
    (run.main, ["--profile=smok"], "PROFILE: 'smok' is not known; did you mean smoke?"),
    (run.main, ["--notebook=1"], "NOTEBOOK: '1' is not known; did you mean 01?"),
    (
        run.main,
        ["--notebook=n2o"],
        "NOTEBOOK: 'n2o' is not known; did you mean 01_n2o or replication/n2o?",
    ),
    (run.main, ["--jobs=0"], "JOBS: 0 is not accepted; give 1 to 64"),
    (run.main, ["--jobs=x"], "JOBS: 'x' is not accepted; give 1 to 64, a whole number"),
    (
        run.main,
        ["--notebook=09", "--output=situated/../../x"],
        "OUTPUT: 'situated/../../x' is not accepted",
    ),
    (
        run.main,
        ["--notebook=09", "--set=embedder_name=../x"],
        "embedder_name: '../x' is not accepted; give 1 to 40",
    ),
    (fetching.main, ["--asset=glove"], "ASSET: 'glove' is not known; did you mean"),
    (
        run.main,
        ["--notebook=09", "--set=sed=1"],
        "unknown parameter 'sed'; did you mean",
    ),
    (cache.main, ["--prune", "nonsense"], "unrecognized arguments: nonsense"),
]


@pytest.mark.parametrize(("main", "arguments", "message"), REFUSED)
def test_a_wrong_option_gets_a_sentence_and_status_2(
    capsys, main, arguments, message
) -> None:
    try:
        status = main(arguments)
    # Of argparse, which shows how the command is used and then says its sentence.
    except SystemExit as end:
        status = end.code
    assert status == 2
    said = capsys.readouterr().err
    assert message in said.splitlines()[-1]
    assert "usage:" not in said or "unrecognized" in message


@pytest.mark.parametrize(
    ("raised", "status", "message"),
    [
        (KeyboardInterrupt(), 130, "Interrupted\n"),
        (
            OSError(28, "No space left on device"),
            2,
            "standard output: No space left on device\n",
        ),
        (BrokenPipeError(), 141, ""),  # as in `make data | head -1`
    ],
)
def test_what_ends_a_command_is_a_sentence_and_the_shells_status(
    capsys, raised, status, message
) -> None:
    @errors.command
    def command() -> int:
        raise raised

    assert command() == status
    assert capsys.readouterr().err == message


@pytest.fixture
def make(tmp_path):
    """A function that calls a target with a Python that records its arguments."""
    if not shutil.which("make"):
        pytest.skip("needs make")
    (tmp_path / "python").write_text('#!/bin/sh\nprintf "%s\\0" "$@" > "$SEEN"\n')
    (tmp_path / "python").chmod(0o755)

    def call(target: str, *variables: str) -> list[str]:
        seen = tmp_path / "seen"
        command = [
            "make",
            "-s",
            "-o",
            ".venv/complete",
            f"BIN={tmp_path}",
            target,
            *variables,
        ]
        subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | {"SEEN": str(seen)},
            capture_output=True,
            check=True,
        )
        return seen.read_bytes().decode().split("\0")[:-1]

    return call


# README: "run one notebook: `make figures NOTEBOOK=01`", "`make figures JOBS=1`"
def test_a_variable_of_make_is_text_that_no_shell_and_no_make_reads(
    make, tmp_path
) -> None:
    touched = tmp_path / "touched"
    for text in (
        f'"; touch {touched}; "',
        f"'`touch {touched}`",
        f"$(shell touch {touched})",
        "#",
        "a  b",
        "é",
    ):
        given = make("figures", f"NOTEBOOK={text}", f"PROFILE={text}", "JOBS=2")
        assert given == [
            "-m",
            "lib.run",
            f"--profile={text}",
            f"--notebook={text}",
            "--jobs=2",
        ]
    assert not touched.exists()


# README: "get the papers' own data", "get the fine-tuned BERT"
@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("data", ["-m", "tools.data", "--asset=a b"]),
        (
            "finetune",
            [
                "-m",
                "lib.embedders.finetuning",
                "--task=mrpc",
                "--model=m",
                "--output=o",
            ],
        ),
    ],
)
def test_every_variable_reaches_its_command(make, target, options) -> None:
    given = [option.removeprefix("--") for option in options[2:]]
    variables = [
        f"{name.upper()}={value}" for name, value in (each.split("=") for each in given)
    ]
    assert make(target, *variables)[: len(options)] == options


# README: "`make swap OLD=... NEW=... TEXT=...`"
def test_every_variable_of_swap_reaches_its_command(make) -> None:
    given = ["old", "new", "text", "queries", "k", "at-least", "name"]
    given += ["old-pooling", "new-pooling", "old-prompt", "new-prompt"]
    values = {name: f"a value's `{name}` $(x)" for name in given}
    variables = [
        f"{name.upper().replace('-', '_')}={value}" for name, value in values.items()
    ]
    options = [f"--{name}={value}" for name, value in values.items()]
    assert make("swap", *variables) == ["-m", "lib.run.swap", *options]
    assert "--k=10" in make("swap", "OLD=a")


# README: "`make situate EMBEDDER=...`"
def test_every_variable_of_situate_becomes_a_parameter(make) -> None:
    given = {
        "EMBEDDER": "e",
        "POOLING": "p",
        "PROMPT": "q: ",
        "NAME": "n",
        "NEIGHBORS": "f",
    }
    parameters = {
        "embedder": "e",
        "pooling": "p",
        "prompt": "q: ",
        "embedder_name": "n",
        "neighbors_file": "f",
    }
    options = [f"--set={name}={value}" for name, value in parameters.items()]
    found = make("situate", *(f"{name}={value}" for name, value in given.items()))
    assert found == [
        "-m",
        "lib.run",
        "--notebook=09",
        "--output=situated/n",
        *options,
        "--set=corpus_name=",
    ]
    assert "--set=neighbors_file=figures/default/01_n2o/neighbors.parquet" in make(
        "situate", "EMBEDDER=e"
    )
