"""Other people's text, shown literally in a notebook.

Nothing in it is taken for Markdown, HTML or a formula.
"""

from __future__ import annotations

import re
import string

import pandas as pd

_HARMLESS = ",;:?!'\"/%@.+-="  # where they do not open a line
_ELSEWHERE = "".join(
    character for character in string.punctuation if character not in _HARMLESS
)
_SPECIAL = re.compile(f"^[-+=%]|^[0-9]+[.](?=\\s|$)|[{re.escape(_ELSEWHERE)}]")


def escape(text: str) -> str:
    """Markdown that shows `text` on one line, every character standing for itself.

    Character references are text to every Markdown renderer, whereas not every one
    knows every backslash escape. A dollar sign also needs an element of its own, lest
    two of them enclose a formula once the page is rendered.
    """
    return _SPECIAL.sub(_reference, " ".join(text.split()))


def _reference(match: re.Match[str]) -> str:
    text = match[0]
    reference = f"{text[:-1]}&#{ord(text[-1])};"
    return f"<span>{reference}</span>" if text[-1] == "$" else reference


def table(frame: pd.DataFrame, digits: int = 2) -> str:
    """A Markdown table of a DataFrame without its index.

    Text is escaped and aligned left, numbers are aligned right.

    Parameters
    ----------
    frame : DataFrame
        What is missing becomes an empty cell.
    digits : int
        After the point, of numbers that are not whole.
    """
    numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]
    rules = ["---:" if is_number else ":---" for is_number in numeric]
    rows = [
        [_cell(value, digits) for value in row] for row in frame.itertuples(index=False)
    ]
    lines = [[escape(str(column)) for column in frame.columns], rules, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(value: object, digits: int) -> str:
    if pd.isna(value):
        return ""
    return f"{value:.{digits}f}" if isinstance(value, float) else escape(str(value))
