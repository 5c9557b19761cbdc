"""Commands and `make` with wrong input: a sentence and a nonzero status.

No shell reads what a user gives.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys

import pytest

from lib.base import errors, paths
from tests.copies import copy_project
from tests.copies import run as run_python
from tools import data as fetching
from tools import student
from tools.run import runner as run

ROOT = paths.ROOT

REFUSED = [
    (run.main, ["--profile=smok"], "PROFILE: 'smok' is not known; did you mean smoke?"),
    (run.main, ["--notebook=1"], "NOTEBOOK: '1' is not known; did you mean 01?"),
    (run.main, ["--jobs=0"], "JOBS: 0 is not accepted; give 1 to 64"),
    (run.main, ["--jobs=010"], "JOBS: '010' is not accepted; give 1 to 64"),
    (student.main, ["--jobs=x"], "JOBS: 'x' is not accepted; give 1 to 64, a whole"),
    (run.main, ["--jobs=x"], "JOBS: 'x' is not accepted; give 1 to 64, a whole number"),
    (
        run.main,
        ["--notebook=09", "--set=embedder_name=../x"],
        "embedder_name: '../x' is not accepted; give 1 to 40",
    ),
    (
        run.main,
        ["--notebook=09", "--set=sed=1"],
        "unknown parameter 'sed'; did you mean",
    ),
    (fetching.main, ["--asset=glove"], "ASSET: 'glove' is not known; did you mean"),
]


@pytest.mark.parametrize(("main", "arguments", "message"), REFUSED)
def test_a_wrong_option_gets_a_sentence_and_status_2(
    capsys, main, arguments, message
) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err.splitlines()[-1]


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


def test_what_standard_output_cannot_show_is_an_escape(monkeypatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))

    @errors.command
    def command() -> int:
        print("caf\xe9 \u4e2d \udce9")
        return 0

    assert command() == 0
    assert written.getvalue() == b"caf\\xe9 \\u4e2d \\udce9\n"


@pytest.fixture
def make(tmp_path):
    """A function that calls a target with a Python that records its arguments."""
    if not shutil.which("make"):
        pytest.skip("needs make")
    (tmp_path / "python").write_text('#!/bin/sh\nprintf "%s\\0" "$@" > "$SEEN"\n')
    (tmp_path / "python").chmod(0o755)

    def call(target: str, *variables: str) -> list[str]:
        command = ["make", "-s", "-o", ".venv/complete", f"BIN={tmp_path}", target]
        seen = tmp_path / "seen"
        variables_seen = os.environ | {"SEEN": str(seen)}
        subprocess.run([*command, *variables], cwd=ROOT, env=variables_seen, check=True)
        return seen.read_bytes().decode().split("\0")[:-1]

    return call


# README: "run one notebook: `make figures NOTEBOOK=01`", "`make figures JOBS=1`"
def test_a_variable_of_make_is_text_that_no_shell_and_no_make_reads(
    make, tmp_path
) -> None:
    touched = tmp_path / "touched"
    for text in (f'"; touch {touched}; "', f"$(shell touch {touched})", "a  b", "é"):
        given = make("figures", f"NOTEBOOK={text}", f"PROFILE={text}", "JOBS=2")
        options = [f"--profile={text}", f"--notebook={text}", "--jobs=2"]
        assert given == ["-m", "tools.run", *options]
    assert not touched.exists()


OF_SWAP = ["old", "new", "text", "queries", "k", "at-least", "qrels", "max-drop"]
OF_SWAP += ["floor", "bridge", "name"]
OF_A_SIDE = ["pooling", "prompt", "query-prompt", "text-prompt", "similarity"]
OF_SWAP += [f"{side}-{name}" for side in ("old", "new") for name in OF_A_SIDE]


# README: "get the papers' own data", "get the fine-tuned BERT", "`make swap`"
@pytest.mark.parametrize(
    ("target", "module", "names"),
    [
        ("data", "tools.data", ["asset"]),
        ("finetune", "tools.finetuning", ["task", "model", "output"]),
        (
            "swap",
            "lib.swap",
            OF_SWAP,
        ),
    ],
)
def test_every_variable_reaches_its_command(make, target, module, names) -> None:
    values = {name: f"a value's `{name}` $(x)" for name in names}
    variables = [
        f"{name.upper().replace('-', '_')}={value}" for name, value in values.items()
    ]
    options = [f"--{name}={value}" for name, value in values.items()]
    assert make(target, *variables) == ["-m", module, *options]


# README: "`make situate EMBEDDER=...`"
def test_every_variable_of_situate_becomes_a_parameter(make) -> None:
    given = ["EMBEDDER=e", "POOLING=p", "PROMPT=q: ", "NAME=n", "NEIGHBORS=f"]
    assert make("situate", *given) == [
        "-m",
        "tools.run",
        "--notebook=09",
        "--output=situated/n",
        "--set=embedder=e",
        "--set=pooling=p",
        "--set=prompt=q: ",
        "--set=embedder_name=n",
        "--set=neighbors_file=f",
        "--set=corpus_name=",
    ]


# docs/swap.md: "The name may begin with `~`, and a relative one counts from ..."
def test_the_cache_is_one_folder_for_programs_notebooks_and_make(tmp_path) -> None:
    project = tmp_path / "project"
    variables = copy_project(project) | {"HOME": str(tmp_path / "home")}

    def make(target: str, given: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["make", "-s", "-o", ".venv/complete", target],
            cwd=project,
            env=variables | {"SENTENCE_CACHE": given},
            capture_output=True,
            text=True,
        )

    for given, folder in {
        "~/mine": tmp_path / "home/mine",
        "ci/mine": project / "ci/mine",
        f"{tmp_path}/mine": tmp_path / "mine",
        "": project / ".cache",
    }.items():
        (folder / "runs").mkdir(parents=True)
        beside = folder.with_name("beside")
        beside.mkdir()
        assert make("cache", given).stdout.endswith(f"\t{folder}\n")
        for place in (project, project / "notebooks"):
            code = "from lib.base import paths; print(paths.CACHE)"
            asked = variables | {"SENTENCE_CACHE": given}
            assert run_python(place, asked, "-c", code).stdout == f"{folder}\n"
        assert make("prune", given).returncode == 0
        assert not folder.exists()
        assert beside.exists()
        assert make("cache", given).stdout == f"no cache in {folder}\n"
    for given in (".", "..", "~"):
        said = make("prune", given).stderr
        assert "contains more than a cache; use a separate folder" in said
    assert (project / "lib").exists()
    assert (tmp_path / "home").exists()
