"""Pages made from catalogs and notebooks match today's catalogs and notebooks."""

from __future__ import annotations

import re

import pytest

from lib.base import paths
from tools import pages


# README: the table of studies, each with its page, its notebook and a figure that is
# described
@pytest.mark.parametrize("name", pages.PAGES)
def test_every_page_is_as_make_page_writes_it(name) -> None:
    assert (paths.ROOT / name).read_text(encoding="utf-8") == pages.PAGES[name]()


@pytest.mark.parametrize(("name", "mark", "made"), pages.TABLES)
def test_every_table_in_a_page_is_as_make_page_writes_it(name, mark, made) -> None:
    text = (paths.ROOT / name).read_text(encoding="utf-8")
    assert f"<!-- {mark} -->" in text
    assert text == pages.between(name, mark, made())


# docs/teaching: "In every course each lesson comes after those that it needs"
def test_every_course_has_what_each_of_its_lessons_needs_before_it() -> None:
    page = (paths.ROOT / "docs/teaching.md").read_text(encoding="utf-8")
    _, _, courses = page.partition("## Courses\n")
    weeks = {"one": 1, "four": 4, "eight": 8, "twelve": 12}
    row = rf"^\| ({'|'.join(weeks)})\S*[^|]* \| ([\d, ]+) \|"
    rows = re.findall(row, courses, re.M)
    needs = {}
    for line in pages.classes().splitlines()[3:]:
        _, title, needed, *_ = re.split(r" *(?<!\\)\| *", line)
        number = re.match(r"\[(\d+)", title)[1]
        needs[number] = set(re.findall(r"[Ll]esson (\d+)", needed))
    assert len(rows) == 6
    for name, lessons in rows:
        taught = lessons.split(", ")
        assert len(taught) == weeks[name]
        for place, lesson in enumerate(taught):
            assert needs[lesson] <= set(taught[:place])
