"""A user's own code: read from its file or module, with what its vectors depend on.

They depend on its file, on the modules that it imports and on the versions of installed
packages. Code may depend on more: on files that it opens, on other computers. It then
states a ``VERSION``, or its vectors are not kept.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module, invalidate_caches, util
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

from lib.base import files, keys, paths, progress
from lib.base.errors import InputError
from lib.embedders.checkpoints import as_input_error

WAYS = (
    "a model's folder, its id on the model hub (intfloat/e5-small-v2), "
    "path/to/file.py:function, or module:function"
)
MEND = "fix it, or give another embedder"
VERSION = "VERSION"  # what a user's module calls its version
PROBE = ["A sentence."]
# Python opens the files that these read, so that it can be seen.
SEEN = {"gensim", "lib", "nltk", "numpy", "pandas", "regex", "scipy", "sklearn", "tqdm"}
# With these, code reaches what its text does not name.
UNNAMED = {
    **dict.fromkeys(["environ", "getenv"], "reads the environment"),
    **dict.fromkeys(["__import__", "import_module"], "imports modules by other names"),
    **dict.fromkeys(["read_feather", "read_hdf", "read_parquet"], "reads a file"),
}
CONNECTS, STARTS = "connects to another computer", "starts another process"
# What Python reports, and what it means. The first argument of "opens" is a file.
EVENTS = {
    "ctypes.dlopen": "opens",
    "open": "opens",
    "os.exec": STARTS,
    "os.fork": STARTS,
    "os.forkpty": STARTS,
    "os.posix_spawn": STARTS,
    "os.system": STARTS,
    "socket.connect": CONNECTS,
    "socket.getaddrinfo": CONNECTS,
    "sqlite3.connect": "opens",
    "subprocess.Popen": STARTS,
}
OF_IMPORT = ("<frozen importlib", "<frozen zipimport")
LIBRARY = str(Path(keys.__file__).parents[1])
WRITTEN = os.O_WRONLY | os.O_TRUNC | os.O_EXCL
OF_SYSTEM = ("/dev/", "/etc/", "/lib/", "/proc/", "/sys/", "/usr/lib/", "/usr/share/")


class OwnCode(NamedTuple):
    """What ``place:attribute`` stands for.

    Attributes
    ----------
    thing : callable or object
    made_of : str
        Changes when its file changes, or a module that it imports.
    is_kept : bool
        Whether its vectors depend on nothing else, so that they may be kept.
    opened : dict of str to tuple or None
        The files that it has opened, with their sizes and times of change.
    """

    thing: Any
    made_of: str
    is_kept: bool
    opened: dict[str, tuple[int, int] | None]


_loaded: dict[str, OwnCode] = {}


def load(spec: str) -> OwnCode:
    """What ``path/to/file.py:attribute`` or ``module:attribute`` stands for.

    The code runs once, and again when its file, a module that it imports or a file that
    it has opened has changed. A class is called without arguments. One sentence is
    encoded, which shows what the code opens then.

    Raises InputError for code that is not there, or that fails.
    """
    place, _, attribute = spec.rpartition(":")
    with as_input_error(f"embedder: {spec}", MEND):
        name, file = _found(place)
        sources = _sources(name, file)
        known = _loaded.get(spec)
        is_same = known and known.made_of.startswith(sources.digest)
        if known and is_same and known.opened == _states(known.opened):
            return known
        _forget(known.opened if known else ())
        with _watched(sources) as seen:
            module = _run(name, file, sources)
            thing = getattr(module, attribute)
            thing = thing() if isinstance(thing, type) else thing
            with suppress(Exception):  # whoever encodes a text will hear of it
                getattr(thing, "encode", thing)(list(PROBE))
        sources = _sources(name, file)  # it may have added to Python's path
    for known_file in map(str, sources.files.values()):
        seen.pop(f"opens {known_file}", None)
    reasons = [*seen, *sources.reasons]
    version = getattr(module, VERSION, None)
    if reasons and version is None:
        progress.say(
            f"{spec} {reasons[0]}, so its vectors are not kept; to keep them, state "
            f"{VERSION} = 1 in it, and another number when they change"
        )
    is_known = version is not None or not reasons
    is_kept = is_known and not os.environ.get(paths.FORCE_VARIABLE)
    opened = _states(filter(None, seen.values()))
    _tell(sources.files.values() if is_known else [""])
    made_of = f"{sources.digest} {version!r}" + (f" {opened}" if not is_known else "")
    _loaded[spec] = OwnCode(thing, made_of, is_kept, opened)
    return _loaded[spec]


def _tell(files: Iterable[str | Path]) -> None:
    """Add files to the list of the notebook that runs; "" stands for what is unseen."""
    if place := os.environ.get(paths.CODE_VARIABLE):
        with open(place, "a", encoding="utf-8") as lines:
            print(json.dumps(_states(map(str, files))), file=lines)


def _states(files: Iterable[str]) -> dict[str, tuple[int, int] | None]:
    """The size and the time of change of each file; None if it is not there."""
    states: dict[str, tuple[int, int] | None] = {}
    for file in files:
        states[file] = None
        with suppress(OSError):
            status = os.stat(file)
            states[file] = status.st_size, status.st_mtime_ns
    return states


# -- where it is -----------------------------------------------------------------------

_folders: list[str] = []  # of users' files, at the end of Python's path


def _found(place: str) -> tuple[str, Path | None]:
    """The name of a module and, unless Python must find it, its file."""
    invalidate_caches()  # a file may be new
    if not place.endswith(".py"):
        return place, None
    file = paths.from_root(place)
    if not file.is_file():
        raise InputError(f"embedder: {file}: no such file; give {WAYS}")
    folder = str(file.parent)
    # As from a script, modules beside the file can be imported. Installed ones come
    # first, so that a file called torch.py does not take PyTorch's place.
    if folder in _folders or folder not in sys.path:
        _folders[:] = [folder, *(other for other in _folders if other != folder)]
        sys.path[:] = [path for path in sys.path if path not in _folders] + _folders
    is_free = getattr(sys.modules.get(file.stem), "__file__", None) in (None, str(file))
    is_free &= file.stem not in sys.builtin_module_names
    found = [spec.origin for name, spec in _specs(file.stem) if name == file.stem]
    if is_free and found == [str(file)]:
        return file.stem, file
    digest = hashlib.blake2b(os.fsencode(file), digest_size=4).hexdigest()
    return re.sub(r"\W", "_", f"{file.stem}_{digest}"), file


def _specs(name: str) -> Iterator[tuple[str, ModuleSpec]]:
    """Where Python finds a module and the packages around it, the outermost first."""
    places = None
    parts = name.split(".")
    for end, part in enumerate(parts, 1):
        full = ".".join(parts[:end])
        # By its full name, a namespace would be looked for in an imported parent.
        finders = sys.meta_path if places is None else [PathFinder]
        found = (finder.find_spec(part, places) for finder in finders)
        spec = next(filter(None, found), None)
        if spec is None:
            return
        yield full, spec
        places = spec.submodule_search_locations
        if places is None:
            return


# -- what it is made of ----------------------------------------------------------------


class _Sources(NamedTuple):
    """What code consists of.

    Attributes
    ----------
    files : dict of str to Path
        The modules that are not installed.
    reasons : list of str
        Why its vectors may depend on more.
    digest : str
    """

    files: dict[str, Path]
    reasons: list[str]
    digest: str


def _sources(name: str, file: Path | None) -> _Sources:
    """A module that is not installed with those that it imports, directly or not."""
    modules: dict[str, Path] = {}
    packages: set[str] = set()
    reasons: dict[str, None] = {}
    waiting = [(name, file, "")] if file else list(_own(name, packages))
    while waiting:
        name, file, package = waiting.pop()
        if name not in modules:
            modules[name] = file
            if file.suffix != ".py":
                reasons[f"imports {file.name}, which may read files"] = None
            for imported in _imports(file, package, reasons):
                waiting += _own(imported, packages)
    versions = {name: keys.version_of(name) for name in sorted(packages)}
    for name, version in versions.items():
        if "of Python" not in str(version) and name not in SEEN:
            reasons[f"imports {name}, which may read files"] = None
    contents = {name: files.sha256(file) for name, file in sorted(modules.items())}
    if "lib" in packages:
        library = sorted(Path(LIBRARY).rglob("*.py"))
        contents |= {str(file): files.sha256(file) for file in library}
    digest = hashlib.blake2b(f"{contents} {versions}".encode(), digest_size=16)
    return _Sources(modules, list(reasons), digest.hexdigest())


def _own(name: str, packages: set[str]) -> Iterator[tuple[str, Path, str]]:
    """Modules that are not installed: name, file, and the package that they are in.

    An installed one is added to `packages`.
    """
    for full, spec in _specs(name):
        file = spec.origin if spec.has_location else None
        if full == "lib" or spec.origin in ("built-in", "frozen"):
            packages.add(full)
            return
        if file and keys.is_installed(file):
            packages.add(full)
            return
        if file:
            is_package = spec.submodule_search_locations is not None
            package = full if is_package else full.rpartition(".")[0]
            yield full, Path(file), package


def _imports(file: Path, package: str, reasons: dict[str, None]) -> Iterator[str]:
    """The names that a file imports; what else it reaches is added to `reasons`."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError):  # it will fail when it runs, or is compiled
        return
    for node in nodes:
        named = {getattr(node, kind, None) for kind in ("id", "attr", "name")}
        reasons.update({UNNAMED[name]: None for name in UNNAMED.keys() & named})
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                with suppress(ImportError):
                    base = util.resolve_name("." * node.level + base, package)
            yield from (f"{base}.{alias.name}" for alias in node.names)


# -- running it ------------------------------------------------------------------------

_imported: dict[str, tuple[Path, str]] = {}


def _run(name: str, file: Path | None, sources: _Sources) -> ModuleType:
    """The module, with the modules that it imports, as all of them are now.

    It is known to Python by its name, as one that is imported. Stored bytecode may be
    older than an edit, so none is written.
    """
    states = {
        module: (source, files.sha256(source))
        for module, source in sources.files.items()
    }
    if not states.items() <= _imported.items():
        for module in states:
            sys.modules.pop(module, None)
    module = import_module(name) if file is None else _executed(name, file)
    _imported.update(states)
    return module


def _forget(opened: Collection[str | None]) -> None:
    """Have Python import anew what it has from these files."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__file__", None) in opened:
            del sys.modules[name]


def _executed(name: str, file: Path) -> ModuleType:
    spec: Any = util.spec_from_file_location(name, file)
    module = util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        exec(compile(file.read_bytes(), str(file), "exec"), vars(module))
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, SystemExit):
            raise InputError(
                f"embedder: {file}: exits when it is imported (SystemExit: "
                f"{error}); put what runs as a command below "
                "`if __name__ == '__main__':`"
            ) from error
        raise
    return module


# -- what it opens ---------------------------------------------------------------------


class _Watch(NamedTuple):
    files: set[str]  # of the code
    seen: dict[str, str]
    others: set[int]  # threads that do not run it


_watch: list[_Watch] = []  # at most one
_hooks: list[Any] = []  # Python keeps a hook as long as it runs


@contextmanager
def _watched(sources: _Sources) -> Iterator[dict[str, str]]:
    """What code does that its text does not tell, in words, each with its file."""
    if not _hooks:
        sys.addaudithook(_note)
        _hooks.append(_note)
    others = set(sys._current_frames()) - {threading.get_ident()}
    watch = _Watch(set(map(str, sources.files.values())), {}, others)
    _watch.append(watch)
    # Python takes stored bytecode for an edited file of the same second and size.
    without_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield watch.seen
    finally:
        sys.dont_write_bytecode = without_bytecode
        _watch.clear()


def _note(event: str, arguments: tuple) -> None:
    if not _watch or event not in EVENTS:
        return
    files, seen, others = _watch[0]
    if threading.get_ident() in others:
        return
    said, file = EVENTS[event], ""
    frame = sys._getframe(1)
    if said == "opens":
        file = _read(*arguments)
        if not file or file in files:
            return
        said = f"opens {file}"
        if frame.f_code.co_filename.startswith(OF_IMPORT):  # as a module
            frame = None
    if not _is_import(frame, files):
        seen[said] = file


def _read(name: Any, _: Any = None, flags: int = 0, *__: Any) -> str:
    """The file that is opened to be read; empty for Python's and the system's own."""
    if not isinstance(name, str | bytes | os.PathLike) or flags & WRITTEN:
        return ""
    file = os.path.abspath(os.fsdecode(name))
    with suppress(ValueError):  # it is no stored bytecode
        file = util.source_from_cache(file)
    is_own = file.startswith(OF_SYSTEM) or keys.is_installed(file)
    is_own |= file.endswith(".py") and file.startswith(LIBRARY)
    return "" if is_own or not os.path.exists(file) else file


def _is_import(frame: FrameType | None, files: set[str]) -> bool:
    """Whether an installed package is being imported, and not the code that runs."""
    while frame:
        if frame.f_code.co_filename in files:
            return False
        if frame.f_code.co_filename.startswith(OF_IMPORT):
            return True
        frame = frame.f_back
    return False
