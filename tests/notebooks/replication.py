"""The rules that every replication notebook obeys, checked without running it."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path

import pandas as pd

from lib.base import parameters

JUDGING = ("judge", "identity", "missing", "refuse")
MOST_LINES = 12  # of a cell
MOST_CHARACTERS = 80  # of a line


def faults(notebook: Path, claims: pd.DataFrame) -> list[str]:
    """What is wrong with a notebook; empty if nothing is.

    The first code cell has the parameters. The others are short. Each
    of the paper's claims that a profile can measure has a line
    ``ledger.judge("id", ...)``, ``.identity``, ``.missing`` or ``.refuse``, and no line
    is there twice.

    Parameters
    ----------
    notebook : Path
    claims : DataFrame
        The rows of ``audit/claims.csv`` that belong to the paper.
    """
    content = json.loads(notebook.read_text(encoding="utf-8"))
    code = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    found = []
    if parameters.TAG not in code[0]["metadata"].get("tags", []):
        found.append("the first code cell does not have the parameters")
    for number, cell in enumerate(code, start=1):
        lines = "".join(cell["source"]).splitlines()
        if len(lines) > MOST_LINES and number > 1:
            found.append(f"code cell {number} has {len(lines)} lines")
        found += [f"too long: {line}" for line in lines if len(line) > MOST_CHARACTERS]
    judged = judgments(["".join(cell["source"]) for cell in code])
    found += [
        f"judged twice: {' '.join(part)}"
        for part, times in Counter(judged).items()
        if times > 1
    ]
    put_away = claims["status"].str.match("merged|dropped|pending")
    # What no profile can measure may stand in the table of what is missing.
    put_away |= (claims["default"] == "no") & (claims["paper"] == "no")
    named = {id for id, *_ in judged}
    found += [
        f"not judged: {id}" for id in sorted(set(claims.loc[~put_away, "id"]) - named)
    ]
    found += [f"not listed: {id}" for id in sorted(named - set(claims["id"]))]
    return found


def judgments(sources: list[str]) -> list[tuple[str, str, str]]:
    """Each ledger call that enters a verdict: the claim, the method, and the part.

    A claim may be given by a name that an assignment, in this cell or an earlier one,
    sets.
    """
    assigned: dict[str, str] = {}
    judged = []
    for source in sources:
        nodes = list(ast.walk(ast.parse(source)))
        for node in nodes:
            if isinstance(node, ast.Assign):
                assigned |= _constants(node.targets[0], node.value)
        for call in filter(_enters, nodes):
            claim, *others = map(_text, call.args)
            parts = [
                _text(keyword.value)
                for keyword in call.keywords
                if keyword.arg == "part"
            ]
            part = parts or others[1:2]
            judged.append((assigned.get(claim, claim), call.func.attr, "".join(part)))
    return judged


def _constants(target: ast.expr, value: ast.expr) -> dict[str, str]:
    """What an assignment sets to constants, also to several at once."""
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=True))
    return {
        ast.unparse(name): given.value
        for name, given in pairs
        if isinstance(given, ast.Constant)
    }


def _enters(node: ast.AST) -> bool:
    """Whether this is such a call."""
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return (
        is_method
        and ast.unparse(node.func.value) == "ledger"
        and node.func.attr in JUDGING
    )


def _text(value: ast.expr) -> str:
    return value.value if isinstance(value, ast.Constant) else ast.unparse(value)
