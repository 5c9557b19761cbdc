"""The glossaries of all notebooks as one page, ``docs/glossary.md``, which ``make page`` writes."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lib.run import parameters, paths
from lib.run.errors import InputError, said_in_a_sentence

HEADING = "## Glossary"
HEAD = """# Glossary

Every term of the studies, generated from the notebooks' own glossaries by `python -m tools.glossary`.

| term | meaning | in code | studies |
|---|---|---|---|
"""
_CELL = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[\s|:-]+")


@dataclass(frozen=True)
class Entry:
    """One row of one notebook's glossary; `code` is empty where the notebook gives none."""

    term: str
    meaning: str
    code: str
    notebook: str


def entries(notebooks: Iterable[Path]) -> list[Entry]:
    """The rows of all the notebooks' tables under ``## Glossary``, in the order of the notebooks.

    Raises InputError if a row has less than two cells.
    """
    return [entry for notebook in notebooks for entry in _of_notebook(notebook)]


def _of_notebook(notebook: Path) -> Iterator[Entry]:
    rows = list(_rows(_section(notebook)))
    with_code = bool(rows) and len(rows[0]) > 2 and "code" in rows[0][-1]
    for cells in rows[1:]:
        if len(cells) < 2:
            raise InputError(f"{notebook}: {cells} of the glossary has no meaning; write | term | meaning | in code |")
        yield Entry(cells[0], cells[1], cells[-1] if with_code and len(cells) > 2 else "", notebook.stem)


def _section(notebook: Path) -> str:
    """What stands between the heading and the next one of its kind."""
    cells = parameters.cells(notebook)
    prose = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    _, _, after = prose.partition(f"{HEADING}\n")
    return re.split(r"^#{1,2} ", after, maxsplit=1, flags=re.M)[0]


def _rows(section: str) -> Iterator[list[str]]:
    """The cells of each row of the first table, without the rule below its head."""
    table = re.search(r"^\|.*(?:\n\|.*)*", section, re.M)
    for line in table[0].splitlines() if table else []:
        if not _RULE.fullmatch(line):
            yield [cell.strip() for cell in _CELL.split(line.strip().strip("|"))]


def differing(entries: Iterable[Entry]) -> dict[str, dict[str, list[str]]]:
    """Terms that notebooks explain in different words: for each term its meanings, and the notebooks of each."""
    meanings: dict[str, dict[str, list[str]]] = {}
    for entry in entries:
        meanings.setdefault(entry.term, {}).setdefault(entry.meaning, []).append(entry.notebook)
    return {term: found for term, found in meanings.items() if len(found) > 1}


def page(entries: Iterable[Entry]) -> str:
    """The page in Markdown: a row for every meaning of every term, with links to the notebooks that use it."""
    joined: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        joined.setdefault((entry.term, entry.meaning), []).append(entry)
    return HEAD + "".join(_row(joined[key]) for key in sorted(joined, key=_order))


def _order(key: tuple[str, str]) -> tuple[bool, str, str]:
    """Words in the order of the alphabet, then symbols by their letters."""
    term, _ = key
    return term.startswith("$"), re.sub(r"\\[a-z]*[({ ]?|[^\w ]", "", term).casefold(), term


def _row(same: list[Entry]) -> str:
    code = "; ".join(dict.fromkeys(entry.code for entry in same if entry.code))
    names = dict.fromkeys(entry.notebook for entry in same)
    links = ", ".join(f"[{name[:2].lstrip('0') or '0'}](../notebooks/{name}.ipynb)" for name in names)
    return f"| {same[0].term} | {same[0].meaning} | {code} | {links} |\n"


@said_in_a_sentence
def main(arguments: list[str] | None = None) -> int:
    """Print the page; the exit status is 2 if a notebook's table cannot be read."""
    parameters.given(
        argparse.ArgumentParser(prog="python -m tools.glossary", description="Print the glossaries."), arguments
    )
    print(page(entries(sorted(paths.NOTEBOOKS.glob("[0-9]*.ipynb")))), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
