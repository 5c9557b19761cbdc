"""The glossaries of the notebooks, joined."""

from __future__ import annotations

import json

import pytest

from lib.run.errors import InputError
from tests import small_site
from tools import glossary


def write(folder, name: str, table: str):
    file = folder / f"{name}.ipynb"
    section = f"## Glossary\n\n{table}\n\n## Next\n\n| a | b |\n|---|---|"
    cells = [small_site.markdown("# Title"), small_site.markdown(section)]
    file.write_text(json.dumps(small_site.notebook(cells)))
    return file


FIRST = """| term | meaning | in code |
|---|---|---|
| query | what is asked | `q` |
| $k$ | how many | `k` |"""
SECOND = """| symbol | meaning | shape |
|:--|---|---|
| query | what is asked | 3 |
| $k$ | how far | |"""


@pytest.fixture
def notebooks(tmp_path):
    return [write(tmp_path, "01_a", FIRST), write(tmp_path, "02_b", SECOND), write(tmp_path, "03_c", "No table.")]


def test_reads_the_first_two_columns_and_the_code_where_there_is_some(notebooks) -> None:
    assert [(entry.term, entry.meaning, entry.code, entry.notebook) for entry in glossary.entries(notebooks)] == [
        ("query", "what is asked", "`q`", "01_a"),
        ("$k$", "how many", "`k`", "01_a"),
        ("query", "what is asked", "", "02_b"),
        ("$k$", "how far", "", "02_b"),
    ]


def test_names_the_terms_that_notebooks_explain_differently(notebooks) -> None:
    assert glossary.differing(glossary.entries(notebooks)) == {"$k$": {"how many": ["01_a"], "how far": ["02_b"]}}


def test_joins_equal_entries_with_links_to_their_studies(notebooks) -> None:
    page = glossary.page(glossary.entries(notebooks))
    assert "| query | what is asked | `q` | [1](../notebooks/01_a.ipynb), [2](../notebooks/02_b.ipynb) |" in page
    assert page.index("| query |") < page.index("| $k$ | how many |") < page.index("| $k$ | how far |")


def test_a_bar_in_a_cell_is_no_border(tmp_path) -> None:
    (entry,) = glossary.entries([write(tmp_path, "01_a", "| term | meaning |\n|---|---|\n| a \\| b | either |")])
    assert (entry.term, entry.meaning) == ("a \\| b", "either")


def test_a_row_without_meaning_gets_a_sentence(tmp_path) -> None:
    with pytest.raises(InputError, match=r"01_a\.ipynb: .* has no meaning"):
        glossary.entries([write(tmp_path, "01_a", "| term | meaning |\n|---|---|\n| alone |")])
