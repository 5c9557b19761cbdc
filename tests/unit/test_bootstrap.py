"""One `make` at a time builds the environment; obstacles are sentences."""

from __future__ import annotations

import ctypes.util
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
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
def build(folder, requirements):
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


class Machine:
    """A complete copy of what builds the environment; PATH has nothing but fakes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path, self.log = (
            folder / "project",
            folder / "path",
            folder / "log",
        )
        for place in (self.path, self.folder / "tools", self.folder / ".venv"):
            place.mkdir(parents=True)
        (self.path / "id").symlink_to(shutil.which("id"))  # which the Makefile calls
        made_from = (
            "Makefile",
            "pyproject.toml",
            "requirements.txt",
            "requirements-dev.txt",
            "requirements.lock",
        )
        for name in (*made_from, "tools/bootstrap.py"):
            shutil.copy(bootstrap.ROOT / name, self.folder / name)
        (self.folder / ".venv" / "complete").touch()

    def add(self, name: str, version: tuple[int, int], has_venv: bool = True) -> Path:
        """Put an interpreter on the PATH that claims another version.

        When it has run, it writes down where it is.
        """
        place = self.path / name
        known = {
            "place": place,
            "log": self.log,
            "version": version,
            "has_venv": has_venv,
        }
        self.write(name, FAKE.format(python=sys.executable, **known))
        return place

    def write(self, name: str, program: str) -> None:
        (self.path / name).write_text(program)
        (self.path / name).chmod(0o755)

    def make(self, *variables: str) -> subprocess.CompletedProcess:
        """Build as every command does, although the last build is up to date."""
        others = {
            name: value
            for name, value in os.environ.items()
            if name not in bootstrap_variables()
        }
        command = [shutil.which("make"), "-B", ".venv/complete", *variables]
        options = {
            "capture_output": True,
            "text": True,
            "env": others | {"PATH": str(self.path)},
        }
        return subprocess.run(command, cwd=self.folder, **options)

    def used(self) -> str:
        """Which interpreter ended the work, by its name; empty if none did."""
        return Path(self.log.read_text()).name if self.log.exists() else ""


def bootstrap_variables() -> set[str]:
    return {"PYTHON", "TORCH_INDEX", "MAKEFLAGS", "MAKELEVEL"}


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
    machine.write(
        "python3.13", "#!/bin/sh\nexit 127\n"
    )  # as pyenv's, for a version that is not chosen
    machine.add(
        "python3.12", (3, 12), has_venv=False
    )  # as Debian's, without python3.12-venv
    taken = machine.add("python3.11", (3, 11))
    done = machine.make()
    assert done.returncode == 0
    assert (
        done.stdout.splitlines()[-1]
        == f"Python 3.{version[1]} is not supported: using {taken}"
    )
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


@pytest.mark.parametrize(
    "uv", ["", "#!/bin/sh\nexit 2\n"]
)  # not here; here, without a network
def test_where_there_is_none_a_sentence_names_both_ways(machine, uv) -> None:
    machine.add("python3", (3, 14))
    if uv:
        machine.write("uv", uv)
    done = machine.make()
    assert done.returncode
    (sentence,) = [line for line in done.stderr.splitlines() if "not supported" in line]
    assert sentence == (
        "make: Python 3.14 is not supported, and no other works: install python3.13, "
        "python3.12 or python3.11, or uv, "
        "which brings one, and run the command again"
    )


@pytest.mark.parametrize(
    ("version", "has_venv", "sentence"),
    [
        (
            (3, 14),
            True,
            "make: Python 3.14 is not supported: give Python 3.11, 3.12 or 3.13",
        ),
        (
            (3, 12),
            False,
            (
                "make: this Python has no venv module (Debian and Ubuntu: apt install "
                "python3-venv): give"
            ),
        ),
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


def write_wheel(folder: Path, version: str) -> None:
    """An index folder with a torch wheel that needs a package nobody has."""
    place = folder / "torch"
    place.mkdir(parents=True, exist_ok=True)
    described = f"torch-{version}.dist-info"
    with zipfile.ZipFile(place / f"torch-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("torch/__init__.py", f"__version__ = {version!r}")
        metadata = (
            f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
            "Requires-Dist: nobody-has-this\n"
        )
        wheel.writestr(f"{described}/METADATA", metadata)
        wheel.writestr(
            f"{described}/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(f"{described}/RECORD", "")
    links = [
        f'<a href="{file.name.replace("+", "%2B")}">{file.name}</a>'
        for file in sorted(place.glob("*.whl"))
    ]
    (place / "index.html").write_text(
        f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>"
    )


@pytest.fixture
def site(tmp_path, monkeypatch) -> Iterator[str]:
    """The address of an index like PyTorch's own.

    It has an older PyTorch, the pinned one, and a newer one.
    """
    _, _, release = PIN.group().partition("==")
    for version in ("1.0+cpu", f"{release}+cpu", "99.0+cpu"):
        write_wheel(tmp_path / "index", version)
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path / "index")
    handler.func.log_message = lambda *arguments: None
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def refusing() -> str:
    """The address of an index where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    return f"http://127.0.0.1:{port}"


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
    target = tmp_path / "installed"
    into = [
        sys.executable,
        *bootstrap.PIP,
        "install",
        "--quiet",
        "--no-cache-dir",
        "--target",
        str(target),
    ]

    def install() -> list[str]:
        shutil.rmtree(target, ignore_errors=True)
        bootstrap.install_torch(sys.executable, into)
        found = target.glob("torch-*.dist-info")
        return [
            name.name.removeprefix("torch-").removesuffix(".dist-info")
            for name in found
        ]

    return install


# README: "Without an NVIDIA driver a Linux machine takes PyTorch's CPU build"
def test_without_a_gpu_the_pinned_release_comes_alone_from_the_index_of_cpu_builds(
    install, site, monkeypatch
) -> None:
    monkeypatch.setattr(bootstrap, "CPU_INDEX", site)
    (version,) = install()
    assert f"torch=={version}" == f"{PIN.group()}+cpu"
    assert version in SpecifierSet(
        PIN.group().removeprefix("torch")
    )  # so the next step leaves it as it is


@pytest.mark.parametrize("index", ["refusing", "hanging", "without the release"])
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


@pytest.mark.parametrize(("system", "has_driver"), [("linux", True), ("darwin", False)])
def test_a_gpu_and_macos_take_the_ordinary_build_unless_told(
    install, site, system, has_driver, monkeypatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(bootstrap, "has_nvidia_driver", lambda: has_driver)
    monkeypatch.setattr(bootstrap, "CPU_INDEX", site)
    assert install() == []
    monkeypatch.setenv("TORCH_INDEX", "cpu")
    assert len(install()) == 1


def test_torch_index_names_another_index_a_folder_or_the_ordinary_one(
    install, site, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("TORCH_INDEX", "default")
    assert install() == []
    for place in (site, str(tmp_path / "index")):
        monkeypatch.setenv("TORCH_INDEX", place)
        assert len(install()) == 1


@pytest.mark.parametrize("has_driver", [False, True])
def test_a_driver_is_known_by_its_command(has_driver, tmp_path, monkeypatch) -> None:
    if Path("/proc/driver/nvidia/version").exists() or ctypes.util.find_library("cuda"):
        pytest.skip("this machine has an NVIDIA driver")
    monkeypatch.setenv("PATH", str(tmp_path))
    if has_driver:
        (tmp_path / "nvidia-smi").touch(0o755)
    assert bootstrap.has_nvidia_driver() is has_driver


# docs/hosting.md: "takes PyTorch's CPU build"
def test_conda_and_binder_take_the_cpu_build_although_the_ordinary_index_has_the_release(  # noqa: E501
    install, site, tmp_path
) -> None:
    release = PIN.group().partition("==")[2]
    write_wheel(tmp_path / "ordinary", release)
    listed = yaml.safe_load((bootstrap.ROOT / "environment.yml").read_text())[
        "dependencies"
    ][-1]["pip"]
    assert listed[0] == f"--find-links {bootstrap.CPU_INDEX}/torch/"
    lines = [listed[0].replace(bootstrap.CPU_INDEX, site), PIN.group()]
    (tmp_path / "pins.txt").write_text("\n".join(lines))
    options = [
        "--no-deps",
        "--no-cache-dir",
        "--index-url",
        str(tmp_path / "ordinary"),
        "--target",
        str(tmp_path / "in"),
    ]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        *options,
        "-r",
        str(tmp_path / "pins.txt"),
    ]
    subprocess.run(command, check=True)
    assert (tmp_path / "in" / f"torch-{release}+cpu.dist-info").is_dir()


# -- endings ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        (
            "NewConnectionError: Failed to establish a new connection: [Errno -2]",
            "cannot be reached",
        ),
        (
            "ERROR: No matching distribution found for torch==9\n\n",
            "pip failed: ERROR: No matching distribution",
        ),
        ("", "no reason given"),
    ],
)
def test_a_failed_install_says_why_in_a_sentence(output, sentence) -> None:
    command = (
        [sys.executable, "-c", f"import sys; sys.exit({output!r})"]
        if output
        else ["false"]
    )
    with pytest.raises(
        SystemExit, match=f"^make: the environment is not complete, since .*{sentence}"
    ):
        bootstrap.run(command)


def test_pins_that_resolve_as_before_give_the_same_files(tmp_path, monkeypatch) -> None:
    names = ("requirements.lock", "environment.yml", *bootstrap.DIRECT)
    before = [(bootstrap.ROOT / name).read_bytes() for name in names]
    for name in bootstrap.DIRECT:
        shutil.copy(bootstrap.ROOT / name, tmp_path)
    frozen = (
        before[0].decode().replace("torch==2.13.0\n", "torch==2.13.0+cpu\n")
        + "pip==25.0\n"
    )
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(bootstrap, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(
        bootstrap, "build", lambda folder, requirements: folder.mkdir(parents=True)
    )
    monkeypatch.setattr(
        bootstrap.subprocess, "check_output", lambda *arguments, **options: frozen
    )
    bootstrap.lock()
    assert [(tmp_path / name).read_bytes() for name in names] == before
