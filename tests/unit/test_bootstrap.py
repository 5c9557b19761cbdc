"""The environment is built by one `make` at a time, and what stands against it is a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools import bootstrap

# A build of half a second that writes down when it begins and ends, in the place of pip's two minutes.
BUILD = """
import os, sys
from pathlib import Path
from tools import bootstrap
bootstrap.CACHE, bootstrap.VENV, bootstrap.COMPLETE = Path("cache"), Path("venv"), Path("venv/complete")
sys.argv[1:] = ["pins.txt"]
def build(folder, requirements):
    bootstrap.run(["sh", "-c", "echo begin >> log; sleep 0.5; echo end >> log"])
bootstrap.build = build
bootstrap.ROOT = Path.cwd()
os.makedirs("venv/bin", exist_ok=True)
if not os.path.exists("venv/bin/jupyter"):
    os.symlink("/bin/true", "venv/bin/jupyter")
bootstrap.main()
"""


def start(folder: Path) -> subprocess.Popen:
    variables = os.environ | {"PYTHONPATH": str(bootstrap.ROOT)}
    return subprocess.Popen([sys.executable, "-c", BUILD], cwd=folder, env=variables, stdout=subprocess.DEVNULL)


@pytest.fixture
def folder(tmp_path) -> Path:
    folder = tmp_path / "with a blank"
    folder.mkdir()
    (folder / "pins.txt").touch()
    return folder


# README: "The first command builds the environment in `.venv`"
def test_of_two_at_once_the_second_waits_and_finds_it_built_until_a_pin_changes(folder) -> None:
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


@pytest.mark.parametrize(
    ("module", "name", "value", "sentence"),
    [
        ("sys", "version_info", (3, 10), r"Python 3\.10 is not supported: install Python 3\.11"),
        ("sys", "version_info", (3, 14), r"Python 3\.14 is not supported: install Python 3\.11"),
        ("importlib.util", "find_spec", lambda name: None, "no venv module"),
    ],
)
def test_a_python_that_cannot_make_the_environment_gets_a_sentence(module, name, value, sentence, monkeypatch) -> None:
    monkeypatch.setattr(f"{module}.{name}", value)
    with pytest.raises(SystemExit, match=sentence):
        bootstrap.check()


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("NewConnectionError: Failed to establish a new connection: [Errno -2]", "cannot be reached"),
        ("ERROR: No matching distribution found for torch==9\n\n", "pip failed: ERROR: No matching distribution"),
        ("", "no reason given"),
    ],
)
def test_a_failed_install_says_why_in_a_sentence(output, sentence) -> None:
    command = [sys.executable, "-c", f"import sys; sys.exit({output!r})"] if output else ["false"]
    with pytest.raises(SystemExit, match=f"^make: the environment is not complete, since .*{sentence}"):
        bootstrap.run(command)


def test_pins_that_resolve_as_before_give_the_same_files(tmp_path, monkeypatch) -> None:
    names = ("requirements.txt", "requirements.lock", "environment.yml")
    before = [(bootstrap.ROOT / name).read_bytes() for name in names]
    (tmp_path / "requirements.txt").write_bytes(before[0])
    frozen = before[1].decode().replace("torch==2.13.0\n", "torch==2.13.0+cpu\n") + "pip==25.0\n"
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(bootstrap, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(bootstrap, "build", lambda folder, requirements: folder.mkdir(parents=True))
    monkeypatch.setattr(bootstrap.subprocess, "check_output", lambda *arguments, **options: frozen)
    bootstrap.lock()
    assert [(tmp_path / name).read_bytes() for name in names] == before
