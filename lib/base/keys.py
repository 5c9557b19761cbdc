"""What a function is, as part of a key: its code and all that its code names."""

from __future__ import annotations

import builtins
import copyreg
import dis
import hashlib
import platform
import site
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from functools import _lru_cache_wrapper, cache, cached_property
from importlib import import_module
from importlib.metadata import packages_distributions, version
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any

from lib.base.errors import InputError, one_line

PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes)
# With these a function reaches what its code does not name: those of Python itself,
UNSEEN = {"__import__", "compile", "eval", "exec", "globals", "input"}
# and those of any module or object.
READS = {
    "environ",
    "getenv",
    "import_module",
    "open",
    "read_bytes",
    "read_csv",
    "read_text",
    "urlopen",
}
OF_CODE = (
    "co_code",
    "co_exceptiontable",
    "co_flags",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
)
# Attributes of a class that say nothing of what it does.
OF_EVERY_CLASS = {
    "__abstractmethods__",
    "__annotations__",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__module__",
    "__orig_bases__",
    "__parameters__",
    "__static_attributes__",
    "__weakref__",
    "_abc_impl",
}


def of_function(parameter: str, function: Callable) -> str:
    """What a function is, in words that change when its results may.

    A function of `lib` is its name; one of an installed package or of Python is its
    name and the version. Any other is a digest of its code, constants, defaults and
    closure, and of every global that it names, each in the same way.

    Raises InputError, naming the `parameter`, for a function that depends on what
    cannot be read: an open file, a lock, the text that `eval` is given.
    """
    if name := _installed(function):
        return name
    try:
        digests = _Digests()
        digest = digests.of(function).hex()
        digests.check(getattr(function, "__name__", ""))
        return f"{_name(function)} {digest}"
    except Exception as error:  # somebody else's objects can raise anything
        raise InputError(
            f"{parameter}: {_name(function)} cannot be told from other functions "
            f"({one_line(error)}); give one that depends only on plain values"
        ) from error


def of_code(function: FunctionType) -> str:
    """A digest of a function's code alone, whatever else it depends on."""
    return _Digests().of(function.__code__).hex()


def _name(thing: Any) -> str:
    name = getattr(thing, "__qualname__", type(thing).__qualname__)
    return f"{getattr(thing, '__module__', None) or 'builtins'}.{name}"


# -- installed packages ----------------------------------------------------------------


@cache
def environment() -> tuple[Path, ...]:
    """The folders of Python and of installed packages."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [sysconfig.get_path(name) for name in names]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    return tuple(Path(folder).resolve() for folder in folders)


def is_installed(file: str | Path) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    resolved = Path(file).resolve()
    return any(resolved.is_relative_to(folder) for folder in environment())


@cache
def version_of(module: str) -> str | None:
    """The version of the package that a module is from, empty for `lib`.

    None for a module that is not installed.
    """
    top = module.partition(".")[0]
    if top == "lib":
        return ""
    file = getattr(sys.modules.get(top), "__file__", None)
    if file and not is_installed(file):
        return None
    if top in sys.stdlib_module_names:
        return f" of Python {platform.python_version()}"
    packages = packages_distributions().get(top)
    if not packages:
        return None
    return "".join(f" of {package} {version(package)}" for package in packages)


def _installed(thing: Any) -> str:
    """The name and version of what an installed package defines; empty for the rest.

    A copy of such a name, as `functools.wraps` makes, does not count.
    """
    owner = getattr(thing, "__objclass__", None) or type(thing)
    module = getattr(thing, "__module__", None) or owner.__module__
    qualname = getattr(thing, "__qualname__", "")
    if not isinstance(module, str) or (of := version_of(module)) is None:
        return ""
    found = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return f"{module}.{qualname}{of}" if found is thing else ""


# -- digests ---------------------------------------------------------------------------


class _Digests:
    """Digests of values, each by what it consists of."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, frozenset], bytes] = {}
        self._open: dict[tuple[int, frozenset], int] = {}
        self._kept: list[Any] = []  # so that no other value gets the same id
        self._named: set[str] = set()
        self._reading: dict[str, str] = {}  # by the name that calls a method

    def of(self, value: Any, names: frozenset[str] = frozenset()) -> bytes:
        """16 bytes; of a module only the attributes with these names count, if any."""
        key = id(value), names if isinstance(value, ModuleType) else frozenset()
        if key in self._open:
            return b"%d levels up" % (len(self._open) - self._open[key])
        if key not in self._known:
            self._kept.append(value)
            self._open[key] = len(self._open)
            total = hashlib.blake2b(digest_size=16)
            for part in self._parts(value, names):
                data = part if isinstance(part, bytes) else self._encoded(part)
                total.update(b"%d " % len(data) + data)
            del self._open[key]
            self._known[key] = total.digest()
        return self._known[key]

    def check(self, called: str) -> None:
        """Raise ValueError if a method that may be called reads something.

        An object has been made already: what its class reads to make one, or in a
        method that nothing names, does not count.
        """
        for name, used in self._reading.items():
            if name in {called, *self._named} or name.startswith("__"):
                raise ValueError(f"it uses {used}")

    def _encoded(self, part: Any) -> bytes:
        if type(part) in PLAIN:
            return f"{type(part).__name__} {part!r}".encode(errors="backslashreplace")
        return self.of(part)

    def _parts(self, value: Any, names: frozenset[str]) -> Iterable[Any]:
        kind = type(value)
        if kind in PLAIN:
            return [value]
        if kind in (set, frozenset):
            return [kind.__name__, *sorted(map(self._encoded, value))]
        if kind in (list, tuple):
            return [kind.__name__, *value]
        if kind in (dict, MappingProxyType):
            return ["dict", *(part for item in value.items() for part in item)]
        if hasattr(kind, "detach") or kind.__name__ == "ndarray":
            return self._of_array(value)
        if isinstance(value, ModuleType):
            return self._of_module(value, names)
        if name := _installed(value):
            return [name]
        if kind.__name__ == "CPUDispatcher":  # what Numba compiles
            return [kind.__name__, value.py_func, value.targetoptions]
        if isinstance(fingerprint := getattr(value, "fingerprint", None), str):
            return [fingerprint]
        if kind is CodeType:
            return [*(getattr(value, part) for part in OF_CODE), *value.co_consts]
        if kind is FunctionType:
            return self._of_function(value)
        if kind is MethodType:
            self._named.add(value.__name__)
            return ["method", value.__self__, value.__func__]
        if kind is BuiltinFunctionType:
            return [value.__qualname__, value.__self__]
        if isinstance(value, type):
            return self._of_class(value)
        if isinstance(value, property):
            return ["property", value.fget, value.fset]
        if kind in (staticmethod, classmethod, _lru_cache_wrapper):
            return [kind.__name__, value.__wrapped__]
        if kind is cached_property:
            return [kind.__name__, value.func]
        return self._reduced(value)

    def _of_array(self, value: Any) -> Iterable[Any]:
        """The parts of an array or a tensor, whose pickle names its place in memory."""
        if hasattr(value, "detach"):
            array = value.detach().cpu().flatten().view(sys.modules["torch"].uint8)
            return [str(value.dtype), *value.shape, array.numpy().tobytes()]
        if value.dtype.hasobject:
            return self._reduced(value)
        return [str(value.dtype), *value.shape, value.tobytes()]

    def _of_module(self, module: ModuleType, names: frozenset[str]) -> Iterator[Any]:
        of = version_of(module.__name__)
        yield f"{module.__name__}{of or ''}"
        if of is None:
            public = {name for name in vars(module) if not name.startswith("__")}
            for name in sorted(names & vars(module).keys() if names else public):
                yield name
                yield self.of(vars(module)[name], names)

    def _of_function(self, function: FunctionType) -> Iterator[Any]:
        names = frozenset(_names(function.__code__, or_texts=True))
        yield function.__code__
        yield function.__defaults__
        yield function.__kwdefaults__
        yield vars(function)
        for cell in function.__closure__ or ():
            yield self.of(cell.cell_contents, names)
        used = READS & {*_names(function.__code__)}
        for name, is_import in sorted(set(_reached(function.__code__))):
            yield name
            if is_import:
                yield self.of(import_module(name), names)
            elif name in function.__globals__:
                found = function.__globals__[name]
                yield self.of(found, names)
                used |= {getattr(found, "__name__", name)} & READS
            elif hasattr(builtins, name):
                used |= {name} & UNSEEN
        if used:
            self._note_reading(function, min(used))
        else:
            self._named |= names

    def _note_reading(self, function: FunctionType, used: str) -> None:
        owner, _, name = function.__qualname__.rpartition(".")
        if not owner or owner.endswith("<locals>"):
            raise ValueError(f"it uses {used}")
        is_making = name in ("__init__", "__new__", "__post_init__")
        self._reading[owner.rpartition(".")[2] if is_making else name] = used

    def _of_class(self, kind: type) -> Iterator[Any]:
        yield kind.__qualname__
        yield type(kind)
        yield from kind.__bases__
        for name, member in sorted(vars(kind).items()):
            if name not in OF_EVERY_CLASS:
                yield name
                yield member

    def _reduced(self, value: Any) -> Iterator[Any]:
        """The parts from which `pickle` would make an object again."""
        reduce = copyreg.dispatch_table.get(type(value))
        parts = reduce(value) if reduce else value.__reduce_ex__(4)
        if not isinstance(parts, str):
            for part in parts:
                yield list(part) if isinstance(part, Iterator) else part
            return
        module = type(value).__module__  # of a ufunc, say, which has only a name
        if getattr(sys.modules[module], parts, None) is not value:
            raise TypeError(f"its {_name(value)} has no readable state")
        yield f"{module}.{parts}{version_of(module)}"


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(code: CodeType, or_texts: bool = False) -> Iterator[str]:
    """The names in some code; text may be one, as in ``getattr(module, "name")``."""
    for part in _codes(code):
        yield from part.co_names
        if or_texts:
            yield from (text for text in part.co_consts if isinstance(text, str))


def _reached(code: CodeType) -> Iterator[tuple[str, bool]]:
    """The globals that some code names, and the modules that it imports."""
    for part in _codes(code):
        for step in dis.get_instructions(part):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME"):
                yield step.argval, step.opname == "IMPORT_NAME"
