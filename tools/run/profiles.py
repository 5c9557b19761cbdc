"""The profiles in ``params/``, and parameters given as texts.

A notebook's own parameters cell is the default profile;
``params/<profile>/<notebook>.yaml`` holds what another profile changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lib.base import paths
from lib.base.errors import InputError
from lib.base.parameters import (
    bounds_of,
    check,
    nearest,
    of_notebook,
    parse_yaml,
    read_yaml,
    shown,
)


def of_profile(notebook: Path, profile: str) -> dict[str, Any]:
    """What a profile changes in a notebook's parameters.

    Empty for the default profile, and for a notebook without a file there. Raises
    InputError for a parameter that the notebook does not have, and for a value that is
    not accepted.
    """
    if profile == "default" or not has_file(notebook, profile):
        return {}
    file = _file(notebook, profile)
    known = of_notebook(notebook)
    bounds = bounds_of(paths.notebook_name(notebook))
    given = read_yaml(file)
    for name, value in given.items():
        if name not in known:
            raise InputError(
                f"{file}: unknown parameter {shown(name)}; {nearest(str(name), known)}"
            )
        check(f"{file}: {name}", value, known[name], bounds)
    return given


def has_file(notebook: Path, profile: str) -> bool:
    """Whether a profile covers a notebook; the default profile needs no file for it."""
    return profile == "default" or _file(notebook, profile).is_file()


def _file(notebook: Path, profile: str) -> Path:
    return paths.PARAMS / profile / f"{paths.notebook_name(notebook)}.yaml"


def of_texts(notebook: Path, given: Iterable[str]) -> dict[str, Any]:
    """What texts such as ``k=10`` change in a notebook's parameters.

    Values other than text are written as in a profile's file. Raises InputError for a
    parameter that the notebook does not have, and for a value that is not accepted.
    """
    known = of_notebook(notebook)
    bounds = bounds_of(paths.notebook_name(notebook))
    values = {}
    for assignment in given:
        name, _, text = assignment.partition("=")
        if name not in known:
            raise InputError(f"unknown parameter {shown(name)}; {nearest(name, known)}")
        values[name] = text if isinstance(known[name], str) else parse_yaml(name, text)
        check(name, values[name], known[name], bounds)
    return values
