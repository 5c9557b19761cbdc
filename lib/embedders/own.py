"""The door for a user's own embedder, read from a folder or taken from code.

It can be used wherever one of the registry's can. Taking it from code runs that code,
with all the rights of this program: give only what you would run yourself.
"""

from __future__ import annotations

import copy
import os
import re
from inspect import isfunction
from pathlib import Path
from types import FunctionType
from typing import Any

from lib.base import keys, paths
from lib.base.errors import InputError
from lib.base.parameters import OWN_NAME
from lib.embedders import form_of, hub, kinds, parse
from lib.embedders.base import Embedder
from lib.embedders.foreign import ForeignEmbedder, from_code
from lib.embedders.own_code import WAYS
from lib.embedders.registry import ENTRIES, CatalogEntry

FAMILY = "your own"
DIFFERENT = (
    "so neighbors cannot be ranked; give an embedder whose vectors differ in direction"
)


def load(
    spec: str | Path | Any, name: str = "", pooling: str = "", prompt: str = ""
) -> Embedder:
    """The embedder that `spec` names, under a name that figures can show.

    Parameters
    ----------
    spec : str, Path, callable or object
        One of

        - the folder of a model, or its id on the model hub (`lib.embedders.hub.load`);
        - ``path/to/file.py:function``: a function from a list of sentences to an array
          of shape (sentences, dimensions); or a class, which is made without arguments,
          or an object with such an ``encode``. An edited file counts at once, and so
          does an edited module that it imports (`own_code.load`);
        - ``module:function``, the same in a module that Python finds;
        - such a function or object itself, or an Embedder.

        A relative path counts from the project's folder.
    name : str
        What to call it. `lib.store` then keeps its vectors, under this name and a
        digest of the model's files, of the code (if `own_code` sees all that it depends
        on) or of the function; an object's vectors are kept under this name alone:
        choose another one when they change. If empty, the name is taken from `spec`,
        and nothing is kept, unless it is an Embedder.
    pooling, prompt : str
        For a model in a folder or on the hub.

    Raises
    ------
    InputError
        Nothing is there, the model cannot be read, the code fails, or the registry has
        an embedder of that name.
    """
    embedder = as_embedder(spec, name, "", pooling, prompt)
    if embedder is not spec:
        check_name(embedder.name)
        embedder.is_vouched_for = False
    return embedder


def check_name(name: str) -> None:
    """Raise InputError if `name` cannot be shown or belongs to the registry."""
    if not re.fullmatch(OWN_NAME, name):
        raise InputError(
            f"name: {name!r} is not accepted; "
            "give 1 to 40 letters, digits, '.', '_' or '-'"
        )
    try:
        parse("name", name)
    except InputError:
        return
    raise InputError(
        f"name: {name!r} is already in the registry; give your embedder another name"
    )


def as_embedder(
    given: str | Path | Any,
    name: str = "",
    label: str = "",
    pooling: str = "",
    prompt: str = "",
) -> Embedder:
    """What a user gives, as an Embedder.

    As for `load`, but any `name` is accepted. What has neither that nor one of its own
    is called `label`.
    """
    if isinstance(given, str | Path):
        return _named(str(given), name, pooling, prompt)
    if isinstance(given, Embedder):
        if not name:
            return given
        renamed = copy.copy(given)
        renamed.name = name
        return renamed
    made_of = _of_function(given) if isfunction(given) else ""
    label = label or _shown(getattr(given, "__name__", type(given).__name__))
    label = name or getattr(given, "name", label)
    return ForeignEmbedder(given, label, made_of, is_stored=bool(name))


def _shown(name: str) -> str:
    """A name of which only what figures can show is left."""
    return re.sub(r"[^\w.-]", "_", name)[:40]


def _of_function(function: FunctionType) -> str:
    """What a function is, or at least its code."""
    try:
        return keys.of_function("embedder", function)
    except InputError:  # it depends on more, a model, say
        return keys.of_code(function)


def _named(spec: str, name: str, pooling: str, prompt: str) -> Embedder:
    """A model in a folder or on the hub, or code in a file or module."""
    is_folder = spec and os.path.isdir(paths.from_root(spec))
    base, at, suffix = spec.rpartition("@")
    is_form = at and not re.search("[/:]", suffix) and not is_folder
    if is_form and not hub.is_revision(base, suffix):
        maker, numbers = form_of("embedder", spec, suffix)
        full = _named(base, name, pooling, prompt)
        shrunk = maker(full, *numbers)
        shrunk.name = full.name
        return shrunk
    if not is_folder and re.fullmatch(".+:[^:]+", spec):
        embedder = from_code(spec, name or _shown(Path(spec.rpartition(":")[0]).stem))
    elif is_folder or re.fullmatch(f"{hub.ID}(@{hub.REVISION})?", spec):
        given = {"pooling": pooling, "prompt": prompt}
        given = {option: value for option, value in given.items() if value}
        entry = ENTRIES.get(spec) or hub.entry(spec)
        embedder = entry.make(spec, **given)
        embedder.name = name or _shown(Path(spec).name)
    elif re.split("[+@]", spec)[0] in ENTRIES:
        raise InputError(
            f"embedder: {spec!r} is in the registry; "
            f"in Python, pass embedders.load({spec!r})"
        )
    else:
        raise InputError(
            f"embedder: {spec!r} is neither a folder nor a model hub id; give {WAYS}"
        )
    embedder.is_stored = bool(name)
    return embedder


# -- among the registry's --------------------------------------------------------------


class OwnEntry(CatalogEntry):
    """A row of the catalog, of a user's own embedder."""

    @property
    def missing(self) -> str:
        """Empty; InputError for code that cannot be run."""
        from_code(self.name)
        return ""


def entry(name: str) -> OwnEntry:
    """The row of a function or object that is named by its file or module."""
    kind = kinds.unknown(name)
    return OwnEntry(
        from_code, name, FAMILY, None, "your own code", (), kind, "your own"
    )
