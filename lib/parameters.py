"""Reading and checking a notebook's parameters, before anything runs.

A notebook's own parameters cell is the default profile; ``params/<profile>/<notebook>.yaml`` holds what
another profile changes. Every key must be known and have the type that the notebook's own value has.
"""

from __future__ import annotations

import ast
import difflib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from lib import paths
from lib.errors import InputError

TAG = "parameters"


def nearest(name: str, choices: Iterable[str]) -> str:
    """A phrase that points from a misspelled name to what is accepted."""
    choices = sorted(choices)
    close = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"accepted: {', '.join(choices)}"


def one_of(parameter: str, value: str, choices: Iterable[str]) -> str:
    """Return `value` if it is among `choices`; raise InputError with the nearest names otherwise."""
    choices = list(choices)
    if value not in choices:
        raise InputError(f"{parameter}: {value!r} is not known; {nearest(str(value), choices)}")
    return value


def in_range(parameter: str, value: float, low: float, high: float, why: str = "") -> float:
    """Return `value` if low <= value <= high; raise InputError that says why not otherwise."""
    if not low <= value <= high:
        reason = f" ({why})" if why else ""
        raise InputError(f"{parameter}: {value!r} is not accepted; give {low:g} to {high:g}{reason}")
    return value


def of_notebook(notebook: Path) -> dict[str, Any]:
    """The default parameters of a notebook: the typed literals of its cell tagged ``parameters``.

    Raises InputError if there is no such cell or if it holds anything but literals.
    """
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    tagged = [cell for cell in cells if TAG in cell["metadata"].get("tags", [])]
    if len(tagged) != 1:
        raise InputError(f"{notebook.name}: needs one cell tagged {TAG!r}, has {len(tagged)}")
    tree = ast.parse("".join(tagged[0]["source"]))
    try:
        return {_target(statement): ast.literal_eval(statement.value) for statement in tree.body}
    except (AttributeError, ValueError) as error:
        raise InputError(f"{notebook.name}: the {TAG} cell may hold only `name = literal`") from error


def _target(statement: ast.stmt) -> str:
    target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
    return target.id


def of_profile(notebook: Path, profile: str) -> dict[str, Any]:
    """What `profile` changes in a notebook's parameters, checked; empty for the default profile."""
    if profile == "default":
        return {}
    file = paths.PARAMS / profile / f"{notebook.stem}.yaml"
    if not file.exists():
        raise InputError(f"{_shown(file)}: no such file; profile {profile!r} needs one for {notebook.stem}")
    given = _read_yaml(file)
    check(given, of_notebook(notebook), _shown(file))
    return given


def _read_yaml(file: Path) -> dict[str, Any]:
    try:
        given = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{_shown(file)}: not valid YAML: {reason}") from error
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise InputError(f"{_shown(file)}: must hold `parameter: value` lines, holds a {type(given).__name__}")
    return given


def check(given: Mapping[str, Any], defaults: Mapping[str, Any], source: str) -> None:
    """Raise InputError if a key of `given` is unknown or has another type than in `defaults`.

    An integer is accepted where the default is a float. The members of a list must have the type of the
    default's first member.
    """
    for key, value in given.items():
        if key not in defaults:
            raise InputError(f"{source}: unknown parameter {key!r}; {nearest(str(key), defaults)}")
        _check_type(f"{source}: {key}", value, defaults[key])


def _check_type(where: str, value: Any, default: Any) -> None:
    if type(value) is int and type(default) is float:
        return
    if type(value) is not type(default):
        hint = " (YAML reads 1e-3 as text: write 1.0e-3)" if isinstance(default, float) else ""
        raise InputError(
            f"{where}: {value!r} is a {type(value).__name__}; give a {type(default).__name__} such as {default!r}{hint}"
        )
    if isinstance(default, list) and default:
        for member in value:
            _check_type(where, member, default[0])


def _shown(file: Path) -> str:
    return str(file.relative_to(paths.ROOT)) if file.is_relative_to(paths.ROOT) else str(file)
