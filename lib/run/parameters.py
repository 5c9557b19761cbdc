"""Reading and checking a notebook's parameters, before anything runs.

A notebook's own parameters cell is the default profile; ``params/<profile>/<notebook>.yaml`` holds what
another profile changes. Every key must be known and have the type that the notebook's own value has.
"""

from __future__ import annotations

import ast
import difflib
import os
import sys
import unicodedata
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from lib.run import files, paths, strict_yaml
from lib.run.errors import InputError

TAG = "parameters"
LARGEST = 20_000  # bytes of a file of parameters: more than any needs, and read in two seconds at the worst
LONGEST = 4096  # characters of an option: no path has more
SHOWN = 80  # characters of a wrong value that a message quotes


def nearest(name: str, choices: Iterable[str]) -> str:
    """A phrase that points from a misspelled name to what is accepted."""
    choices = sorted(choices)
    close = difflib.get_close_matches(name[:SHOWN], choices, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"accepted: {', '.join(choices)}"


def shown(value: Any) -> str:
    """A wrong value as a message quotes it: on one line, and not at any length."""
    try:
        text = repr(value)
    except ValueError:  # of more digits than Python writes
        text = f"an {type(value).__name__} of thousands of digits"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def one_of(parameter: str, value: str, choices: Iterable[str]) -> str:
    """Return `value` if it is among `choices`; raise InputError with the nearest names otherwise."""
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        close = nearest(value if isinstance(value, str) else "", choices)
        raise InputError(f"{parameter}: {shown(value)} is not known; {close}")
    return value


def in_range(parameter: str, value: float, low: float, high: float, why: str = "") -> float:
    """Return `value` if low <= value <= high; raise InputError that says why not otherwise.

    Where both bounds are integers, so must be the value. True and False are no numbers.
    """
    whole = isinstance(low, Integral) and isinstance(high, Integral)
    if isinstance(value, bool) or not isinstance(value, Integral if whole else Real):
        problem = f"is no {'whole ' if whole else ''}number"
    elif not low <= value <= high:
        problem = "is not accepted"
    else:
        return value
    reason = f" ({why})" if why else ""
    limits = (str(limit) if isinstance(limit, Integral) else f"{limit:g}" for limit in (low, high))
    raise InputError(f"{parameter}: {shown(value)} {problem}; give {' to '.join(limits)}{reason}")


def texts(parameter: str, value: Sequence[str], at_least: int = 0) -> Sequence[str]:
    """Return `value` if it is a list of so many texts or more, none twice; raise InputError otherwise."""
    if not isinstance(value, list | tuple) or not all(isinstance(member, str) for member in value):
        raise InputError(f"{parameter}: {shown(value)} is no list of texts; give one such as ['a', 'b']")
    if len(set(value)) < len(value):
        again = next(member for i, member in enumerate(value) if member in value[:i])
        raise InputError(f"{parameter}: {shown(again)} is there twice; give each once")
    if len(value) < at_least:
        raise InputError(f"{parameter}: is {shown(value)}; give a list of at least {at_least}")
    return value


def rising(parameter: str, value: Sequence[float], low: float, high: float, at_least: int = 1) -> Sequence[float]:
    """Return `value` if it is a list of so many numbers or more, in range and rising; raise InputError otherwise."""
    if not isinstance(value, list | tuple) or len(value) < at_least:
        raise InputError(f"{parameter}: {shown(value)} is not accepted; give a list of numbers, {at_least} or more")
    for member in value:
        in_range(parameter, member, low, high)
    if any(left >= right for left, right in pairwise(value)):
        raise InputError(f"{parameter}: {shown(value)} is not accepted; give numbers that rise")
    return value


def table(parameter: str, value: Mapping[str, Any], default: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `value` if it has the keys of `default`, and values of the same types; raise InputError otherwise."""
    _check_type(parameter, value, default)
    check(value, default, parameter)
    return value


def text(parameter: str, value: str) -> str:
    """Return `value` if it is a text that can be shown on a line; raise InputError otherwise."""
    if not isinstance(value, str):
        raise InputError(f"{parameter}: {shown(value)} is a {type(value).__name__}; give a text")
    if wrong := next((sign for sign in value if unicodedata.category(sign) in ("Cc", "Cs")), ""):
        raise InputError(f"{parameter}: {shown(value)} holds {wrong!r}; give a text without control characters")
    return value


def given(parser: ArgumentParser, arguments: Sequence[str] | None = None) -> Namespace:
    """The options of a command, its own where `arguments` is None; InputError for one that is no text of a line."""
    words = sys.argv[1:] if arguments is None else arguments
    for word in words:
        if len(word) > LONGEST:
            raise InputError(f"{shown(word)}: has {len(word)} characters; give at most {LONGEST}")
    options = parser.parse_args(words)
    for name, value in vars(options).items():
        if isinstance(value, str | list):  # a list is what argparse makes of --name=--
            text(f"--{name.replace('_', '-')}", value)
    return options


def cells(notebook: Path) -> list[dict[str, Any]]:
    """The cells of a notebook; InputError for a file that is no notebook."""
    found = files.read_json(notebook).get("cells")
    if not isinstance(found, list) or not all(map(_is_cell, found)):
        raise InputError(f"{notebook}: is no notebook of format 4; get the file again")
    return found


def _is_cell(cell: Any) -> bool:
    return isinstance(cell, dict) and {"cell_type", "metadata", "source"} <= cell.keys()


def of_notebook(notebook: Path) -> dict[str, Any]:
    """The default parameters of a notebook: the typed literals of its cell tagged ``parameters``.

    Raises InputError if there is no such cell or if it holds anything but literals.
    """
    tagged = [cell for cell in cells(notebook) if TAG in cell["metadata"].get("tags", [])]
    if len(tagged) != 1:
        raise InputError(f"{notebook.name}: needs one cell tagged {TAG!r}, has {len(tagged)}")
    try:
        tree = ast.parse("".join(tagged[0]["source"]))
        return {_target(statement): ast.literal_eval(statement.value) for statement in tree.body}
    except (AttributeError, ValueError, SyntaxError, RecursionError) as error:
        raise InputError(f"{notebook.name}: the {TAG} cell may hold only `name = literal`") from error


def _target(statement: ast.stmt) -> str:
    target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
    return target.id


def of_profile(notebook: Path, profile: str) -> dict[str, Any]:
    """What `profile` changes in a notebook's parameters, checked; empty for the default profile.

    Raises InputError for a profile without a file for the notebook, and for a file that `check` refuses.
    """
    if profile == "default":
        return {}
    file = paths.PARAMS / profile / f"{notebook.stem}.yaml"
    if not os.path.isfile(file):  # unlike Path.is_file, also of a name too long to be one
        raise InputError(f"{_shown(file)}: no such file; profile {shown(profile)} needs one for {notebook.stem}")
    given = _read_yaml(file)
    check(given, of_notebook(notebook), _shown(file))
    return given


def _read_yaml(file: Path) -> dict[str, Any]:
    if (size := file.stat().st_size) > LARGEST:
        raise InputError(f"{_shown(file)}: has {size} bytes; give a file of a few `parameter: value` lines")
    try:
        given = strict_yaml.load(file.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{_shown(file)}: not valid YAML: it is not in UTF-8; save it so") from error
    except ValueError as error:
        raise InputError(f"{_shown(file)}: not valid YAML: {str(error)[:200]}") from error
    except OSError as error:
        raise InputError(f"{_shown(file)}: cannot be read ({error.strerror})") from error
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise InputError(f"{_shown(file)}: must hold `parameter: value` lines, holds a {type(given).__name__}")
    return given


def check(given: Mapping[str, Any], defaults: Mapping[str, Any], source: str) -> None:
    """Raise InputError if a key of `given` is unknown or has another type than in `defaults`.

    An integer is accepted where the default is a float. The members of a list must have the type of the
    default's first member. A table must have the keys of the default; others are the notebook's to check.
    """
    for key, value in given.items():
        if key not in defaults:
            raise InputError(f"{source}: unknown parameter {shown(key)}; {nearest(str(key), defaults)}")
        _check_type(f"{source}: {key}", value, defaults[key])


def _check_type(where: str, value: Any, default: Any) -> None:
    if not (type(value) is int and type(default) is float) and type(value) is not type(default):
        hint = " (YAML reads 1e-3 as text: write 1.0e-3)" if isinstance(default, float) else ""
        raise InputError(
            f"{where}: {shown(value)} is a {type(value).__name__}; "
            f"give a {type(default).__name__} such as {shown(default)}{hint}"
        )
    if isinstance(value, str):
        text(where, value)
    elif isinstance(value, int | float) and not abs(value) < 2**63:
        raise InputError(f"{where}: {shown(value)} is no number that can be computed with; give such as {default!r}")
    elif isinstance(value, list) and default:
        for member in value:
            _check_type(where, member, default[0])
    elif isinstance(value, dict):
        _check_table(where, value, default)


def _check_table(where: str, value: dict[str, Any], default: dict[str, Any]) -> None:
    for key, known in default.items():
        if key not in value:
            raise InputError(f"{where}: lacks {key!r}; give all of {', '.join(default)}")
        _check_type(f"{where}: {key}", value[key], known)


def _shown(file: Path) -> str:
    return str(file.relative_to(paths.ROOT)) if file.is_relative_to(paths.ROOT) else str(file)
