"""What others wrote stands in a notebook as they wrote it."""

from __future__ import annotations

import html
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.base import markdown


def shown(source: str) -> str:
    """What a reader sees of escaped text.

    References and the element around a dollar sign are resolved.
    """
    return html.unescape(re.sub(r"</?span>", "", source))


@given(st.text())
def test_the_reader_sees_every_character_on_one_line(text) -> None:
    # HTML itself reads references to control characters as other ones, and none of them
    # are made.
    assert shown(markdown.escape(text)) == " ".join(text.split())


@given(st.text(alphabet=r"\`*_{}[]()<>#|~^$& a1"))
def test_nothing_that_markdown_or_html_acts_on_is_left(text) -> None:
    without_references = re.sub(
        r"&#\d+;", "", re.sub(r"</?span>", "", markdown.escape(text))
    )
    assert re.sub(r"[a1 ]", "", without_references) == ""


@pytest.mark.parametrize(
    "opening",
    ["- item", "+ item", "12. item", "1) item", "# title", "> quote", "=== x", "---"],
)
def test_what_would_open_a_list_a_title_or_a_quotation_does_not(opening) -> None:
    escaped = markdown.escape(opening)
    assert re.match(r"\d*&#\d+;", escaped)
    assert shown(escaped) == opening


def test_plain_text_stays_readable_and_a_dollar_sign_has_an_element() -> None:
    text = 'In 1987, "it" fell 3.6 percent; why? Well-known: 0.57 to 0.62!'
    assert markdown.escape(text) == text
    assert markdown.escape("$5 or $6") == "<span>&#36;</span>5 or <span>&#36;</span>6"


def test_a_table_by_hand() -> None:
    frame = pd.DataFrame(
        {"a|b": ["x|y", None], "n": [1, 2], "x": [0.125, float("nan")]}
    )
    assert markdown.table(frame).splitlines() == [
        "| a&#124;b | n | x |",
        "| :--- | ---: | ---: |",
        "| x&#124;y | 1 | 0.12 |",
        "|  | 2 |  |",
    ]
