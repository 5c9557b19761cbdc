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
# A bar whose size is not given would grow with its neighbors, a sum say.
_BAR = re.compile("<mo>(&#x0(?:007C|2016);)</mo>")
# A parameter or attribute of a docstring, or several: their names, and what is said of them.
_DESCRIBED = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.+(?:\n {4}.*)*)", re.M)
_FIELDS = re.compile(r"^(?:Parameters|Attributes|Returns|Raises)\n-+\n(?:.+\n)+(?=\n\S)", re.M)
_RETURNED = re.compile(r"^Returns\n-------\n(\S.*(?:\n\S.*)*)(?=\n\n|\n?\Z)", re.M)
_MODULE = re.compile(r"\b(?:np|pd|sp)\.")
_CODE = re.compile(r"(`+[^`]+`+)")
LOGGER = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    app.connect("doctree-resolved", _make_tables_sortable)
    app.connect("autodoc-process-docstring", _read_docstring, priority=100)
    app.connect("autodoc-process-signature", _read_signature)
    app.connect("autodoc-skip-member", _skip)
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
    if unknown:
        return _as_written(node, unknown[0])
    return _BAR.sub(r'<mo stretchy="false">\1</mo>', _FUNCTION.sub(r"\1<mspace width='0.17em'/>", formula))


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
    if what in ("attribute", "property"):
        lines[0] = f": {lines[0]}"  # what stands before the first colon is taken for the type: nothing


def _read_signature(
    app: Sphinx, what: str, name: str, item: object, options: object, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Types without the module's short name, and ``...`` where a dataclass makes a default anew each time."""
    return tuple(part and _MODULE.sub("", part).replace("<factory>", "...") for part in (signature, returned))


def _skip(app: Sphinx, what: str, name: str, item: object, skip: bool, options: object) -> bool | None:
    """Leave out the fields of named tuples: the signature has them, and their docstrings only number them."""
    return True if type(item).__name__ == "_tuplegetter" else None


def docstring(text: str) -> str:
    """A docstring as reStructuredText: outside of code, a bar or an asterisk stands for itself.

    What follows a parameter's name and a colon is its description here, not its type, which the signature gives. A
    section of fields ends with its first paragraph, for which the reader of docstrings wants two empty lines.
    """
    text = _DESCRIBED.sub(_described, text)
    text = _RETURNED.sub(_returned, text)
    text = _FIELDS.sub(r"\g<0>\n", text)
    return "\n".join(map(_escaped, text.split("\n")))


def _described(match: re.Match[str]) -> str:
    """An entry for each of the names."""
    return "\n".join(f"{name}\n    {match[2]}" for name in match[1].split(", "))


def _returned(match: re.Match[str]) -> str:
    """What is returned, in a sentence: neither a list, nor a type where it has a colon."""
    return f":returns: {match[1]}".replace("\n", " ")


def _escaped(line: str) -> str:
    parts = _CODE.split(line)  # text, code, text, ..., text
    parts[::2] = [re.sub(r"([|*])", r"\\\1", part) for part in parts[::2]]
    # Code may touch a letter or a bracket, which reStructuredText allows only with an escaped space between them.
    parts[2::2] = [re.sub(r"^(?=[\w(\[{<])", r"\\ ", part) for part in parts[2::2]]
    parts[:-1:2] = [re.sub(r"(?<=[\w)\]}>])$", r"\\ ", part) for part in parts[:-1:2]]
    return "".join(parts)
