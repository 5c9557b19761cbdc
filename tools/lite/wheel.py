"""The wheel that the site's kernel installs: `lib`, its lesson and stored vectors."""

from __future__ import annotations

import ast
import io
import tomllib
import zipfile
from pathlib import Path

import numpy as np

from lib import embedders
from lib.base import parameters, paths
from lib.embedders.registry import SPARSE
from tools.lite import stored

LESSON = paths.NOTEBOOKS / "00_start_here.ipynb"
PROJECT = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]
NAME = PROJECT["name"].replace("-", "_")
FILE = f"{NAME}-{PROJECT['version']}-py3-none-any.whl"
METADATA = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {PROJECT['version']}\n"
TAGS = "Wheel-Version: 1.0\nGenerator: lite\nRoot-Is-Purelib: true\n"
TAGS += "Tag: py3-none-any\n"
KEPT = (".py", ".csv", ".toml")  # of lib


def write(folder: Path) -> Path:
    """Write the wheel into a folder.

    Beside `lib` lie the notebook, whose parameters are checked against it, and the file
    by which `lib.base.paths` knows a checkout. Its dependencies are not declared: those
    that Pyodide has are loaded by name, and the others are not needed.
    """
    wheel = folder / FILE
    about = f"{NAME}-{PROJECT['version']}.dist-info"
    sources = [file for file in paths.ROOT.glob("lib/**/*") if file.suffix in KEPT]
    sources += [Path(stored.__file__), Path(__file__).with_name("__init__.py")]
    registry = Path(embedders.__file__)
    sources.remove(registry)
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted([*sources, LESSON, paths.ROOT / "LICENSE"]):
            archive.write(file, file.relative_to(paths.ROOT))
        place = registry.relative_to(paths.ROOT).as_posix()
        archive.writestr(place, f"{registry.read_text()}\n\n{stored.REPLACING}")
        archive.writestr("requirements.lock", "# None: Pyodide's packages are used.\n")
        place = stored.FILE.relative_to(paths.ROOT).as_posix()
        archive.writestr(place, vectors())
        archive.writestr(f"{about}/METADATA", METADATA)
        archive.writestr(f"{about}/WHEEL", TAGS)
        archive.writestr(f"{about}/RECORD", "")
    return wheel


def vectors() -> bytes:
    """What `tools.lite.stored` reads: the lesson's sentences, embedded, in float16.

    Embedders that count words are left out, since they run in the browser.
    """
    lines = sentences()
    arrays = {}
    for name in parameters.of_notebook(LESSON)["embedder_names"]:
        if embedders.family(name) != SPARSE:
            encoded = embedders.load(name).fit_encode(lines)
            arrays[stored.key(name, lines)] = encoded.astype(np.float16)
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def sentences() -> list[str]:
    """The lesson's sentences: what its assignments up to ``sentences = `` make."""
    values = {}
    for cell in parameters.cells(LESSON):
        if cell["cell_type"] == "code":
            _collect("".join(cell["source"]), values)
    wanted: dict[str, str] = {}

    def follow(name: str) -> None:
        """Put what a name is made of before it."""
        for node in ast.walk(values[name]):
            if isinstance(node, ast.Name) and node.id in values:
                follow(node.id)
        wanted[name] = ast.unparse(values[name])

    follow("sentences")
    made: dict[str, list[str]] = {}
    for name, expression in wanted.items():
        made[name] = eval(expression, {}, made)  # noqa: S307 - the project's own cells
    return made["sentences"]


def _collect(code: str, values: dict[str, ast.expr]) -> None:
    """Add the values that a cell assigns to names outside functions, the first each."""
    for statement in ast.parse(code).body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    values.setdefault(target.id, statement.value)
