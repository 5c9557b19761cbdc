"""A user's own embedder, read from a folder or taken from code, to be used wherever one of the registry's is.

Taking it from code runs that code, with all the rights of this program: give only what you would run yourself.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from lib.embedders import hub
from lib.embedders.checked import Checked, as_input_error
from lib.embedders.names import parse
from lib.embedders.registry import ENTRIES
from lib.run import files, paths
from lib.run.errors import InputError
from lib.run.parameters import shown

WAYS = "a model's folder, its id on the model hub (intfloat/e5-small-v2), path/to/file.py:function, or module:function"
NAME = re.compile(r"(?!\.\.?$)[\w.-]{1,40}")  # also the name of a folder, and neither this nor the one above


def load(spec: str | Path | Any, name: str = "", pooling: str = "", prompt: str = "") -> Checked:
    """The embedder that `spec` says, with a check of all that it returns (`lib.embedders.checked`).

    Parameters
    ----------
    spec : str, Path, callable or object
        One of

        - the folder of a model, or its id on the model hub (`lib.embedders.hub.load`);
        - ``path/to/file.py:function``: a function from a list of sentences to an array of shape (sentences,
          dimensions); or a class, which is made without arguments, or an object with such an ``encode``. The file is
          run anew by each `load`, so that an edited one counts; what it imports is not;
        - ``module:function``, the same in a module that Python finds;
        - such a function or object itself.

        A relative path counts from the project's folder.
    name : str
        What to call it. Then `lib.store` may keep its vectors, under this name and a digest of the model's files, or of
        the file with the function (not of what that imports: choose another name when it changes). Empty: it is called
        after `spec`, and nothing is kept.
    pooling, prompt : str
        Of a model in a folder or on the hub.

    Raises
    ------
    InputError
        Nothing there, a model that cannot be read, code that fails, or a name that is one of the registry's.
    """
    inner, label, made_of = _find(spec, pooling, prompt)
    label = name or re.sub(r"[^\w.-]", "_", label)[:40]
    check_name(label)
    digest = hashlib.blake2b(made_of.encode(), digest_size=8).hexdigest()
    return Checked(inner, label, f"{name}-{digest}" if name else None)


def check_name(name: str) -> None:
    """Raise InputError if `name` cannot be shown or belongs to an embedder of the registry."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InputError(f"name: {shown(name)} is not accepted; give 1 to 40 letters, digits, '.', '_' or '-'")
    try:
        parse("name", name)
    except InputError:
        return
    raise InputError(f"name: {name!r} is one of the registry's embedders; give your own another name")


def _find(spec: str | Path | Any, pooling: str, prompt: str) -> tuple[Any, str, str]:
    """The thing itself, what to call it, and what it is made of."""
    spec = str(spec) if isinstance(spec, Path) else spec
    if not isinstance(spec, str):
        return spec, getattr(spec, "__name__", type(spec).__name__), ""
    place, _, attribute = spec.rpartition(":")
    if not (place and attribute):
        is_folder = spec and os.path.isdir(paths.from_root(spec))
        if not is_folder and not re.fullmatch(hub.ID, spec):
            raise InputError(f"embedder: {spec!r} is no folder; give {WAYS}")
        given = {"pooling": pooling, "prompt": prompt}
        entry = ENTRIES.get(spec) or hub.entry(spec)
        embedder = entry.make(spec, **{key: value for key, value in given.items() if value})
        return embedder, Path(spec).name, json.dumps(embedder.settings, sort_keys=True)
    return _in_code(spec, place, attribute)


# -- from code ----------------------------------------------------------------------------------


def _in_code(spec: str, place: str, attribute: str) -> tuple[Any, str, str]:
    with as_input_error(f"embedder: {spec}"):
        module = _run(paths.from_root(place)) if place.endswith(".py") else import_module(place)
        thing = getattr(module, attribute)
        thing = thing() if isinstance(thing, type) else thing
    file = Path(getattr(module, "__file__", None) or "")
    return thing, Path(place).stem, f"{spec} {files.sha256(file)}" if file.is_file() else spec


def _run(file: Path) -> ModuleType:
    """A module made of a file as it is now: stored bytecode may outlive an edit, and is neither read nor left.

    As for a program that is started, what lies beside the file can be imported.
    """
    if not file.is_file():
        raise InputError(f"embedder: {file}: no such file; give {WAYS}")
    module = ModuleType(file.stem)
    module.__file__ = str(file)
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    exec(compile(file.read_bytes(), file, "exec"), vars(module))
    return module
