"""A user's own embedder, read from a folder or taken from code, to be used wherever one of the registry's is.

Taking it from code runs that code, with all the rights of this program: give only what you would run yourself.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from lib.embedders.checked import Checked, told
from lib.embedders.registry import parse
from lib.embedders.transformer import POOLINGS
from lib.run import files, paths
from lib.run.errors import InputError
from lib.run.parameters import nearest, one_of, shown

WAYS = "the folder of a model (with config.json), path/to/file.py:function, or module:function"
NAME = re.compile(r"(?!\.\.?$)[\w.-]{1,40}")  # also the name of a folder, and neither this nor the one above


def load(spec: str | Path | Any, name: str = "", pooling: str = "avg") -> Checked:
    """The embedder that `spec` says, with a check of all that it returns (`lib.embedders.checked`).

    Parameters
    ----------
    spec : one of

        - the folder of a transformer (config.json, safetensors, a tokenizer), pooled as `pooling` says; or of a
          SentenceTransformer (modules.json), which says itself how it pools. Nothing is fetched;
        - ``path/to/file.py:function``: a function from a list of sentences to an array of shape (sentences,
          dimensions); or a class, which is made without arguments, or an object with such an ``encode``. The file is
          run anew by each `load`, so that an edited one counts; what it imports is not;
        - ``module:function``, the same in a module that Python finds;
        - such a function or object itself.

        A relative path counts from the project's folder.
    name : str, what to call it. Then `lib.store` may keep its vectors, under this name and a digest of the model's
        files, or of the file with the function (not of what that imports: choose another name when it changes).
        Empty: it is called after `spec`, and nothing is kept
    pooling : "avg", "cls" or "last", of a transformer's folder

    Raises
    ------
    InputError
        Nothing there, a model that cannot be read, code that fails, or a name that is one of the registry's.
    """
    one_of("pooling", pooling, POOLINGS)
    inner, label, made_of = _find(spec, pooling)
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


def _find(spec: str | Path | Any, pooling: str) -> tuple[Any, str, str]:
    """The thing itself, what to call it, and what it is made of."""
    spec = str(spec) if isinstance(spec, Path) else spec
    if not isinstance(spec, str):
        return spec, getattr(spec, "__name__", type(spec).__name__), ""
    folder = paths.from_root(spec)
    if spec and os.path.isdir(folder):  # unlike Path.is_dir, also of a name too long to be one
        folder = folder.resolve()
        read = _sentence_transformer(folder) if (folder / "modules.json").is_file() else _transformer(folder, pooling)
        return read[0], folder.name, read[1]
    place, _, attribute = spec.rpartition(":")
    if not (place and attribute):
        raise InputError(f"embedder: {spec!r} is no folder; give {WAYS}")
    return _in_code(spec, place, attribute)


# -- from a folder ------------------------------------------------------------------------------


def _transformer(folder: Path, pooling: str) -> tuple[Any, str]:
    from lib.embedders.transformer import Transformer

    embedder = Transformer(folder.name, folder, pooling, poolings=(pooling,))
    return embedder, json.dumps(embedder.settings, sort_keys=True)


def _sentence_transformer(folder: Path) -> tuple[Any, str]:
    from lib.embedders import transformer_files

    for file in sorted(folder.rglob(transformer_files.CONFIG)):
        transformer_files.check_layers(file.parent, files.read_json(file))
    with told(f"{folder}: reading it as a SentenceTransformer"):
        from sentence_transformers import SentenceTransformer

        with transformer_files.quiet():
            model = SentenceTransformer(str(folder), local_files_only=True, trust_remote_code=False)
    parts = [f"{file.relative_to(folder)} {files.sha256(file)}" for file in sorted(folder.rglob("*")) if file.is_file()]
    parts += [version(library) for library in ("sentence-transformers", "transformers", "torch")]
    return partial(model.encode, show_progress_bar=False), "\n".join(parts)


# -- from code ----------------------------------------------------------------------------------


def _in_code(spec: str, place: str, attribute: str) -> tuple[Any, str, str]:
    module = _run(paths.from_root(place)) if place.endswith(".py") else _imported(place)
    with told(f"embedder: {place}"):  # a module may answer this itself
        found = hasattr(module, attribute)
    if not found:
        public = [name for name in vars(module) if not name.startswith("_")]
        raise InputError(f"embedder: {place} has no {attribute!r}; {nearest(attribute, public)}")
    thing = getattr(module, attribute)
    if isinstance(thing, type):
        with told(f"embedder: {spec}()"):
            thing = thing()
    file = Path(getattr(module, "__file__", None) or "")
    return thing, Path(place).stem, f"{spec} {files.sha256(file)}" if file.is_file() else spec


def _run(file: Path) -> ModuleType:
    """A module made of a file as it is now: stored bytecode may outlive an edit, and is neither read nor left.

    As for a program that is started, what lies beside the file can be imported.
    """
    if not os.path.isfile(file):
        raise InputError(f"embedder: {file}: no such file; give {WAYS}")
    module = ModuleType(file.stem)
    module.__file__ = str(file)
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    with told(f"embedder: running {file}"):
        exec(compile(file.read_bytes(), file, "exec"), vars(module))
    return module


def _imported(module: str) -> ModuleType:
    with told(f"embedder: importing {module}"):
        return import_module(module)
