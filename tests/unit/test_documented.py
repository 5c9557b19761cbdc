"""Whoever reads the API finds what a name does, what it takes, and when it refuses."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lib.run import paths

MODULES = sorted((paths.ROOT / "lib").rglob("*.py"))
ENTRY = re.compile(r"^(\*?\w+(?:, \*?\w+)*) :", re.MULTILINE)  # of a section of parameters
SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Documented:
    """A public function, method or class, as its module's source has it."""

    name: str
    node: ast.FunctionDef | ast.ClassDef
    owner: ast.ClassDef | None = None  # of a method

    @property
    def docstring(self) -> str:
        return inspect.cleandoc(ast.get_docstring(self.node) or "")


def public(module: Path) -> Iterator[Documented]:
    dotted = ".".join(module.relative_to(paths.ROOT).with_suffix("").parts)
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield Documented(f"{dotted}.{node.name}", node)
            for member in methods(node):
                if not member.name.startswith("_"):
                    yield Documented(f"{dotted}.{node.name}.{member.name}", member, node)


def methods(node: ast.AST) -> list[ast.FunctionDef]:
    return [
        each
        for each in getattr(node, "body", [])
        if isinstance(node, ast.ClassDef) and isinstance(each, ast.FunctionDef)
    ]


@pytest.fixture(scope="module")
def everything() -> list[Documented]:
    return [each for module in MODULES for each in public(module)]


@pytest.fixture(scope="module")
def classes() -> dict[str, ast.ClassDef]:
    """Every class by its name, private ones among them."""
    nodes = [node for module in MODULES for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))]
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def inherits(method: Documented, classes: dict[str, ast.ClassDef]) -> bool:
    """Whether a base class says what the method does, or documents it among its attributes."""
    todo, name = [method.owner] if method.owner else [], method.node.name
    while todo:
        node = todo.pop()
        if any(each.name == name and ast.get_docstring(each) for each in methods(node)):
            return True
        if re.search(rf"^{name} :", inspect.cleandoc(ast.get_docstring(node) or ""), re.MULTILINE):
            return True
        bases = [ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases]
        todo += [classes[base] for base in bases if base in classes]
    return False


def parameters(node: ast.FunctionDef) -> set[str]:
    every = node.args
    starred = [argument for argument in (every.vararg, every.kwarg) if argument]
    return {argument.arg for argument in [*every.posonlyargs, *every.args, *every.kwonlyargs, *starred]}


def fields(node: ast.ClassDef) -> set[str]:
    """What a class has: names that its body or a method defines, and parameters of its constructor."""
    inside = [target for target in ast.walk(node) if isinstance(target, ast.Attribute | ast.Name)]
    written = {target.attr if isinstance(target, ast.Attribute) else target.id for target in inside}
    return written | {method.name for method in methods(node)} | set().union(*map(parameters, methods(node)))


def refuses(node: ast.FunctionDef) -> bool:
    """Whether the function's own body, not that of a function within it, raises InputError."""
    todo = list(node.body)
    while todo:
        each = todo.pop()
        if isinstance(each, ast.Raise) and each.exc and "InputError" in ast.unparse(each.exc).split("(")[0]:
            return True
        if not isinstance(each, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            todo += ast.iter_child_nodes(each)
    return False


def test_every_module_says_what_it_is() -> None:
    silent = [str(module) for module in MODULES if not ast.get_docstring(ast.parse(module.read_text()))]
    assert silent == []


def test_every_public_name_says_what_it_is(everything, classes) -> None:
    assert [each.name for each in everything if not each.docstring and not inherits(each, classes)] == []


def test_a_docstring_begins_with_a_sentence(everything) -> None:
    first = {each.name: each.docstring.split("\n\n")[0] for each in everything if each.docstring}
    assert [name for name, said in first.items() if not said.rstrip().endswith((".", "?", ":", "`", ")"))] == []


def test_who_refuses_wrong_input_says_so(everything) -> None:
    functions = [each for each in everything if isinstance(each.node, ast.FunctionDef)]
    assert [each.name for each in functions if refuses(each.node) and "InputError" not in each.docstring] == []


def test_what_a_docstring_describes_is_there(everything) -> None:
    wrong = []
    for each in everything:
        taking = [each.node, *methods(each.node)]
        if any(isinstance(node, ast.FunctionDef) and node.args.kwarg for node in taking):
            continue  # its options may be described by their names
        known = fields(each.node) if isinstance(each.node, ast.ClassDef) else parameters(each.node)
        for section in SECTION.findall(each.docstring):
            named = {name for entry in ENTRY.findall(section) for name in entry.replace("*", "").split(", ")}
            wrong += [f"{each.name}: {name}" for name in sorted(named - known)]
    assert wrong == []
