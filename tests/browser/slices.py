"""The part of a notebook that its widgets need, so that a test of the widgets need not wait for all the rest."""

from __future__ import annotations

import ast
import re
from typing import Any


def needed_for(cells: list[dict[str, Any]], wanted: re.Pattern) -> list[dict[str, Any]]:
    """The cells with a match of `wanted`, and those before them that define, directly or not, a name that these use.

    A cell defines the names that it imports, assigns to, wholly or in part, or calls a method of as a statement, as in
    ``rows.append(1)``; not so a module's function, as in ``plotting.show(figure)``, which defines nothing.
    """
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    imported = {name for cell in code for name in _imported(ast.parse(cell["source"]))}
    kept, names = [], set()
    for cell in reversed(code):
        tree = ast.parse(cell["source"])
        defined = _imported(tree) | _assigned(tree) | (_changed(tree) - imported)
        if wanted.search(cell["source"]) or defined & names:
            kept.append(cell)
            names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return kept[::-1]


def _imported(tree: ast.AST) -> set[str]:
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    return {(alias.asname or alias.name).split(".")[0] for node in imports for alias in node.names}


def _assigned(tree: ast.AST) -> set[str]:
    named = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return named | {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _changed(tree: ast.AST) -> set[str]:
    """``a`` of ``a.b = 1``, of ``a[0] = 1`` and of the statement ``a.b.append(1)``."""
    parts = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Subscript)]
    stored = [part for part in parts if isinstance(part.ctx, ast.Store)]
    calls = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    return {_root(node) for node in stored + [call.func for call in calls if isinstance(call.func, ast.Attribute)]}


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
