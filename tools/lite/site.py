"""The site around the wheel: JupyterLite, its settings, and Pyodide where given."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from lib.base import paths
from lib.base.errors import InputError
from tools.lite import wheel

HERE = Path(__file__).parent
WORK = paths.CACHE / "lite"
ENVIRONMENT = WORK / "env"
PIP = [ENVIRONMENT / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]

VERSION = "0.27.7"
CDN = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/pyodide.js"
LOCK = "pyodide-lock.json"
CORE = (
    "pyodide.js",
    "pyodide.asm.js",
    "pyodide.asm.wasm",
    "python_stdlib.zip",
)
# What the lesson needs, and what the kernel needs besides.
PACKAGES = ["numpy", "pandas", "scipy", "scikit-learn", "matplotlib"]
OF_KERNEL = ["micropip", "ssl", "sqlite3", "ipython", "jedi"]

# The site's first page opens the lesson, not an empty launcher. JupyterLite reads the
# settings of the pages above its own, too, and shows nothing if one has none.
OPENING = f"""<!doctype html>
<title>Lesson 0</title>
<meta http-equiv="refresh" content="0; url=lab/index.html?path={wheel.LESSON.name}">
<script id="jupyter-config-data" type="application/json" data-jupyter-lite-root=".">
{{}}
</script>
"""
KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
# Pyodide looks for a wheel from its worker's folder, four levels below the site.
FROM_WORKER = "../../../../static/"


def build(output: Path, pyodide: Path | None) -> None:
    """Build the site in a folder, in place of what is there.

    Raises InputError if `pyodide` is a folder without the Pyodide that is needed.
    """
    copied = [] if pyodide is None else files_of_pyodide(pyodide)
    _install()
    source = WORK / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(output, ignore_errors=True)
    # It would say that the settings are written, of the folder that is gone.
    (WORK / ".jupyterlite.doit.db").unlink(missing_ok=True)
    (source / "contents").mkdir(parents=True)
    shutil.copy(wheel.LESSON, source / "contents")
    shutil.copy(HERE / "LICENSES.md", source / "contents")
    shutil.copy(HERE / "overrides.json", source)
    settings = json.dumps(configuration(pyodide is not None), indent=2)
    (source / "jupyter-lite.json").write_text(settings)
    _jupyterlite(source, output)
    _list_contents(output)
    (output / "index.html").write_text(OPENING)
    static = output / "static"
    static.mkdir(exist_ok=True)
    wheel.write(static)
    for file in copied:
        target = static / "pyodide" / file.relative_to(pyodide)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)


def files_of_pyodide(folder: Path) -> list[Path]:
    """The files of a Pyodide that the site needs: its core, and packages with theirs.

    Raises InputError for another version, or if a package is missing.
    """
    lock = folder / LOCK
    if not lock.is_file():
        raise InputError(f"PYODIDE: {folder} has no {LOCK}; give Pyodide's folder")
    described = json.loads(lock.read_text())
    found = described["info"]["version"]
    if found != VERSION:
        raise InputError(f"PYODIDE: {folder} has {found}; give Pyodide {VERSION}")
    packages = described["packages"]
    needed: dict[str, None] = {}
    waiting = [*PACKAGES, *OF_KERNEL]
    while waiting:
        name = waiting.pop().replace("_", "-")
        if name not in packages:
            raise InputError(f"PYODIDE: {folder} lacks {name}; give one that has it")
        if name not in needed:
            needed[name] = None
            waiting += packages[name]["depends"]
    names = [*CORE, LOCK, *(packages[name]["file_name"] for name in needed)]
    return [folder / name for name in names]


def configuration(own_pyodide: bool) -> dict:
    """The site's settings, with Pyodide from the site itself or from its CDN."""
    kernel = {
        "pyodideUrl": "./static/pyodide/pyodide.js" if own_pyodide else CDN,
        "disablePyPIFallback": True,
        "loadPyodideOptions": {"packages": [*PACKAGES, FROM_WORKER + wheel.FILE]},
    }
    data = {
        "appName": "Lesson 0 in the browser",
        "litePluginSettings": {KERNEL: kernel},
    }
    return {"jupyter-lite-schema-version": 0, "jupyter-config-data": data}


# -- JupyterLite, in an environment of its own -----------------------------------------


def _install() -> None:
    """Make the environment and fetch the wheels, once for these pins."""
    pins = [HERE / "requirements.txt", HERE / "wheels.txt"]
    wanted = "".join(file.read_text() for file in pins)
    complete = ENVIRONMENT / "complete"
    if complete.exists() and complete.read_text() == wanted:
        return
    print(f"Building JupyterLite's environment in {ENVIRONMENT} (45 MB)", flush=True)
    _run([sys.executable, "-m", "venv", "--clear", ENVIRONMENT])
    _run([*PIP, "install", "--quiet", "-r", pins[0]])
    wheels = WORK / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    _run([*PIP, "download", "--quiet", "--no-deps", "-d", wheels, "-r", pins[1]])
    complete.write_text(wanted)


def _jupyterlite(source: Path, output: Path) -> None:
    wheels = sorted((WORK / "wheels").glob("*.whl"))
    command = [ENVIRONMENT / "bin" / "python", "-m", "jupyterlite_core", "build"]
    command += ["--lite-dir", source, "--contents", source / "contents"]
    command += ["--output-dir", output, "--apps", "lab", "--no-sourcemaps"]
    command += [f"--piplite-wheels={file}" for file in wheels]
    _run(command)


def _list_contents(output: Path) -> None:
    """Write what Jupyter's server would answer if it were asked for the files.

    JupyterLite leaves that to the server's own package, which brings fifty others.
    """
    listed = []
    for file in sorted((output / "files").iterdir()):
        kind = "notebook" if file.suffix == ".ipynb" else "file"
        listed.append(_described(kind, file.name, file.stat().st_size, None))
    folder = output / "api" / "contents"
    folder.mkdir(parents=True, exist_ok=True)
    answer = _described("directory", "", None, listed) | {"format": "json"}
    (folder / "all.json").write_text(json.dumps(answer))


def _described(kind: str, name: str, size: int | None, content: list | None) -> dict:
    """A file or folder in the words of Jupyter's interface."""
    return {
        "name": name,
        "path": name,
        "type": kind,
        "size": size,
        "content": content,
        "format": None,
        "mimetype": None,
        "writable": True,
        "created": "2026-01-01T00:00:00Z",
        "last_modified": "2026-01-01T00:00:00Z",
    }


def _run(command: list) -> None:
    """Run a command; if it fails, raise InputError with the last thing it said."""
    WORK.mkdir(parents=True, exist_ok=True)  # where JupyterLite leaves a database
    done = subprocess.run(
        command, cwd=WORK, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.stderr.write(done.stdout + done.stderr)
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise InputError(f"{Path(command[0]).name} {command[2]}: {said}")
