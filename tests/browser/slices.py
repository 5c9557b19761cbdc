"""The part of a notebook that its widgets need, so that a test of the widgets need not wait for all the rest."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterator
from typing import Any


def needed_for(cells: list[dict[str, Any]], wanted: re.Pattern) -> list[dict[str, Any]]:
    """The cells with a match of `wanted`, and those before them that define, directly or not, a name that these use.

    A cell defines the names that it imports, assigns to, wholly or in part, or calls a method of as a statement, as in
    ``rows.append(1)``; not so a module's function, as in ``plotting.show(figure)``, which defines nothing. What lives
    only within a function or a comprehension is neither defined nor used.
    """
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    imported = {symbol.get_name() for cell in code for symbol in _names(cell["source"]) if symbol.is_imported()}
    kept, names = [], set()
    for cell in reversed(code):
        if wanted.search(cell["source"]) or (_assigned(cell["source"]) | _changed(cell["source"]) - imported) & names:
            kept.append(cell)
            names |= _used(cell["source"])
    return kept[::-1]


def _names(source: str) -> list[symtable.Symbol]:
    """Those that a cell itself knows, outside functions and comprehensions."""
    return symtable.symtable(source, "cell", "exec").get_symbols()


def _assigned(source: str) -> set[str]:
    return {symbol.get_name() for symbol in _names(source) if symbol.is_assigned() or symbol.is_imported()}


def _used(source: str) -> set[str]:
    """What a cell reads of the notebook's names, within functions and comprehensions too."""
    whole, *inner = _scopes(symtable.symtable(source, "cell", "exec"))
    read = [symbol for symbol in whole.get_symbols() if symbol.is_referenced()]
    read += [symbol for scope in inner for symbol in scope.get_symbols() if symbol.is_global()]
    return {symbol.get_name() for symbol in read}


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _scopes(child)


def _changed(source: str) -> set[str]:
    """``a`` of ``a.b = 1``, of ``a[0] = 1`` and of the statement ``a.b.append(1)``."""
    nodes = list(ast.walk(ast.parse(source)))
    stored = [node for node in nodes if isinstance(node, ast.Attribute | ast.Subscript)]
    stored = [part for part in stored if isinstance(part.ctx, ast.Store)]
    calls = [node.value for node in nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    return {_root(node) for node in stored + [call.func for call in calls if isinstance(call.func, ast.Attribute)]}


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
