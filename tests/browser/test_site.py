"""The site: all pages are there, all links work, and no other machine is asked."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import IPython.display
import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest
from PIL import Image

from lib import plotting
from lib.run import paths

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

ALT = 'Two bars: "a" < b'
LESSON = "notebooks/00_start_here.html"
VERDICTS = "docs/replication.html"
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
# Tables and code that are wider than their boxes, and do not look as if more followed.
CUT = """boxes => boxes.filter(box => box.scrollWidth > box.clientWidth + 1 &&
    getComputedStyle(box).maskImage == "none").map(box => box.textContent)"""


class Page(HTMLParser):
    """The elements of a page: their tags and attributes."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.text = file.read_text(encoding="utf-8")
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.feed(self.text)

    def handle_starttag(
        self, tag: str, attributes: list[tuple[str, str | None]]
    ) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}))

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Path, list[str]]:
    """The project's site with results of one notebook, and Sphinx's complaints."""
    folder = tmp_path_factory.mktemp("site")
    shutil.rmtree(
        paths.ROOT / "tools/site/api", ignore_errors=True
    )  # pages of modules that are no more, say
    write_results(folder / "results" / "00_start_here")
    command = [
        Path(sys.prefix) / "bin/sphinx-build",
        "-q",
        "-c",
        "tools/site",
        "-d",
        folder / "doctrees",
    ]
    command += ["-D", f"results={folder / 'results'}", ".", folder / "html"]
    done = subprocess.run(
        command, cwd=paths.ROOT, stderr=subprocess.PIPE, text=True, check=True
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


@pytest.fixture(scope="module")
def pages(site) -> list[Page]:
    return [Page(file) for file in sorted(site.rglob("*.html"))]


# README: "`make site` makes pages of the executed notebooks: open `site/index.html`"
def test_every_page_is_there_and_sphinx_complains_only_of_notebooks_that_have_not_been_run(  # noqa: E501
    built,
) -> None:
    site, complaints = built
    _, *not_run = [*paths.lessons(), *paths.replications()]
    missing = [
        f"{paths.notebook_name(notebook)} has no results here" for notebook in not_run
    ]
    assert [
        line for line in complaints if not any(each in line for each in missing)
    ] == []
    assert len(complaints) == len(missing)
    sources = ["README.md", "SECURITY.md"]
    sources += [
        file.relative_to(paths.ROOT) for file in paths.ROOT.glob("docs/**/*.md")
    ]
    sources += [
        file.relative_to(paths.ROOT)
        for file in [*paths.lessons(), *paths.replications()]
    ]
    modules = re.findall(
        r"^ +(lib\.\S+)$", (paths.ROOT / "tools/site/api.md").read_text(), re.M
    )
    expected = [Path(source).with_suffix(".html") for source in sources]
    expected += [
        "index.html",
        "tools/site/about.html",
        *(f"tools/site/api/{module}.html" for module in modules),
    ]
    assert [page for page in expected if not (site / page).is_file()] == []
    assert 'id="lib.n2o.overlap"' in (site / "tools/site/api/lib.n2o.html").read_text()
    about = (site / "tools/site/about.html").read_text()
    # README: "CITATION.cff is for the studies themselves. The license of the code is
    # MIT"
    assert all(
        words in about for words in ("Situating sentence embedders", "MIT License")
    )


def test_a_lesson_shows_its_results_and_needs_no_script_for_formulas(site) -> None:
    lesson = Page(site / LESSON)
    assert [image["alt"] for image in lesson.all("img")] == [ALT]
    assert [table["class"] for table in lesson.all("table")].count("dataframe") == 1
    assert re.search(r"Ours is <strong>3</strong>: <math", lesson.text)
    assert "<details><summary>" in lesson.text
    (table,) = [
        link["href"]
        for link in lesson.all("a")
        if link.get("href", "").endswith("scores.csv")
    ]
    assert (site / "notebooks" / table).read_text() == "a,b\n1,2\n"


def test_every_link_leads_to_a_place_and_every_picture_has_alternative_text(
    site, pages
) -> None:
    places = {
        page.file: {attributes.get("id") for _, attributes in page.elements}
        for page in pages
    }
    broken = []
    for page in pages:
        for link in [
            attributes.get("href", "")
            for tag, attributes in page.elements
            if tag in ("a", "link")
        ]:
            path, _, place = unquote(link).partition("#")
            target = (
                (page.file.parent / path.partition("?")[0]).resolve()
                if path
                else page.file
            )
            there = target.exists() and (not place or place in places[target])
            broken += (
                []
                if there or re.match(r"\w+:", path)
                else [f"{page.file.relative_to(site)}: {link}"]
            )
        broken += [
            picture["src"][:80] for picture in page.all("img") if not picture.get("alt")
        ]
    assert broken == []


def test_from_disk_and_without_a_network_it_is_read_and_searched_on_a_phone(
    browser, site
) -> None:
    context = browser.new_context(offline=True, viewport=PHONE)
    page = context.new_page()
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on(
        "console",
        lambda message: (
            complaints.append(message.text) if message.type == "error" else None
        ),
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    for name in (
        "README.html",
        LESSON,
        VERDICTS,
        "docs/data.html",
        "tools/site/api/lib.n2o.html",
    ):
        page.goto(f"{site.as_uri()}/{name}")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.goto(f"{site.as_uri()}/search.html?q=twenty+sentences")
    page.locator("ul.search a[href*='00_start_here']").first.wait_for()
    page.goto(f"{site.as_uri()}/search.html?q=SIF")
    page.locator("ul.search a[href*='04_paraphrase_mrr']").first.wait_for()
    context.close()
    assert [
        address for address in asked if not address.startswith(("file:", "data:"))
    ] == []
    assert complaints == []


@pytest.fixture
def tab(browser) -> Iterator[Tab]:
    """A page of the browser, on a phone."""
    page = browser.new_page(viewport=PHONE)
    yield page
    page.close()


def test_on_a_phone_a_figure_opens_enlarged_and_a_tap_closes_it(tab, site) -> None:
    tab.goto(f"{site.as_uri()}/{LESSON}")
    figure = tab.get_by_role("button", name=ALT)
    small = figure.bounding_box()["width"]
    assert small < PHONE["width"]
    figure.click()
    enlarged = tab.get_by_role("dialog").get_by_alt_text(ALT)
    assert enlarged.bounding_box()["width"] > 1.8 * small
    enlarged.click()
    assert tab.get_by_role("dialog").count() == 0


def test_what_is_wider_than_a_phone_fades_where_more_follows(tab, site) -> None:
    for name in (LESSON, VERDICTS, "docs/data.html", "docs/cluster.html"):
        tab.goto(f"{site.as_uri()}/{name}")
        tab.wait_for_function("document.querySelector('.fits, .more-after')")
        boxes = tab.locator("article :is(pre, .table-wrapper, .cell_output)")
        assert boxes.evaluate_all(CUT) == []
    code = tab.locator("article pre.more-after").first
    code.evaluate("box => box.scrollTo(box.scrollWidth, 0)")
    tab.locator("article pre.more-before:not(.more-after)").first.wait_for()


def test_the_verdicts_fit_the_desk_and_their_header_stays_in_sight(tab, site) -> None:
    tab.set_viewport_size(DESK)
    tab.goto(f"{site.as_uri()}/{VERDICTS}")
    tab.wait_for_function("document.querySelector('.fits')")
    tables = tab.locator("article table")
    rows = tables.evaluate_all("tables => tables.map(table => table.rows.length)")
    longest = tables.nth(rows.index(max(rows)))
    box = longest.bounding_box()
    assert box["x"] + box["width"] <= DESK["width"]
    longest.locator("tr").last.scroll_into_view_if_needed()
    header = longest.locator("th").last.bounding_box()
    assert 0 <= header["y"] < DESK["height"] / 2


def test_the_sidebar_lists_pages_not_their_headings(tab, site) -> None:
    tab.goto(f"{site.as_uri()}/notebooks/06_usif_derivation.html")
    links = tab.locator(".sidebar-tree a").evaluate_all(
        "links => links.map(link => link.getAttribute('href'))"
    )
    assert [link for link in links if re.search("#.", link)] == []
    studies = tab.locator(".sidebar-tree ul").first.locator("a")
    assert studies.count() == len([*paths.lessons(), *paths.replications()])


def test_in_the_dark_no_figure_is_a_white_box(tab, site) -> None:
    corners = {}
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        tab.goto(f"{site.as_uri()}/{LESSON}")
        picture = Image.open(BytesIO(tab.get_by_alt_text(ALT).screenshot()))
        corners[scheme] = picture.convert("L").getpixel((20, 20))
    assert corners["light"] == 255
    assert corners["dark"] < 210
