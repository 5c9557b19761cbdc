"""The site: all pages are there, all links work, and no other machine is asked."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import IPython.display
import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup

from lib import plotting
from lib.base import paths
from tests.browser.conftest import local_page

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

ALT = 'Two bars: "a" < b'
LESSON = "notebooks/00_start_here.html"
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Path, list[str]]:
    """The project's site with results of one notebook, and Sphinx's complaints."""
    folder = tmp_path_factory.mktemp("site")
    # It may have pages of modules that are no more.
    shutil.rmtree(paths.ROOT / "tools/site/api", ignore_errors=True)
    write_results(folder / "results" / "00_start_here")
    sphinx = Path(sys.prefix) / "bin/sphinx-build"
    options = ["-q", "-c", "tools/site", "-d", folder / "doctrees"]
    options += ["-D", f"results={folder / 'results'}"]
    done = subprocess.run(
        [sphinx, *options, ".", folder / "html"],
        cwd=paths.ROOT,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    return folder / "html", done.stderr.splitlines()


def write_results(folder: Path) -> None:
    """The first notebook with a figure, a table, and text with a formula."""
    shown = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            IPython.display, "display", lambda data, **options: shown.append(data)
        )
        patch.setenv(paths.FIGURES_VARIABLE, str(folder.parent / "figures"))
        plotting.show(plt.figure(figsize=(7, 1)), "toy", "toy", ALT)
    shown.append({"text/html": pd.DataFrame({"a": [1], "b": [2]}).to_html()})
    shown.append({"text/markdown": "Ours is **3**: $a < b$."})
    notebook = nbformat.read(paths.NOTEBOOKS / "00_start_here.ipynb", as_version=4)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first.outputs = [nbformat.v4.new_output("display_data", data) for data in shown]
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / "00_start_here.ipynb")
    (folder / "scores.csv").write_text("a,b\n1,2\n")


@pytest.fixture(scope="module")
def site(built) -> Path:
    return built[0]


# README: "`make site` makes pages of the executed notebooks: open `site/index.html`"
def test_every_page_is_there_and_sphinx_complains_only_of_what_has_not_been_run(
    built,
) -> None:
    site, complaints = built
    notebooks = [*paths.lessons(), *paths.replications()]
    missing = [paths.notebook_name(notebook) for notebook in notebooks[1:]]
    for name in missing:
        assert any(f"{name} has no results here" in line for line in complaints)
    other = [line for line in complaints if "has no results here" not in line]
    assert other == []
    sources = [paths.ROOT / "README.md", *paths.ROOT.glob("docs/**/*.md"), *notebooks]
    for source in sources:
        page = source.relative_to(paths.ROOT).with_suffix(".html")
        assert (site / page).is_file(), page
    api = (site / "tools/site/api/lib.n2o.html").read_text()
    assert 'id="lib.n2o.overlap"' in api
    # README: "CITATION.cff is for the studies themselves. The license of the code is
    # MIT"
    about = (site / "tools/site/about.html").read_text()
    assert "Situating sentence embedders" in about
    assert "MIT License" in about


def test_a_lesson_shows_its_results_and_needs_no_script_for_formulas(site) -> None:
    text = (site / LESSON).read_text(encoding="utf-8")
    lesson = BeautifulSoup(text, "html.parser")
    assert [image["alt"] for image in lesson.select("img")] == [ALT]
    assert len(lesson.select("table.dataframe")) == 1
    assert re.search(r"Ours is <strong>3</strong>: <math", text)
    assert "<details><summary>" in text
    (table,) = lesson.select("a[href$='scores.csv']")
    assert (site / "notebooks" / table["href"]).read_text() == "a,b\n1,2\n"


def test_every_link_leads_to_a_place_and_every_picture_has_alternative_text(
    site,
) -> None:
    pages = {}
    places = {}
    for file in site.rglob("*.html"):
        pages[file] = BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")
        places[file] = {element["id"] for element in pages[file].select("[id]")}
    broken = []
    for file, page in pages.items():
        for link in page.select("a[href], link[href]"):
            path, _, place = unquote(link["href"]).partition("#")
            if re.match(r"\w+:", path):
                continue
            target = file
            if path:
                target = (file.parent / path.partition("?")[0]).resolve()
            if not target.exists() or (place and place not in places[target]):
                broken.append(f"{file.relative_to(site)}: {link['href']}")
        for picture in page.select("img:not([alt]), img[alt='']"):
            broken.append(picture["src"][:80])
    assert broken == []


@pytest.fixture
def tab(browser) -> Iterator[Tab]:
    """A page on a phone, without a network."""
    with local_page(browser, ("file:",), offline=True, viewport=PHONE) as page:
        yield page


def test_from_disk_and_without_a_network_it_is_read_and_searched_on_a_phone(
    tab, site
) -> None:
    for name in ("README", "docs/replication", "docs/data", "tools/site/api/lib.n2o"):
        tab.goto(f"{site.as_uri()}/{name}.html")
        assert tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    tab.goto(f"{site.as_uri()}/docs/replication/usif.html")
    verdict = tab.locator("table.cards td[data-name=verdict]").first.bounding_box()
    assert 0 < verdict["x"] + verdict["width"] <= PHONE["width"]
    for query, found in (("exit+status", "troubleshooting"), ("SIF", "04_para")):
        tab.goto(f"{site.as_uri()}/search.html?q={query}")
        tab.locator(f"ul.search a[href*='{found}']").first.wait_for()


def test_on_a_phone_a_figure_opens_enlarged_and_a_tap_closes_it(tab, site) -> None:
    tab.goto(f"{site.as_uri()}/{LESSON}")
    assert tab.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    figure = tab.get_by_role("button", name=ALT)
    small = figure.bounding_box()["width"]
    figure.click()
    enlarged = tab.get_by_role("dialog").get_by_alt_text(ALT)
    assert enlarged.bounding_box()["width"] > 1.8 * small
    enlarged.click()
    assert tab.get_by_role("dialog").count() == 0
