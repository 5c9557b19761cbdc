"""The site in a real browser: from disk, without a network, on a phone, in the dark."""

from __future__ import annotations

import pytest

from tests import small_site
from tools.site import build

# Sphinx's extensions use what its version after next will not have.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
PHONE = {"width": 390, "height": 844}
LESSON = "notebooks/01_first.html"


@pytest.fixture(scope="module")
def site(browser, tmp_path_factory):
    sources = small_site.make(tmp_path_factory.mktemp("project"))
    return build(sources, tmp_path_factory.mktemp("built") / "site").start.parent


@pytest.fixture
def open_page(browser, site):
    """A function that opens one of the pages; in the end none of them has asked for anything that is not on disk."""
    contexts, asked, complaints = [], [], []

    def opened(name: str, **settings):
        contexts.append(browser.new_context(offline=True, **settings))
        page = contexts[-1].new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("requestfailed", lambda request: complaints.append(request.url))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{site.as_uri()}/{name}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert asked
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []
    assert complaints == []


def test_every_page_fits_a_phone_without_scrolling_sideways(open_page, site) -> None:
    page = open_page("index.html", viewport=PHONE)
    names = sorted(str(file.relative_to(site)) for file in site.rglob("*.html"))
    widths = {}
    for name in names:
        page.goto(f"{site.as_uri()}/{name}")
        widths[name] = page.evaluate("document.documentElement.scrollWidth")
    assert widths == dict.fromkeys(names, PHONE["width"])


def test_a_wide_table_and_a_wide_formula_scroll_by_themselves(open_page) -> None:
    page = open_page(LESSON, viewport=PHONE)
    for frame in (".table-wrapper:has(.dataframe)", ".formula"):
        inner, outer = page.locator(frame).evaluate("frame => [frame.scrollWidth, frame.clientWidth]")
        assert inner > outer


def test_on_a_laptop_code_of_the_full_line_length_is_seen_whole(open_page) -> None:
    page = open_page(LESSON, viewport={"width": 1280, "height": 800})
    hidden = page.locator(".cell_input pre").evaluate_all("all => all.map(pre => pre.scrollWidth - pre.clientWidth)")
    assert hidden
    assert max(hidden) <= 0


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_the_page_is_as_dark_as_the_reader_likes_and_figures_stay_on_white(open_page, scheme, is_dark) -> None:
    page = open_page(LESSON, color_scheme=scheme)
    background = "element => getComputedStyle(element).backgroundColor.match(/\\d+/g).map(Number)"
    assert (sum(page.locator("body").evaluate(background)[:3]) < 3 * 128) == is_dark
    assert page.locator("a.enlarge").first.evaluate(background) == [255, 255, 255]


def test_a_table_sorts_by_numbers_both_ways_with_empty_cells_last(open_page) -> None:
    page = open_page(LESSON)
    table = page.locator("table.dataframe")
    head, cells = table.locator("thead th").nth(1), table.locator("tbody td:nth-child(2)")
    head.click()
    assert cells.all_inner_texts() == ["9", "10", "1,000", ""]
    assert head.get_attribute("aria-sort") == "ascending"
    head.press("Enter")
    assert cells.all_inner_texts() == ["1,000", "10", "9", ""]
    assert head.get_attribute("aria-sort") == "descending"


def test_a_figure_opens_in_its_vector_form_and_closes(open_page) -> None:
    page = open_page(LESSON)
    page.locator("a.enlarge").first.click()
    dialog = page.locator("dialog.lightbox")
    assert dialog.is_visible()
    assert dialog.locator("img").get_attribute("src").endswith("figures/01_first/bars.svg")
    assert dialog.locator("p").inner_text() == small_site.ALT
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")


def test_a_folded_solution_unfolds(open_page) -> None:
    page = open_page(LESSON)
    solution = page.locator("details", has_text="Solution")
    assert not solution.locator("pre").is_visible()
    solution.locator("summary").click()
    assert solution.locator("pre").is_visible()
    assert "Two comes out." in solution.inner_text()


def test_the_gallery_leads_to_the_lesson(open_page) -> None:
    page = open_page("index.html", viewport=PHONE)
    page.locator("a.card").first.click()
    page.wait_for_url("**/01_first.html")
    assert page.locator("h1").inner_text().startswith("1. Bars: which is longer?")


def test_the_search_finds_a_lesson_from_disk(open_page) -> None:
    page = open_page("search.html?q=neighbors")
    page.locator("ul.search a").first.wait_for()
    links = page.locator("ul.search a").evaluate_all("links => links.map(link => link.href)")
    assert any("notebooks/01_first.html" in link for link in links)
