"""The site: read from disk it asks nobody for anything, hides nothing, and every link leads somewhere."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from docutils import nodes

from lib.run import paths
from lib.run.errors import InputError
from tests import small_site
from tools.site import build, lessons
from tools.site.__main__ import main, summary
from tools.site.build import MARK, _replace
from tools.site.extension import docstring, mathml

# Sphinx's extensions use what its version after next will not have.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
LOADED = [
    ("script", "src"),
    ("img", "src"),
    ("img", "srcset"),
    ("source", "srcset"),
    ("iframe", "src"),
    ("link", "href"),
]


class Page(HTMLParser):
    """The elements of a page, and the names that links can lead to."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.feed(file.read_text(encoding="utf-8"))
        self.names = {attributes.get("id") for _, attributes in self.elements}

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}))

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return small_site.make(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def report(sources, tmp_path_factory):
    return build(sources, tmp_path_factory.mktemp("built") / "site")


@pytest.fixture(scope="module")
def site(report) -> Path:
    return report.start.parent


@pytest.fixture(scope="module")
def pages(site) -> list[Page]:
    return [Page(file) for file in sorted(site.rglob("*.html"))]


def text(site: Path, name: str) -> str:
    return (site / name).read_text(encoding="utf-8")


def words(site: Path, name: str) -> str:
    """What a reader sees of a page, its menus aside."""
    content = text(site, name).partition("<article")[2].partition("</article>")[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", content)).split())


# -- read from disk -----------------------------------------------------------------------------


def test_no_page_loads_anything_from_another_machine(pages) -> None:
    loaded = [attributes.get(name, "") for page in pages for tag, name in LOADED for attributes in page.all(tag)]
    assert any(loaded)
    assert [address for address in loaded if re.match(r"(\w+:)?//", address)] == []


def test_no_style_loads_anything_from_another_machine(site, pages) -> None:
    styles = [file.read_text(encoding="utf-8") for file in [*site.rglob("*.css"), *site.rglob("*.html")]]
    styles += [attributes.get("style", "") for page in pages for _, attributes in page.elements]
    assert re.findall(r"(?:url\(|@import)\s*[\"']?\s*(?:https?:)?//[^)]*", "\n".join(styles)) == []


def test_no_script_loads_anything_from_another_machine(site) -> None:
    scripts = "\n".join(file.read_text(encoding="utf-8") for file in site.rglob("*.js"))
    assert re.findall(r"(?:fetch|import|importScripts)\([\"'`]https?:[^)]*", scripts) == []


def test_every_link_leads_to_a_page_and_to_a_place_in_it(site, pages) -> None:
    known = {page.file: page.names for page in pages}
    for page in pages:
        for link in [attributes.get("href", "") for attributes in page.all("a") + page.all("link")]:
            path, _, place = unquote(link).partition("#")
            path = path.partition("?")[0]
            if re.match(r"\w+:", path) or not link:
                continue
            target = (page.file.parent / path).resolve() if path else page.file
            assert target.exists(), f"{page.file.relative_to(site)}: {link}"
            assert not place or place in known[target], f"{page.file.relative_to(site)}: {link}"


def test_every_image_is_there_and_has_alternative_text(pages) -> None:
    images = [
        (page.file.parent / attributes["src"], attributes["alt"]) for page in pages for attributes in page.all("img")
    ]
    assert images
    assert all(file.exists() and alt for file, alt in images)


def test_every_page_fits_a_phone_and_follows_the_reader_into_the_dark(site, pages) -> None:
    for page in pages:
        viewports = [attributes["content"] for attributes in page.all("meta") if attributes.get("name") == "viewport"]
        assert viewports
        assert all("width=device-width" in viewport for viewport in viewports)
    assert "prefers-color-scheme" in text(site, "_static/styles/furo.css").replace(" ", "")


def test_every_table_can_be_sorted_and_scrolls_by_itself(pages) -> None:
    for page in pages:
        scripts = [attributes.get("src", "").split("?")[0] for attributes in page.all("script")]
        tables = page.all("table")
        frames = [attributes for attributes in page.all("div") if "table-wrapper" in attributes.get("class", "")]
        assert any(script.endswith("_static/site.js") for script in scripts)
        assert all("sortable" in attributes["class"] for attributes in tables)
        assert len(frames) == len(tables)


def test_nothing_tells_where_the_project_lies(site, sources) -> None:
    for file in [file for file in site.rglob("*") if file.suffix in (".html", ".js", ".css", ".inv", ".csv")]:
        content = file.read_bytes()
        for place in (paths.ROOT, sources.root, Path.home(), "/tmp/"):
            assert f"{place}".encode() not in content.replace(b"~/", b""), file


def test_built_again_it_has_the_same_bytes(site, sources, tmp_path) -> None:
    folders = ", ".join(f"Path({str(folder)!r})" for folder in (sources.root, sources.figures))
    code = f"""import sys; from pathlib import Path; from tools.site import Sources, build
build(Sources({folders}, {sources.modules!r}), Path(sys.argv[1]))"""
    variables = os.environ | {"PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code, tmp_path / "again"], check=True, cwd=paths.ROOT, env=variables)
    first, second = (
        {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        for folder in (site, tmp_path / "again")
    )
    assert {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)} == set()


# -- lessons ------------------------------------------------------------------------------------


def test_sphinx_has_nothing_to_complain_of(report) -> None:
    assert report.warnings == []


def test_a_figure_is_a_file_that_opens_its_vector_form(site) -> None:
    lesson = Page(site / "notebooks/01_first.html")
    figures = [attributes for attributes in lesson.all("a") if attributes.get("class") == "enlarge"]
    assert figures[0]["href"] == "../figures/01_first/bars.svg"
    (image,) = [attributes for attributes in lesson.all("img") if attributes["alt"] == small_site.ALT]
    assert (image["width"], image["height"]) == ("600", "200")
    assert (site / "notebooks" / image["src"]).read_bytes() == small_site.picture(900, small_site.ALT)


def test_a_figure_that_was_only_displayed_becomes_a_file_too(site) -> None:
    (image,) = [
        attributes for attributes in Page(site / "notebooks/01_first.html").all("img") if attributes["alt"] == "A look"
    ]
    assert (site / "notebooks" / image["src"]).read_bytes() == small_site.picture(40, "A look")


def test_the_start_page_shows_a_study_by_its_figure_and_its_question(site) -> None:
    start = text(site, "index.html")
    (card,) = re.findall(r'<a class="card" href="notebooks/01_first.html">.*?</a>', start)
    assert f'src="figures/01_first/bars.png" alt="{html.escape(small_site.ALT)}"' in card
    assert "Which of two bars is longer, in words of x?" in card
    assert "A picture that the gallery shows" not in start
    assert start.index("What it is.") < start.index('class="gallery"') < start.index("The corpus.")


def test_links_between_notebooks_lead_to_pages(site) -> None:
    links = [attributes.get("href") for attributes in Page(site / "notebooks/01_first.html").all("a")]
    assert {"02_second.html", "../docs/data.html", "../index.html#use"} <= set(links)
    assert "02_second.ipynb" not in "".join(map(str, links))


def test_parameters_code_and_tables_are_shown_and_solutions_folded(site) -> None:
    lesson = text(site, "notebooks/01_first.html")
    assert "tag_parameters" in lesson
    assert "neighbors</span>" in lesson
    assert re.search(r"<details><summary>Solution</summary>.*?print.*?Two comes out.*?</details>", lesson, re.S)
    assert "style scoped" not in lesson
    assert "read data/x.txt of ." in lesson
    assert 'href="../figures/01_first/bars.csv"' in lesson


def test_a_study_has_one_title_and_its_parts_keep_their_order(site) -> None:
    lesson = text(site, "notebooks/01_first.html")
    assert lesson.count("<h1") == 1
    assert "<h2>Part 1. A second heading" in lesson
    assert "<h3>A smaller one" in lesson
    assert "# add" in words(site, "notebooks/01_first.html")


def test_code_that_only_words_the_findings_is_folded_and_the_words_are_not(site) -> None:
    lesson = text(site, "notebooks/01_first.html")
    folded = "".join(re.findall(r"<details class=\"[^\"]*hide.*?</details>", lesson, re.S))
    assert [name for name in ("reading", "missing", "found") if f">{name}</span>" in folded] == ["reading", "found"]
    assert "Bars are long" in lesson
    assert "Bars are long" not in folded


def test_what_a_reader_of_the_site_has_no_use_for_is_left_out(site) -> None:
    lesson = words(site, "notebooks/01_first.html")
    assert "Markdown object" not in lesson


def test_an_address_in_parentheses_becomes_a_link_that_takes_little_room(site) -> None:
    link = re.compile(r'\(<a [^>]*href="https://example.org/long/w2v"[^>]*>example.org</a>\)')
    assert link.search(text(site, "notebooks/01_first.html"))


def test_formulas_need_no_script(site, pages) -> None:
    lesson = text(site, "notebooks/01_first.html")
    assert '<div class="formula"><math' in lesson
    assert "Ours is <strong>3</strong>: <math" in lesson
    assert not any(
        "mathjax" in attributes.get("src", "").lower() for page in pages for attributes in page.all("script")
    )


@pytest.mark.parametrize("formula", [r"\bigl\lvert x\bigr\rvert", r"\bigl|x\bigr|"])
def test_large_delimiters_are_known_by_name_and_by_character(formula) -> None:
    assert re.sub(r"<[^>]+>", "", mathml(nodes.math("", formula), "inline")) == "|x|"


def test_a_bar_beside_a_sum_stays_as_small_as_it_was_written() -> None:
    formula = mathml(nodes.math("", r"\sum_i \lVert x_i\rVert"), "block")
    assert formula.count('<mo stretchy="false">&#x02016;</mo>') == 2


@pytest.mark.parametrize("formula", [r"\notacommand{x} < y", r"\end{x}"])
def test_a_formula_that_is_not_understood_is_shown_as_written(formula) -> None:
    assert mathml(nodes.math("", formula), "inline") == f"<code>{html.escape(formula)}</code>"


# -- what is missing ----------------------------------------------------------------------------


def test_a_study_without_results_is_announced_everywhere(report, site) -> None:
    assert "run make figures NOTEBOOK=02_second" in words(site, "notebooks/02_second.html")
    assert "Which line is straight?" in words(site, "notebooks/02_second.html")
    assert "This site is not complete" in words(site, "index.html")
    assert "make figures" not in words(site, "notebooks/01_first.html")
    assert [study.name for study in report.incomplete] == ["02_second"]
    assert "02_second: no up-to-date results; run make figures" in summary(report)


def test_results_of_an_earlier_notebook_are_announced(tmp_path) -> None:
    sources = small_site.make(tmp_path)
    file = sources.root / "notebooks/01_first.ipynb"
    file.write_text(file.read_text().replace("neighbors", "nearest neighbors"))
    first, _ = sources.studies
    assert not first.is_current
    assert "has changed since these results: run `make figures NOTEBOOK=01_first`" in lessons.notice(first)
    assert lessons.notice(first) in [cell["source"] for cell in lessons.lesson(first, tmp_path / "assets")["cells"]]


# -- other pages --------------------------------------------------------------------------------


def test_a_badge_from_elsewhere_becomes_its_text(site) -> None:
    assert ">Badge</a>" in text(site, "index.html")
    assert '<a href="https://example.org/other">Other badge</a>' in text(site, "index.html")
    assert "badge.svg" not in text(site, "index.html")


def test_citations_are_in_three_parts_and_the_data_page_leads_to_them(site) -> None:
    shown = text(site, "citations.html").split("<article")[1]
    places = [
        shown.index(words)
        for words in ("papers of the collection", "A paper", "Tools", "A tool", "Data, weights", "A title")
    ]
    assert places == sorted(places)
    assert re.search(
        r'Author.*?<a class="reference internal" href="../citations.html#[^"]+"', text(site, "docs/data.html")
    )


def test_the_api_page_shows_public_names_with_their_docstrings(site) -> None:
    shown = text(site, "api/lib.markdown.html")
    assert 'id="lib.run.markdown.escape"' in shown
    assert "Numbers that are not whole" in shown
    assert "_cell" not in shown


def test_a_package_without_names_of_its_own_shows_those_of_its_modules(site) -> None:
    shown = text(site, "api/lib.pitfalls.html")
    assert 'id="lib.pitfalls.checklist.table"' in shown


def test_a_colon_in_the_docstring_of_a_property_opens_no_type(site) -> None:
    shown = words(site, "api/lib.pitfalls.html")
    assert "Type :" not in shown
    assert "Type:" not in shown


def test_fields_of_a_named_tuple_are_in_its_signature_only(site) -> None:
    shown = words(site, "api/lib.similarity.html")
    assert re.search(r"Columns ?\( ?mean", shown)
    assert "Alias for field" not in shown


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("x : int[q], the ids\n    of it", "x\n    int[q], the ids\n    of it"),
        ("low, high : float,\n    both", "low\n    float,\n    both\nhigh\n    float,\n    both"),
        ("Returns\n-------\nthe mean of\nall: 1", ":returns: the mean of all: 1"),
        ("Returns\n-------\na : 1\nb : 2", "Returns\n-------\na\n    1\nb\n    2"),
        ("Raises\n------\nE\n    No.\n\nMore.", "Raises\n------\nE\n    No.\n\n\nMore."),
        ("|u - v| and u * v", r"\|u - v\| and u \* v"),
        ("`dtype`[n, d] and ``a|b``s", r"`dtype`\ [n, d] and ``a|b``\ s"),
        ("no change: ``x`` (here), `y`.", "no change: ``x`` (here), `y`."),
    ],
)
def test_docstrings_are_read_as_they_are_meant(written, read) -> None:
    assert docstring(written) == read


def test_a_folder_of_pages_has_a_list_of_them(site) -> None:
    assert 'href="search.html"' in text(site, "docs/benchmarks/index.html")
    assert 'href="docs/benchmarks/index.html"' in text(site, "index.html")


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "content", "sentence"),
    [
        ("README.md", None, "README.md: is missing"),
        ("references.bib", None, "references.bib: is missing"),
        ("notebooks/01_first.ipynb", "{}", "is no notebook"),
        ("notebooks/01_first.ipynb", json.dumps(small_site.notebook([])), "is no notebook"),
        (
            "notebooks/02_second.ipynb",
            json.dumps(small_site.notebook([small_site.markdown("# 2")])),
            "begin the first cell",
        ),
        ("figures/default/01_first/01_first.ipynb", "<html>", "no JSON in it"),
    ],
)
def test_what_is_missing_or_broken_gets_a_sentence_and_the_old_site_stays(path, content, sentence, tmp_path) -> None:
    sources = small_site.make(tmp_path / "project")
    site = tmp_path / "site"
    (site / "_static").mkdir(parents=True)
    (site / "_static/site.js").write_text("old")
    (sources.root / path).unlink()
    if content is not None:
        (sources.root / path).write_text(content)
    with pytest.raises(InputError, match=sentence):
        build(sources, site)
    assert (site / "_static/site.js").read_text() == "old"


def test_a_folder_without_notebooks_gets_a_sentence(tmp_path) -> None:
    sources = small_site.make(tmp_path)
    with pytest.raises(InputError, match="holds no notebook"):
        assert replace(sources, root=tmp_path / "docs").studies


def test_nothing_but_a_site_is_ever_replaced(sources, tmp_path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="holds something that is no site"):
        build(sources, tmp_path)
    with pytest.raises(InputError, match="is a file; name a folder"):
        build(sources, tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_two_builds_at_once_leave_one_whole_site(tmp_path) -> None:
    """Each is built elsewhere, then takes the place of what is there."""
    for number in range(2):
        for name in ("index.html", "notebooks/01_first.html", MARK):
            file = tmp_path / str(number) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(str(number))
    output = tmp_path / "site"
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda i: _replace(tmp_path / str(i % 2), output), range(40)))
    found = [file.read_text() for file in output.rglob("*") if file.is_file()]
    assert found in (["0"] * 3, ["1"] * 3)
    assert {path.name for path in tmp_path.iterdir()} == {"0", "1", "site"}


def test_a_folder_that_cannot_be_written_gets_a_sentence(sources, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="cannot be written to"):
        build(sources, tmp_path / "new" / "site")


def test_the_command_says_what_is_wrong(tmp_path, capsys) -> None:
    (tmp_path / "thesis.txt").write_text("")
    assert main(["--output", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_says_that_the_disk_is_full(tmp_path, capsys, monkeypatch) -> None:
    def fill(*arguments) -> None:
        raise OSError(28, "No space left on device", str(tmp_path))

    monkeypatch.setattr("tools.site.__main__.build", fill)
    assert main(["--output", str(tmp_path)]) == 2
    assert f"No space left on device: '{tmp_path}'\n" in capsys.readouterr().err
