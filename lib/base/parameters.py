"""The parameters of the notebooks, and the values that they accept.

Before anything runs, each value is compared with the notebook's own one, whose kind it
must have, and with ``params/bounds.yaml``. What depends on data, such as the size of a
corpus, is checked by the functions that use it.
"""

from __future__ import annotations

import ast
import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar

from lib.base import paths
from lib.base.errors import InputError, one_line

TAG = "parameters"
SHARED = "all"  # the section of the bounds that is every notebook's
# Of a user's embedder; also of a folder, so neither this one nor the one above.
OWN_NAME = r"(?!\.\.?$)[\w.-]{1,40}"
SHOWN = 80  # characters of a wrong value that a message quotes


@dataclass(frozen=True)
class Bounds:
    """What ``params/bounds.yaml`` asks of a parameter; its head explains the fields."""

    least: float | None = None
    most: float = 10_000_000
    choices: Sequence[str] = ()
    first: Sequence[str] = ()
    fewest: int = 0
    rising: bool = False
    is_name: bool = False

    def accepted(self) -> list[str]:
        """The choices; a list of names in `lib` is imported only where it is needed."""
        names: list[str] = []
        for choice in self.choices:
            names += resolve_name(choice) if choice.startswith("lib.") else [choice]
        return names


def bounds_of(notebook: str) -> dict[str, Bounds]:
    """The bounds of a notebook's parameters by name; of tables, by members' names."""
    file = paths.PARAMS / "bounds.yaml"
    sections = read_yaml(file) if file.is_file() else {}
    entries = sections.get(SHARED, {}) | sections.get(notebook, {})
    return {name: Bounds(**entry) for name, entry in entries.items()}


def check_notebook(notebook: str, values: Mapping[str, Any]) -> None:
    """Raise InputError if a parameter of a notebook has a value that is not accepted.

    Parameters
    ----------
    notebook : str
        Its name, such as ``01_n2o``.
    values : mapping
        The values of its parameters by name, and whatever else; a notebook gives its
        ``globals()``.
    """
    paths.check_notebooks()
    bounds = bounds_of(notebook)
    for name, own in of_notebook(paths.NOTEBOOKS / f"{notebook}.ipynb").items():
        check(name, values[name], own, bounds)


def check(name: str, value: Any, own: Any, bounds: Mapping[str, Bounds]) -> None:
    """Raise InputError unless a value is like the notebook's own and within bounds.

    `name` is what a message calls it; its last word is the parameter, or the member of
    a table.
    """
    limits = bounds.get(name.split()[-1], Bounds())
    if isinstance(own, dict):
        if not isinstance(value, dict) or value.keys() != own.keys():
            raise _refused(name, value, f"a table of {', '.join(own)}")
        for member in own:
            check(f"{name}, {member}", value[member], own[member], bounds)
    elif isinstance(own, list):
        _check_list(name, value, own, limits)
    else:
        _check_one(name, value, own, limits)


def _check_list(name: str, value: Any, own: list, limits: Bounds) -> None:
    # An empty one is accepted only where the notebook's own one is empty.
    is_list = isinstance(value, list | tuple) and (value or not own)
    if not is_list or any(value.count(member) > 1 for member in value):
        raise _refused(name, value, "a list of different values")
    for member in value:
        _check_one(name, member, own[0] if own else "", limits)
    if len(value) < limits.fewest:
        raise _refused(name, value, f"{limits.fewest} or more values")
    if limits.first and value[0] not in limits.first:
        raise _refused(
            name,
            value,
            f"{' or '.join(limits.first)} first, for its training pairs",
        )
    if limits.rising and (len(value) < 2 or list(value) != sorted(value)):
        raise _refused(name, value, "two or more numbers in rising order")


def _check_one(name: str, value: Any, own: Any, limits: Bounds) -> None:
    """Check a value that is no list and no table."""
    # As in a file's name in another encoding: no notebook can be written with it.
    if isinstance(value, str) and re.search("[\ud800-\udfff]", value):
        raise _refused(name, value, "UTF-8 text, in a UTF-8 locale")
    if limits.choices:
        one_of(name, value, limits.accepted())
    elif isinstance(own, bool | str):
        if type(value) is not type(own):
            raise _refused(
                name, value, "a text" if isinstance(own, str) else "True or False"
            )
        if limits.is_name and value and not re.fullmatch(OWN_NAME, str(value)):
            raise _refused(name, value, "1 to 40 letters, digits, '.', '_' or '-'")
    else:
        kind = type(own)
        usual = 1 if kind is int else 1e-9
        least = usual if limits.least is None else limits.least
        in_range(name, value, kind(least), kind(limits.most))


def _refused(name: str, value: Any, wanted: str) -> InputError:
    return InputError(f"{name}: {shown(value)} is not accepted; give {wanted}")


# -- the notebooks' own values ---------------------------------------------------------


def cells(notebook: Path) -> list[dict[str, Any]]:
    """The cells of a notebook."""
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def of_notebook(notebook: Path) -> dict[str, Any]:
    """A notebook's default parameters: the literals of its cell tagged ``parameters``.

    Raises InputError if there is no such cell, or if it holds anything else.
    """
    tagged = [
        cell for cell in cells(notebook) if TAG in cell["metadata"].get("tags", [])
    ]
    try:
        statements: list[Any] = ast.parse("".join(tagged[0]["source"])).body
        return {
            statement.targets[0].id: ast.literal_eval(statement.value)
            for statement in statements
        }
    except (IndexError, AttributeError, ValueError, SyntaxError) as error:
        raise InputError(
            f"{notebook.name}: give a cell tagged {TAG!r} that "
            "contains only `name = literal`"
        ) from error


def read_yaml(file: Path) -> dict[str, Any]:
    """The ``name: value`` lines of a YAML file; InputError for anything else."""
    given = parse_yaml(str(file), file.read_bytes()) or {}
    if not isinstance(given, dict):
        raise InputError(f"{file}: give lines of `name: value`")
    return given


def parse_yaml(place: str, content: str | bytes) -> Any:
    """The content of a YAML document whose plain words are read by `literal`.

    YAML itself reads 010 as 8 and 12:30 as 750.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """Leaves what a plain word means to `literal`."""

        yaml_implicit_resolvers: ClassVar[dict] = {}

        def scalar(self, node: yaml.ScalarNode) -> Any:
            text = self.construct_scalar(node)
            return text if node.style else literal(text)

    Loader.add_constructor("tag:yaml.org,2002:str", Loader.scalar)
    try:
        return yaml.load(content, Loader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as error:
        raise InputError(f"{place}: {one_line(error)}") from error


def literal(text: str) -> Any:
    """The number that Python reads in a text, True, False or None; else the text."""
    words = {"true": True, "false": False, "": None, "~": None, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return value if isinstance(value, int | float) else text


# -- checks of one value ---------------------------------------------------------------


def nearest(name: str, choices: Iterable[str]) -> str:
    """A phrase that points from a misspelled name to what is accepted."""
    choices = sorted(choices)
    close = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
    return (
        f"did you mean {' or '.join(close)}?"
        if close
        else f"accepted: {', '.join(choices)}"
    )


def shown(value: Any) -> str:
    """A wrong value as a message quotes it, cut short where it is long."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def one_of(parameter: str, value: str, choices: Iterable[str]) -> str:
    """Return `value` if it is one of `choices`.

    Otherwise raise InputError with the nearest names.
    """
    choices = list(choices)
    if value not in choices:
        raise InputError(
            f"{parameter}: {shown(value)} is not known; {nearest(str(value), choices)}"
        )
    return value


def in_range(
    parameter: str, value: float, low: float, high: float, why: str = ""
) -> float:
    """Return `value` if low <= value <= high, or else raise InputError.

    The message gives the reason `why`, if there is one; if low > high, it says that the
    text is too short. Where both bounds are whole numbers, so must be the value. True
    and False are no numbers.
    """
    if low > high:
        raise InputError(
            f"{parameter}: {shown(value)} needs more text{f' ({why})' if why else ''}; "
            "give a longer one"
        )
    whole = isinstance(low, Integral) and isinstance(high, Integral)
    if (
        isinstance(value, Integral if whole else Real)
        and not isinstance(value, bool)
        and low <= value <= high
    ):
        return value
    reason = f" ({why})" if why else ""
    kind = ", a whole number" if whole else ""
    raise InputError(
        f"{parameter}: {shown(value)} is not accepted; give "
        f"{low} to {high}{reason}{kind}"
    )


def texts(parameter: str, value: Sequence[str]) -> Sequence[str]:
    """Return `value` if it is a list of distinct texts; raise InputError otherwise."""
    _check_list(parameter, value, [""], Bounds())
    return value
