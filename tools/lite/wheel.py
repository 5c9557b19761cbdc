"""The wheel that the site's kernel installs: `lib`, its lesson and stored vectors."""

from __future__ import annotations

import io
import json
import tomllib
import zipfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np

from lib import embedders
from lib.base import parameters, paths
from lib.embedders.base import Embedder
from lib.embedders.registry import SPARSE
from lib.studies import findings
from tools.lite import stored

LESSON = paths.NOTEBOOKS / "00_start_here.ipynb"
FINDINGS = findings.file_of(LESSON.stem)
PROJECT = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]
NAME = PROJECT["name"].replace("-", "_")
FILE = f"{NAME}-{PROJECT['version']}-py3-none-any.whl"
METADATA = f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {PROJECT['version']}\n"
TAGS = "Wheel-Version: 1.0\nGenerator: lite\nRoot-Is-Purelib: true\n"
TAGS += "Tag: py3-none-any\n"
KEPT = (".py", ".csv", ".toml")  # of lib
# In `lib.base.parameters`: the lesson's sentences are written as JSON, for want of a
# reader of YAML.
READING = """def parse_yaml(place: str, content: str | bytes) -> Any:
    return json.loads(content)
"""


def write(folder: Path) -> Path:
    """Write the wheel into a folder.

    Beside `lib` lie the notebook, whose parameters are checked against it, what it says
    of its results, and the file by which `lib.base.paths` knows a checkout. Its
    dependencies are not declared: those that Pyodide has are loaded by name, and the
    others are not needed.
    """
    wheel = folder / FILE
    about = f"{NAME}-{PROJECT['version']}.dist-info"
    sources = [file for file in paths.ROOT.glob("lib/**/*") if file.suffix in KEPT]
    sources += [Path(stored.__file__), Path(__file__).with_name("__init__.py")]
    changed = {embedders.__file__: stored.REPLACING, parameters.__file__: READING}
    said = json.dumps(parameters.read_yaml(FINDINGS))
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted([*sources, LESSON, paths.ROOT / "LICENSE"]):
            if str(file) not in changed:
                archive.write(file, _place(file))
        for file, more in changed.items():
            archive.writestr(_place(file), f"{Path(file).read_text()}\n\n{more}")
        archive.writestr("requirements.lock", "# None: Pyodide's packages are used.\n")
        archive.writestr(_place(FINDINGS), said)
        archive.writestr(_place(stored.FILE), vectors())
        archive.writestr(f"{about}/METADATA", METADATA)
        archive.writestr(f"{about}/WHEEL", TAGS)
        archive.writestr(f"{about}/RECORD", "")
    return wheel


def _place(file: str | Path) -> str:
    return Path(file).relative_to(paths.ROOT).as_posix()


def vectors() -> bytes:
    """What `tools.lite.stored` reads: the answers of the embedders in a run.

    Embedders that count words are left out, since they run in the browser.
    """
    answers: dict[str, np.ndarray] = {}
    load = embedders.load

    def recorded(name: str, **options: Any) -> Embedder:
        embedder = load(name, **options)
        if embedders.family(name) == SPARSE:
            return embedder
        return stored.Recorder(embedder, answers)

    embedders.load = recorded
    try:
        with redirect_stdout(io.StringIO()):
            _run_lesson()
    finally:
        embedders.load = load
    file = io.BytesIO()
    np.savez_compressed(file, **answers)
    return file.getvalue()


def _run_lesson() -> None:
    namespace: dict[str, Any] = {}
    for cell in parameters.cells(LESSON):
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), namespace)  # noqa: S102 - the project's own cells
