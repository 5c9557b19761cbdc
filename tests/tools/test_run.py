"""The runner skips what is up to date and replaces results only by whole ones.

A failure does not stop the other notebooks.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import psutil
import pytest

from lib.base import paths
from tests.copies import copy_project
from tests.refusals import refused
from tests.sizes import NIGHTLY
from tools.run import jobs, runner
from tools.run.jobs import library_files

GOOD = (
    "from lib.base import paths, progress\n"
    "folder = paths.figures_folder('x')\n"
    "(folder / 'table.csv').write_text(f'k\\n{k}\\n')\n"
    "with progress.bar(3, 'counting', 'steps') as bar:\n"
    "    bar.update(3)"
)
SLOW = f"import time\ntime.sleep(2)\n{GOOD}"
BAD = (
    "from lib.base.errors import InputError\n"
    "raise InputError('k: 5 is not accepted; give 1 to 3')"
)
BROKEN = "1 / 0"


def write_notebook(folder: Path, name: str, source: str, given: str = "k = 5") -> None:
    cells = [
        nbformat.v4.new_code_cell(given, metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(source),
    ]
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    file = folder / f"{name}.ipynb"
    file.parent.mkdir(exist_ok=True)
    nbformat.write(notebook, file)


@pytest.fixture
def project(tmp_path, monkeypatch) -> Callable[[str, str], None]:
    """Places for notebooks, parameters, figures and records.

    Returns a function that writes a notebook.
    """
    for name in ("NOTEBOOKS", "PARAMS", "FIGURES", "RUNS"):
        monkeypatch.setattr(paths, name, tmp_path / name.lower())
        (tmp_path / name.lower()).mkdir()
    return lambda name, source: write_notebook(paths.NOTEBOOKS, name, source)


def job(name: str, profile: str = "default") -> jobs.Job:
    (found,) = jobs.select(name, profile)
    return found


# README: "seconds when run again", "A notebook whose source, parameters ... are
# unchanged is skipped."
def test_done_then_unchanged_then_done_again_when_anything_changes(
    project, capsys
) -> None:
    project("01_good", GOOD)
    assert runner.run(job("01")).startswith("done (")
    line = "counting: 3 of 3 steps (100 %)"
    assert line in job("01").log.read_text()
    assert f"01_good  {line}" in capsys.readouterr().out
    made = {file.name for file in job("01").results.iterdir()}
    assert made == {"01_good.ipynb", "table.csv"}
    assert runner.run(job("01")) == "unchanged, skipped"
    table = (job("01").results / "table.csv").rename(paths.FIGURES / "table.csv")
    assert not job("01").is_up_to_date()
    table.rename(job("01").results / "table.csv")
    assert job("01").is_up_to_date()
    project("01_good", GOOD + "\n# edited")
    assert not job("01").is_up_to_date()
    assert runner.run(job("01"), force=True).startswith("done (")


def record_success() -> None:
    job("01").record.parent.mkdir(parents=True, exist_ok=True)
    job("01").write_record(job("01").digest())
    assert job("01").is_up_to_date()


def test_a_file_that_a_parameter_names_at_any_depth_counts(project, tmp_path) -> None:
    texts = [tmp_path / f"{i}.txt" for i in range(4)]
    given = f"""
a = "lines:{texts[0]}"
b = ["lee", "text:{texts[1]}"]
c = {{"text": "{texts[2]}", "k": 3}}
d = [{{"a": ["{texts[3]}"]}}]
"""
    write_notebook(paths.NOTEBOOKS, "01_good", GOOD, given)
    for text in texts:
        record_success()
        text.write_text("A sentence.")
        assert not job("01").is_up_to_date()


def test_what_is_said_of_the_results_counts(project) -> None:
    project("01_good", GOOD)
    record_success()
    said = paths.NOTEBOOKS / "findings" / "01_good.yaml"
    said.parent.mkdir()
    said.write_text("found: {says: Something.}\n")
    assert not job("01").is_up_to_date()


def test_only_a_notebook_that_judges_depends_on_the_claims() -> None:
    claims = paths.ROOT / "audit" / "claims.csv"
    assert claims not in library_files(("from lib import n2o",))
    assert claims in library_files(("from audit.ledger import Ledger",))


# docs/swap.md: "A notebook that runs your own code is skipped only while ..."
def test_own_code_is_skipped_while_its_files_are_unchanged_and_say_all(
    project, tmp_path
) -> None:
    (tmp_path / "beside.py").write_text("N = 1\n")
    mine = tmp_path / "mine.py"
    code = "from beside import N\ndef encode(s): return [[N, 2.0]] * len(s)\n"
    mine.write_text(code)
    source = f"from lib.embedders import own_code\nown_code.load('{mine}:encode')"
    project("01_good", source)
    for change in (lambda: None, lambda: (tmp_path / "beside.py").write_text("N = 22")):
        change()
        assert runner.run(job("01")).startswith("done (")
        assert runner.run(job("01")) == "unchanged, skipped"
    (tmp_path / "weights").write_text("1")
    mine.write_text(f"{code}open(__file__[:-7] + 'weights')\n")
    for _ in range(2):
        assert runner.run(job("01")).startswith("done (")
    mine.write_text(f"{mine.read_text()}VERSION = 1\n")
    assert runner.run(job("01")).startswith("done (")
    assert runner.run(job("01")) == "unchanged, skipped"


# docs/claims.md: claims about time are judged by the tables of `make bench`.
def test_a_table_of_times_that_a_notebook_quotes_counts(
    project, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(paths, "BENCHMARKS", tmp_path)
    project("01_good", GOOD + '\nquoted = "docs/benchmarks/quoted.csv"')
    record_success()
    (tmp_path / "another.csv").write_text("seconds\n1\n")
    assert job("01").is_up_to_date()
    (tmp_path / "quoted.csv").write_text("seconds\n1\n")
    assert not job("01").is_up_to_date()
    record_success()
    (tmp_path / "quoted.csv").write_text("seconds\n2\n")
    assert not job("01").is_up_to_date()


def test_data_and_models_that_arrive_later_count_in_every_profile(
    project, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(paths, "DATA", tmp_path / "data")
    monkeypatch.setenv("SENTENCE_DATA", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(jobs, "HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "linked").mkdir()
    (tmp_path / "elsewhere/senteval/STS").mkdir(parents=True)
    (tmp_path / "elsewhere/senteval/STS/STSBenchmark").symlink_to(tmp_path / "linked")
    (tmp_path / "linked/back").symlink_to(tmp_path / "elsewhere")
    names = ["installed", "me/mine", str(tmp_path / "static")]
    write_notebook(paths.NOTEBOOKS, "01_good", GOOD, f"embedder_names = {names}")
    for arriving in (
        "data/glove/glove.6B.300d.txt",
        "elsewhere/bert-ft-multinli/model.safetensors",
        "linked/sts-test.csv",
        "linked/deeper/another.csv",
        "hub/models--me--mine/snapshots/0123/model.safetensors",
        "static/modules.json",
    ):
        record_success()
        (tmp_path / arriving).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / arriving).write_text("weights")
        assert not job("01").is_up_to_date(), arriving


def write_profile(profile: str, name: str, text: str) -> None:
    (paths.PARAMS / profile).mkdir()
    (paths.PARAMS / profile / f"{name}.yaml").write_text(text)


# README: "edit `params/<profile>/<notebook>.yaml`"
def test_parameters_of_a_profile_reach_the_notebook_and_its_figures_their_folder(
    project, capsys
) -> None:
    for name in ("01_good", "02_good"):
        project(name, GOOD)
    write_profile("mine", "02_good", "k: 7\n")
    assert runner.main(["--profile=mine"]) == 0
    said = capsys.readouterr().out
    assert said.count("so these use their default parameters: 01_good\n") == 1
    for name, k in {"01_good": 5, "02_good": 7}.items():
        table = paths.FIGURES / "mine" / name / "table.csv"
        assert table.read_text() == f"k\n{k}\n"


# README: "`make figures PROFILE=paper`"; lessons have no such profile.
def test_the_paper_profile_runs_the_notebooks_that_have_a_file_there(project) -> None:
    for name in ("01_good", "02_good"):
        project(name, GOOD)
    write_profile("paper", "02_good", "k: 7\n")
    assert [job.name for job in jobs.select("", "paper")] == ["02_good"]
    assert [job.name for job in jobs.select("01", "paper")] == ["01_good"]


def test_a_failure_leaves_the_old_results_and_names_the_cell(project) -> None:
    project("01_broken", BROKEN)
    job("01").results.mkdir(parents=True)
    (job("01").results / "table.csv").write_text("old")
    (reason,) = runner.run_all([job("01")], 1, force=False).values()
    assert "ZeroDivisionError in cell 2: division by zero" in reason
    assert job("01").failed.exists()
    assert [file.name for file in job("01").results.parent.rglob("*")] == [
        "01_broken",
        "table.csv",
    ]


def test_a_kernel_that_dies_is_a_sentence(project) -> None:
    project(
        "01_killed", "import os\nos.write(2, b'no more room')\nos.kill(os.getpid(), 9)"
    )
    (reason,) = runner.run_all([job("01")], 1, force=False).values()
    assert job("01").failed.exists()
    file = reason.removeprefix(
        "the kernel died, often for lack of memory (what it printed: "
    ).removesuffix(")")
    assert "no more room" in Path(file).read_text()


SPECS = [
    json.dumps({"argv": argv, "display_name": "Other", "language": "R"})
    for argv in (["/bin/false", "{connection_file}"], ["/gone/python", "-m", "x"])
]
WHERE = (
    "import os, sys\nfrom lib.base import paths\n"
    "last = sys.path[-1]  # a user's numpy.py there takes no package's place\n"
    "scratch = os.environ['TMPDIR']\n"
    "found = '\\n'.join(map(str, (sys.executable, paths.ROOT, last, scratch, k)))\n"
    "(paths.figures_folder('x') / 'table.csv').write_text(found)"
)


# CHANGELOG: "Notebooks run in the Python that runs the command, ... whatever kernels"
@pytest.mark.parametrize("spec", [*SPECS, "{broken"])
def test_a_notebook_runs_in_this_python_and_checkout_whatever_kernels_are_installed(
    project, tmp_path, temporary, monkeypatch, spec
) -> None:
    for name in ("python3", "ir"):
        (tmp_path / "kernels" / name).mkdir(parents=True)
        (tmp_path / "kernels" / name / "kernel.json").write_text(spec)
    (tmp_path / "other/lib").mkdir(parents=True)
    (tmp_path / "other/lib/__init__.py").write_text("raise SystemExit('another lib')")
    for name in ("JUPYTER_PATH", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "other"))
    (tmp_path / "start.py").write_text("import sys; sys.executable = 'another'")
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "start.py"))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    project("01_good", WHERE)
    notebook = json.loads(job("01").notebook.read_text())
    named = {"name": "ir", "language": "R", "display_name": "R"}
    notebook["metadata"] = {"kernelspec": named, "language_info": {"name": "R"}}
    job("01").notebook.write_text(json.dumps(notebook))
    write_profile("smoke", "01_good", "k: 7\n")
    assert runner.run(job("01", "smoke")).startswith("done (")
    python, checkout, last, scratch, k = (
        (job("01", "smoke").results / "table.csv").read_text().split("\n")
    )
    assert [python, checkout, last, k] == [sys.executable, *2 * [str(paths.ROOT)], "7"]
    assert Path(scratch).parent == temporary
    assert not list(temporary.iterdir())


# docs/troubleshooting.md: "never imported unless asked for: TensorFlow ... and NGT"
def test_digest_covers_every_module_that_a_notebook_has_loaded_and_large_ones_wait_for_their_use() -> (  # noqa: E501
    None
):
    source = (
        "from lib import embedders, neighbors, plotting\nfrom lib.base import cluster"
    )
    listing = (
        "import sys\nfor each in sys.modules.values(): print(each.__name__, "
        "vars(each).get('__file__'))"
    )
    command = [sys.executable, "-c", f"{source}\n{listing}"]
    ended = subprocess.run(
        command, cwd=paths.ROOT, capture_output=True, text=True, check=True
    )
    loaded = dict(line.split(maxsplit=1) for line in ended.stdout.splitlines())
    own = {file for name, file in loaded.items() if name.startswith("lib.")}
    assert own <= set(map(str, library_files((source,))))
    assert not loaded.keys() & {
        "dask",
        "distributed",
        "ngtpy",
        "tensorflow",
        "torch",
        "transformers",
    }


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("n2o", "did you mean 01_n2o or replication/n2o?"),
        ("1", "did you mean 01?"),
        ("zzz", "accepted: 01_n2o, 02_more, replication/n2o, replication/usif"),
    ],
)
def test_an_unknown_notebook_gets_a_sentence_with_the_names_that_exist(
    project, given, hint
) -> None:
    for name in ("01_n2o", "02_more", "replication/n2o", "replication/usif"):
        project(name, GOOD)
    with refused(f"NOTEBOOK: {given!r} is not known; {hint}"):
        jobs.select(given, "default")


def test_lessons_are_selected_by_number_replications_by_name_and_copies_by_the_reader_not_at_all(  # noqa: E501
    project,
) -> None:
    copies = ["Untitled", "replication/Untitled"]
    for name in ("02_more", "01_n2o", "replication/usif", "replication/n2o", *copies):
        project(name, GOOD)
    every = ["01_n2o", "02_more", "replication/n2o", "replication/usif"]
    for given, expected in {
        "": every,
        "02": every[1:2],
        "replication": every[2:],
        every[3]: every[3:],
    }.items():
        assert [job.name for job in jobs.select(given, "default")] == expected


# README: "every key and value is checked ... before anything runs"
def test_bad_parameters_stop_everything_before_it_runs(project, capsys) -> None:
    project("01_good", GOOD)
    write_profile("smoke", "01_good", "K: 7\n")
    assert runner.main(["--profile", "smoke"]) == 2
    assert "unknown parameter 'K'" in capsys.readouterr().err
    assert not list(paths.FIGURES.iterdir())


# README: "A run writes to `figures/<profile>/`"
def test_a_run_ends_with_what_to_open(project, capsys) -> None:
    folder = paths.FIGURES / "default"
    project("01_good", GOOD)
    assert runner.main(["--jobs=1"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"open {folder / '01_good' / '01_good.ipynb'}")
    project("02_good", GOOD)
    assert runner.main(["--jobs=1"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"open {folder}: ")


def test_a_run_that_failed_says_nothing_of_tables_and_leaves_no_folder(
    project, capsys
) -> None:
    project("01_bad", BAD)
    assert runner.main(["--output=situated/mine"]) == 1
    out = capsys.readouterr().out
    assert "0 of 1 notebooks up to date" in out
    assert "tables" not in out
    assert "\nopen " not in out
    assert not list(paths.FIGURES.iterdir())


# README: "When one notebook fails the others still run, the summary names it, and the
# exit status is not 0."
def test_one_failing_notebook_does_not_stop_the_others_and_the_exit_status_is_1(
    project, capsys
) -> None:
    for name, source in {"01_bad": BAD, "02_good": GOOD, "03_broken": BROKEN}.items():
        project(name, source)
    assert runner.main(["--jobs=2"]) == 1
    out, err = capsys.readouterr()
    assert (paths.FIGURES / "default" / "02_good" / "table.csv").exists()
    assert "FAILED 01_bad: k: 5 is not accepted; give 1 to 3" in err
    assert "FAILED 03_broken: ZeroDivisionError" in err
    assert "1 of 3 notebooks up to date" in out
    assert "Traceback" not in out + err


def test_of_two_runs_at_once_one_executes_and_the_other_waits(project, capsys) -> None:
    project("01_slow", SLOW)
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(runner.run, [job("01"), job("01")]))
    assert sorted(line.split("(")[0] for line in said) == [
        "done ",
        "done by another run",
    ]
    waiting = "waiting for another run that is executing it"
    assert capsys.readouterr().out.count(waiting) == 1
    assert (job("01").results / "table.csv").read_text() == "k\n5\n"


# README: "then the replications"
def test_replications_run_after_the_lessons(project, monkeypatch) -> None:
    for name in ("replication/n2o", "02_b", "replication/usif", "01_a"):
        project(name, GOOD)
    ran = []
    monkeypatch.setattr(runner, "run", lambda job, *others: ran.append(job.name))
    runner.run_all(jobs.select("", "default"), 1, force=False)
    assert sorted(ran[:2]) == ["01_a", "02_b"]
    assert len(ran) == 4


# -- the command -----------------------------------------------------------------------


@pytest.fixture
def temporary(tmp_path) -> Path:
    """A temporary folder whose path is too long for a socket in it."""
    folder = tmp_path / ("é" * 120)
    folder.mkdir()
    return folder


@pytest.fixture
def start(tmp_path, temporary) -> Callable[..., subprocess.Popen]:
    """A function that starts the command in a project of its own, with notebooks."""
    variables = copy_project(tmp_path) | {"TMPDIR": str(temporary)}
    for name in ("notebooks", "params"):
        shutil.rmtree(tmp_path / name)
        (tmp_path / name).mkdir()

    def start(*options: str, **notebooks: str) -> subprocess.Popen:
        for name, source in notebooks.items():
            write_notebook(tmp_path / "notebooks", name.removeprefix("_"), source)
        # Tests may run where these signals are ignored, in the background say, which a
        # process inherits.
        return subprocess.Popen(
            [sys.executable, "-m", "tools.run", *options],
            cwd=tmp_path,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: [
                signal.signal(number, signal.SIG_DFL) for number in (1, 2, 15)
            ],
        )

    return start


def kernel_of(command: subprocess.Popen) -> psutil.Process:
    """Of a command that executes a notebook: waits until it has started the kernel."""
    while True:
        assert command.poll() is None
        for child in psutil.Process(command.pid).children(recursive=True):
            if "ipykernel_launcher" in child.cmdline():
                return child
        time.sleep(0.1)


STOPS = [(15, 143, 2), (2, 130, 1), (1, 129, 1)]


@pytest.mark.parametrize(
    ("number", "status", "notebooks"), STOPS if NIGHTLY else STOPS[:1]
)
def test_a_command_that_is_told_to_stop_ends_its_kernels_and_leaves_nothing(
    start, tmp_path, temporary, number, status, notebooks
) -> None:
    command = start(
        **{f"_0{i}_slow": "import time\ntime.sleep(600)" for i in range(notebooks)}
    )
    kernel = kernel_of(command)
    connection = Path(kernel.cmdline()[kernel.cmdline().index("-f") + 1])
    assert connection.parent.stat().st_mode & 0o777 == 0o700
    command.send_signal(number)
    out, err = command.communicate(timeout=120)
    assert command.returncode == status
    assert "Traceback" not in out + err
    assert not kernel.is_running()
    assert not list((tmp_path / "figures").glob("*/.*"))
    assert not list(temporary.iterdir())
    assert not connection.parent.exists()


def test_the_kernel_of_a_killed_command_ends_and_the_next_run_finishes(
    start, tmp_path
) -> None:
    first = start(_01_slow=SLOW)
    kernel = kernel_of(first)
    first.kill()
    first.wait()
    second = start()
    out, _ = second.communicate(timeout=120)
    assert second.returncode == 0
    assert "01_slow  done" in out
    assert not kernel.is_running()
    assert [file.name for file in (tmp_path / "figures" / "default").iterdir()] == [
        "01_slow"
    ]
    record = json.loads(
        (tmp_path / ".cache" / "runs" / "default" / "01_slow.json").read_text()
    )
    assert record["sizes"].keys() == {"01_slow.ipynb", "table.csv"}
