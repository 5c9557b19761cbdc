"""A real browser and a real JupyterLab: Debian's Chromium, driven by Playwright.

The server is the one that ``make lab`` starts.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.lesson import Lesson
from tests.copies import copy_project

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = shutil.which("chromium")
SETTINGS = ".jupyter/lab/user-settings/@jupyterlab/notebook-extension"
# What a user has at home: another kernel of the same name, and a setting that
# `make lab` leaves alone: a notebook lies on the page whole, not only the cells in
# sight.
AT_HOME = {
    ".local/share/jupyter/kernels/python3/kernel.json": {
        "argv": ["/bin/false"],
        "display_name": "Python 3 of the user",
        "language": "python",
    },
    f"{SETTINGS}/tracker.jupyterlab-settings": {"windowingMode": "none"},
}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, which finds no host but this machine."""
    if not CHROMIUM:
        pytest.skip("needs Chromium: apt install chromium (Debian and Ubuntu)")
    from playwright.sync_api import sync_playwright

    arguments = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    if os.getuid() == 0:
        arguments.append("--no-sandbox")  # Chromium asks root for it
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield chromium
        chromium.close()


@dataclass
class Lab:
    """A JupyterLab that runs in a copy of the project."""

    project: Path
    home: Path
    port: int
    token: str
    process: int = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def request(self, method: str, path: str, **headers: str) -> Any:
        """What the server's own interface answers."""
        headers = {"Authorization": f"token {self.token}"} | headers
        request = urllib.request.Request(
            f"{self.address}/api/{path}", method=method, headers=headers
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read() or "null")


@pytest.fixture(scope="session")
def lab(tmp_path_factory) -> Iterator[Lab]:
    """What ``make lab`` starts in a copy of the project.

    The user has another ``python3`` kernel at home.
    """
    home = tmp_path_factory.mktemp("home")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    lab = Lab(tmp_path_factory.mktemp("project"), home, port, secrets.token_hex(16))
    for file, content in AT_HOME.items():
        (home / file).parent.mkdir(parents=True)
        (home / file).write_text(json.dumps(content))
    variables = copy_project(lab.project) | {
        "HOME": str(home),
        "JUPYTER_PORT": str(port),
        "JUPYTER_TOKEN": lab.token,
        "BROWSER": "true",  # a command that does nothing: the browser is ours
    }
    with (lab.project / "lab.log").open("w") as log:
        process = subprocess.Popen(
            # The copy's environment is the checkout's, and is not made anew whatever
            # the files' times say.
            ["make", "--old-file=.venv/complete", "lab"],
            cwd=lab.project,
            env=variables,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            lab.process = process.pid
            _wait(lab, process)
            yield lab
        finally:
            _stop(process)


def _wait(lab: Lab, process: subprocess.Popen, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while True:
        said = (lab.project / "lab.log").read_text()
        assert process.poll() is None, f"make lab ended: {said}"
        assert time.monotonic() < end, f"make lab does not answer: {said}"
        with suppress(OSError):
            lab.request("GET", "")
            return
        time.sleep(0.2)


def _stop(process: subprocess.Popen) -> None:
    """Stop JupyterLab, which then ends its kernels.

    Two signals are needed, since it asks for confirmation after the first.
    """
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=20)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def local_page(browser: Browser, here: tuple[str, ...], **options: Any) -> Iterator:
    """A page without any history.

    It fails if a script breaks, or if anything is requested but `here`.
    """
    context = browser.new_context(**options)
    context.set_default_timeout(60_000)  # milliseconds: other tests run beside this one
    asked = []
    broken = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.on("pageerror", lambda error: broken.append(str(error)))
    yield page
    context.close()
    assert [url for url in asked if not url.startswith((*here, "data:"))] == []
    assert broken == []


@pytest.fixture
def lesson(browser, lab) -> Iterator[Lesson]:
    """A page of the browser for JupyterLab."""
    here = f"{lab.address}/", "blob:"
    size = {"width": 1280, "height": 900}
    with local_page(browser, here, viewport=size) as page:
        yield Lesson(page, lab)
    for session in lab.request("GET", "sessions"):  # its kernel
        lab.request("DELETE", f"sessions/{session['id']}")
