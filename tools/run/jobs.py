"""What there is to execute: notebooks in a profile, and whether they are up to date."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from modulefinder import ModuleFinder
from pathlib import Path
from typing import Any, NoReturn

from huggingface_hub.constants import HF_HUB_CACHE

from lib.base import files, parameters, paths
from lib.base.errors import InputError
from lib.studies import findings
from tools.run.profiles import has_file, of_profile, of_texts

OF_SOME = ("hub", "paper")  # profiles that are for some notebooks only
MODEL_FILES = ("config.json", "modules.json")  # one of them is in the folder of a model


@dataclass(frozen=True, eq=False)
class Job:
    """One notebook in one profile.

    Attributes
    ----------
    notebook : Path
    profile : str
        Or another folder for its results: a path relative to ``figures/``, or an
        absolute one.
    changes : dict
        The parameters that are changed.
    """

    notebook: Path
    profile: str
    changes: dict[str, Any]

    @property
    def name(self) -> str:
        """The notebook's name, such as ``01_n2o`` or ``replication/n2o``."""
        return paths.notebook_name(self.notebook)

    @property
    def is_replication(self) -> bool:
        """Whether it replicates a paper, rather than being a lesson."""
        return self.name.startswith(f"{paths.REPLICATION}/")

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters of the notebook, with their values in this profile."""
        return parameters.of_notebook(self.notebook) | self.changes

    @property
    def results(self) -> Path:
        """The folder of its figures, tables and executed notebook."""
        return paths.FIGURES / self.profile / self.name

    @property
    def executed(self) -> Path:
        """The executed notebook among its results."""
        return self.results / self.notebook.name

    @property
    def record(self) -> Path:
        """The file with the digest of its last success and the sizes of the results."""
        return paths.RUNS / self.profile.strip("/") / f"{self.name}.json"

    @property
    def log(self) -> Path:
        """The progress lines of its last execution."""
        return self.record.with_suffix(".log")

    @property
    def code(self) -> Path:
        """The files of the user's code that its last execution has run."""
        return self.record.with_suffix(".code")

    @property
    def failed(self) -> Path:
        """What was executed when its last execution failed."""
        return self.record.with_suffix(".failed.ipynb")

    def digest(self) -> str:
        """Digest of all that the results depend on.

        While it is unchanged, the notebook need not run again.

        It covers the source, the sentences on its findings, the parameters, the modules
        of `lib` and `audit` that the notebook imports (directly or not), the tables of
        `make bench` that it quotes, Python, the pinned packages, and the data that it
        may read.
        """
        cells = parameters.cells(self.notebook)
        code = tuple(
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"
        )
        library = library_files(code)
        sources = [
            paths.ROOT / "requirements.lock",
            paths.ROOT / "requirements-models.txt",
            *library,
            *_quoted_tables(code, library),
        ]
        if (said := findings.file_of(self.name)).exists():
            sources.append(said)
        data = dict.fromkeys(_data_files(self.parameters.values()))
        parts = [
            sys.version,
            [cell["source"] for cell in cells],
            self.parameters,
            [
                (os.path.relpath(file, paths.ROOT), file.read_text(encoding="utf-8"))
                for file in sources
            ],
            [(str(file), *_size_and_time(file)) for file in data],
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def write_record(self, digest: str) -> None:
        """Record a success, with the user's code that it has told of in `code`."""
        code: dict[str, Any] = {}
        if self.code.exists():
            for line in self.code.read_bytes().splitlines():
                code |= json.loads(line)
        recorded = {"digest": digest, "sizes": self._sizes(), "code": code}
        with files.replacing(self.record) as stream:
            stream.write(json.dumps(recorded, indent=1).encode())

    def is_up_to_date(self) -> bool:
        """Whether the last success had the same digest and its results still exist.

        It is not if it ran code of the user's that may depend on more than its files.
        """
        if not self.record.exists():
            return False
        recorded = json.loads(self.record.read_bytes())
        code = {file: _size_and_time(Path(file)) for file in recorded.get("code", [""])}
        return "" not in code and recorded == {
            "digest": self.digest(),
            "sizes": self._sizes(),
            "code": {file: list(state) for file, state in code.items()},
        }

    def _sizes(self) -> dict[str, int]:
        return {
            file.name: file.stat().st_size for file in sorted(self.results.glob("*"))
        }


def select(
    prefix: str, profile: str, given: Sequence[str] = (), output: str = ""
) -> list[Job]:
    """The notebooks whose name starts with `prefix`, with checked parameters.

    The parameters are the profile's and those in `given`. Without a `prefix` all
    notebooks are chosen; in the profiles `OF_SOME`, those that have a file there.
    Replications come after the lessons, whose stored embeddings they use. `given` holds
    texts ``name=value``, `output` the place of the results in ``figures/``, where it is
    not the profile. Raises InputError if there is no such notebook or none at all, and
    for an unknown profile.
    """
    paths.check_notebooks()
    notebooks = {
        paths.notebook_name(file): file
        for file in [*paths.lessons(), *paths.replications()]
    }
    profiles = sorted(
        folder.name for folder in paths.PARAMS.iterdir() if folder.is_dir()
    )
    parameters.one_of("PROFILE", profile, ["default", *profiles])
    chosen = [
        notebook
        for name, notebook in notebooks.items()
        if name.startswith(prefix) and not _parts_number(name, len(prefix))
    ]
    if not chosen:
        _refuse(prefix, list(notebooks))
    if not prefix and profile in OF_SOME:
        chosen = [file for file in chosen if has_file(file, profile)]
    changes = []
    for notebook in chosen:
        changed = of_profile(notebook, profile) | of_texts(notebook, given)
        changes.append(changed)
    return [
        Job(notebook, output or profile, changed)
        for notebook, changed in zip(chosen, changes, strict=True)
    ]


def _parts_number(name: str, place: int) -> bool:
    """Whether a place in a name is amid a number: 1 does not stand for 10."""
    return name[:place].isdecimal() and name[place : place + 1].isdecimal()


# -- what results depend on ------------------------------------------------------------


def _refuse(prefix: str, names: list[str]) -> NoReturn:
    """Raise InputError with the names that are like the unknown one, or all names."""
    padded = prefix.zfill(2)
    meant = [name for name in names if prefix in name]
    if any(name.startswith(padded) for name in names):
        meant = [padded]
    hint = (
        f"did you mean {' or '.join(meant)}?"
        if meant
        else parameters.nearest(prefix, names)
    )
    raise InputError(f"NOTEBOOK: {parameters.shown(prefix)} is not known; {hint}")


@cache
def library_files(sources: tuple[str, ...]) -> list[Path]:
    """The modules that sources import, directly or not, and the tables beside them."""
    finder = ModuleFinder([str(paths.ROOT)])
    for source in sources:
        finder.scan_code(compile(source, "cell", "exec"), finder.add_module("__main__"))
    # It imports its modules by their names.
    finder.import_hook("lib.embedders", None, ["*"])
    modules = [
        Path(module.__file__) for module in finder.modules.values() if module.__file__
    ]
    packages = {
        paths.ROOT / name for name in ("lib", "audit") if name in finder.modules
    }
    tables = [
        table
        for kind in ("*.toml", "*.csv", "*.yaml")
        for package in packages
        for table in package.rglob(kind)
    ]
    return sorted([*modules, *tables])


def _quoted_tables(code: Iterable[str], library: Iterable[Path]) -> list[Path]:
    """Tables of ``make bench`` that some code names: how long things took."""
    measured = sorted(paths.BENCHMARKS.glob("*.csv"))
    modules = [file for file in library if file.suffix == ".py"]
    texts = [*code, *(file.read_text(encoding="utf-8") for file in modules)]
    return [file for file in measured if any(file.name in text for text in texts)]


def _data_files(values: Iterable[Any]) -> Iterator[Path]:
    """Files outside the project that a run may read.

    Those that its parameters name, and all data at hand. Data and models that have
    arrived since the last run may change its results, whatever the profile. A model
    that a run fetches itself counts as one that has arrived, so the notebook runs once
    more.
    """
    for given in _texts(list(values)):
        for text in _without_forms(given):
            # PATH, lines:PATH, PATH.py:function
            places = (text, text.partition(":")[2], text.rpartition(":")[0])
            for path in map(paths.from_root, filter(None, places)):
                if os.path.isfile(path):
                    yield path
                elif any(os.path.isfile(path / file) for file in MODEL_FILES):
                    yield from _files_below(path)
            if re.fullmatch(r"[\w.-]+/[\w.-]+", text):
                model = f"models--{text.replace('/', '--')}"
                yield from _files_below(Path(HF_HUB_CACHE, model, "snapshots"))
    for folder in paths.data_folders():
        yield from _files_below(folder)


def _without_forms(embedder: str) -> Iterator[str]:
    """A name of an embedder, with all forms of its vectors and with fewer and fewer."""
    yield embedder
    while "@" in embedder:
        embedder = embedder.rpartition("@")[0]
        yield embedder


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value, at any depth of lists and dicts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _texts(member)


def _size_and_time(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except FileNotFoundError:  # the temporary file of a download that has just ended
        return 0, 0
    return status.st_size, status.st_mtime_ns


def _files_below(folder: Path) -> list[Path]:
    """All files, also those behind links to folders, each of which is entered once."""
    entered = set()
    files_there = []
    for place, subfolders, names in os.walk(folder, followlinks=True):
        real_place = os.path.realpath(place)
        if real_place in entered:
            subfolders.clear()
            continue
        entered.add(real_place)
        files_there += [Path(place, name) for name in names]
    return sorted(file for file in files_there if file.is_file())
