"""Pages made from catalogs and notebooks match today's catalogs and notebooks."""

from __future__ import annotations

import json

import pytest

from lib.run import paths
from tools import pages


# README: the table of studies, each with its page, its notebook and a figure that is
# described
@pytest.mark.parametrize("name", pages.PAGES)
def test_every_page_is_as_make_page_writes_it(name) -> None:
    assert (paths.ROOT / name).read_text(encoding="utf-8") == pages.PAGES[name]()


@pytest.mark.parametrize("mark", pages.README)
def test_every_table_of_the_readme_is_as_make_page_writes_it(mark) -> None:
    made = pages.between("README.md", mark, pages.README[mark]())
    assert (paths.ROOT / "README.md").read_text(encoding="utf-8") == made


def test_equal_entries_of_two_glossaries_are_one_row_and_a_bar_in_a_cell_is_no_border(
    tmp_path, monkeypatch
) -> None:
    first, second = (
        "| query | asked | `q` |\n| $k$ | how many | |",
        "| query | asked | `x` |\n| a \\| b | c | |",
    )
    for name, table in {"01_a": first, "02_b": second}.items():
        text = (
            "# T\n\n## Glossary\n\n| term | meaning | in code |\n|---|---|---|\n"
            f"{table}\n\nAll terms."
        )
        cells = [{"cell_type": "markdown", "metadata": {}, "source": text}]
        (tmp_path / f"{name}.ipynb").write_text(json.dumps({"cells": cells}))
    monkeypatch.setattr(paths, "NOTEBOOKS", tmp_path)
    assert pages.glossary().splitlines()[-3:] == [
        "| a \\| b | c |  | [2](../notebooks/02_b.ipynb) |",
        (
            "| query | asked | `q`; `x` | [1](../notebooks/01_a.ipynb), "
            "[2](../notebooks/02_b.ipynb) |"
        ),
        "| $k$ | how many |  | [1](../notebooks/01_a.ipynb) |",
    ]
