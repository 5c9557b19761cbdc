"""Sphinx's settings for the site.

The site holds the README, docs/, every notebook with its last results, and lib's
docstrings.

``make site`` calls ``sphinx-build``. No page loads anything from another machine, or
has a date.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from pathlib import Path

import nbformat
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger
from sphinx.writers.html5 import HTML5Translator

logging.getLogger("faiss").setLevel(logging.WARNING)  # which says how it was loaded

sys.path.insert(0, str(Path(__file__).parents[2]))  # audit is not installed
project = html_title = "Sentence-embedding studies"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinxcontrib.bibtex",
]
root_doc = "README"
include_patterns = ["README.md", "SECURITY.md", "docs/**", "tools/site/**"]
include_patterns += ["notebooks/*.ipynb", "notebooks/replication/*.ipynb"]
exclude_patterns = [
    ".*",
    "audit",
    "benchmarks",
    "data",
    "figures",
    "lib",
    "params",
    "site",
    "tests",
]
suppress_warnings = [
    "myst.header",
    "ref.python",
]  # lessons may begin with a small heading, classes share names

html_theme = "furo"
html_static_path = ["style.css", "page.js"]
html_css_files = ["style.css"]
html_js_files = ["page.js"]
html_extra_path = ["index.html"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_copyright = False
html_show_search_summary = (
    False  # they are fetched, which a browser refuses to a page that is read from disk
)

nb_execution_mode = "off"
nb_ipywidgets_js = {}
nb_merge_streams = True
nb_render_markdown_format = "myst"
myst_enable_extensions = ["dollarmath", "html_image"]
myst_dmath_double_inline = True
myst_heading_anchors = 4

default_role = "code"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
autosummary_ignore_module_all = False
napoleon_google_docstring = False
napoleon_use_ivar = True
bibtex_bibfiles = ["../../references.bib"]
bibtex_reference_style = "author_year"

CONTENTS = "\n\n```{include} tools/site/contents.txt\n```\n"
# What the hosting site shows as pages of the reference are the notebooks here.
PAGE = re.compile(
    r"figures/reference/\w+/((?:replication/)?(\w+))/README\.md(#\2-[\w-]+)?"
)
GALLERY = "figures/reference/README.md"
SIZES = re.compile(
    r"\\[bB]igg?[lmr]?(?=\\)"
)  # of delimiters that have a name, which the converter does not know


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_config_value("results", "figures/default", "env")
    app.connect("source-read", read)
    app.connect("doctree-read", nest, priority=100)  # before the sidebar is made of it
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Take a notebook with its last results and links to its tables.

    The README gets the table of contents.
    """
    source[0] = PAGE.sub(lambda link: place(app, link), source[0]).replace(
        GALLERY, "notebooks/00_start_here.ipynb"
    )
    if page == root_doc:
        source[0] += CONTENTS
    if not page.startswith("notebooks/"):
        return
    name = page.removeprefix("notebooks/")
    results = app.srcdir / app.config.results / name
    executed = executed_in(results)
    if not executed.exists():
        getLogger(__name__).warning(
            "%s has no results here: run make figures NOTEBOOK=%s", page, name
        )
        return
    notebook = nbformat.read(executed, as_version=4)
    folder = os.path.relpath(results, os.path.dirname(app.srcdir / page))
    links = [
        f"- [{table.name}]({folder}/{table.name})"
        for table in sorted(results.glob("*.csv"))
    ]
    notebook.cells.append(
        nbformat.v4.new_markdown_cell("\n".join(["## Tables as files", "", *links]))
    )
    source[0] = nbformat.writes(notebook)


def executed_in(results: Path) -> Path:
    """The notebook with its results."""
    return results / f"{results.name}.ipynb"


def place(app: Sphinx, link: re.Match[str]) -> str:
    """Where a link to a page leads here: without results there is no claim's block."""
    name, _, block = link.groups(default="")
    has_block = executed_in(app.srcdir / app.config.results / name).exists()
    return f"notebooks/{name}.ipynb{block if has_block else ''}"


def nest(app: Sphinx, page: nodes.document) -> None:
    """Put all sections under the first, so that the sidebar lists pages alone."""
    sections = [node for node in page.children if isinstance(node, nodes.section)]
    for section in sections[1:]:
        page.remove(section)
        sections[0].append(section)


def formula(translator: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """A formula as MathML, which needs no script."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    translator.body.append(convert(SIZES.sub("", node.astext()), display=display))
    raise nodes.SkipNode
