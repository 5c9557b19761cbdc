"""What Sphinx is taught: formulas as MathML, so that no page needs a script for them, and tables that can be sorted."""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

DELIMITERS = {"lvert": "|", "rvert": "|", "lVert": "\u2016", "rVert": "\u2016", "langle": "\u27e8", "rangle": "\u27e9"}
_SIZED = re.compile(rf"(\\[bB]igg?[lmr]?)\s*\\({'|'.join(DELIMITERS)})(?![a-zA-Z])")
# The converter sets no space between the name of a function and its argument.
_FUNCTION = re.compile(r"(<mi>(?:log|exp|cos|sin|min|max)</mi>)(?=<m(?:i|sub|sup|subsup|frac)>)")
_DESCRIBED = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.+)$", re.M)
_CODE = re.compile(r"(`+[^`]+`+)")
LOGGER = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    app.connect("doctree-resolved", _make_tables_sortable)
    app.connect("autodoc-process-docstring", _read_docstring, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def _visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def mathml(node: nodes.Element, display: str) -> str:
    """A formula as MathML; as it was written, with a warning, if it is not understood."""
    try:
        formula = convert(_SIZED.sub(_sized, node.astext()), display=display)
    except Exception as error:  # the converter raises errors of many kinds
        return _as_written(node, type(error).__name__)
    unknown = re.search(r"\\[a-zA-Z]+", formula)
    return _as_written(node, unknown[0]) if unknown else _FUNCTION.sub(r"\1<mspace width='0.17em'/>", formula)


def _sized(match: re.Match[str]) -> str:
    """The converter knows a large delimiter by its character only, not by its name."""
    return match[1] + DELIMITERS[match[2]]


def _as_written(node: nodes.Element, reason: str) -> str:
    LOGGER.warning("formula that is not understood: %s (%s)", node.astext(), reason, location=node)
    return f"<code>{html.escape(node.astext())}</code>"


def _make_tables_sortable(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for table in doctree.findall(nodes.table):
        if next(table.findall(nodes.thead), None):
            table["classes"].append("sortable")


def _read_docstring(app: Sphinx, what: str, name: str, item: object, options: object, lines: list[str]) -> None:
    lines[:] = docstring("\n".join(lines)).split("\n")


def docstring(text: str) -> str:
    """A docstring as reStructuredText: outside of code, a bar or an asterisk stands for itself.

    What follows a parameter's name and a colon is its description here, not its type, which the signature gives.
    """
    return "\n".join(map(_escaped, _DESCRIBED.sub(r"\1\n    \2", text).split("\n")))


def _escaped(line: str) -> str:
    parts = _CODE.split(line)  # text, code, text, ..., text
    parts[::2] = [re.sub(r"([|*])", r"\\\1", part) for part in parts[::2]]
    # Code may touch a letter or a bracket, which reStructuredText allows only with an escaped space between them.
    parts[2::2] = [re.sub(r"^(?=[\w(\[{<])", r"\\ ", part) for part in parts[2::2]]
    parts[:-1:2] = [re.sub(r"(?<=[\w)\]}>])$", r"\\ ", part) for part in parts[:-1:2]]
    return "".join(parts)
