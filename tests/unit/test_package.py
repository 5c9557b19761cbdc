"""The installed package works in any folder, with tables, without notebooks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from importlib.metadata import PathDistribution
from pathlib import Path

import numpy as np
import pytest

from lib import corpora, embedders, store
from lib.run import cluster, paths

PROGRAM = """
import json
from lib import catalog, corpora, embedders, ledger
from lib.catalog import published
from lib.run import paths
from lib.store import EmbeddingStore

corpus = corpora.load("lee")
vectors = EmbeddingStore().embed(embedders.load("wordllama"), corpus)
paths.figures_folder("mine")
print(json.dumps({
    "code": paths.__file__,
    "shape": vectors.shape,
    "embedders": list(embedders.catalog()["name"]),
    "claims": len(ledger.CLAIMS.read_text().splitlines()),
    "assets": len(catalog.assets()),
    "tables": len(published.load("tables")),
}))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """An unpacked wheel, built from a copy of the project.

    Building in the project itself would leave a folder `build`.
    """
    source, folder = (
        tmp_path_factory.mktemp("source"),
        tmp_path_factory.mktemp("package"),
    )
    skipped = shutil.ignore_patterns("__pycache__")
    for name in ("lib", "tools", "tests", "benchmarks"):
        shutil.copytree(paths.ROOT / name, source / name, ignore=skipped)
    for name in ("pyproject.toml", "requirements.txt", "LICENSE"):
        shutil.copy(paths.ROOT / name, source)
    options = [
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--wheel-dir",
        str(folder),
    ]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, str(source)], check=True
    )
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def folder(tmp_path) -> Path:
    """An empty folder to work in."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


def variables(package: Path) -> dict[str, str]:
    """Variables that put the package before the checkout and name no cache."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SENTENCE_")
    }
    return kept | {"PYTHONPATH": str(package)}


# docs/cluster.md: "installs lib and all that it needs"
def test_the_package_is_lib_with_its_tables_and_declares_what_lib_needs(
    package,
) -> None:
    assert sorted(
        entry.name for entry in package.iterdir() if entry.suffix != ".dist-info"
    ) == ["lib"]
    listed = subprocess.run(
        ["git", "ls-files", "lib"],
        cwd=paths.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [
        name for name in listed.stdout.split() if not (package / name).exists()
    ] == []
    (metadata,) = package.glob("*.dist-info")
    declared = [
        line for line in PathDistribution(metadata).requires if "extra" not in line
    ]
    lines = (paths.ROOT / "requirements.txt").read_text().splitlines()
    assert declared == [line.split()[0] for line in lines if re.match(r"\w", line)]


# README: "The cache, figures and downloads are then kept in the folder that you start
# Python in"
def test_it_embeds_in_an_empty_folder_and_keeps_its_cache_there(
    package, folder
) -> None:
    options = {
        "cwd": folder,
        "env": variables(package),
        "capture_output": True,
        "text": True,
    }
    done = subprocess.run([sys.executable, "-c", PROGRAM], **options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert Path(found["code"]).is_relative_to(package)
    assert found["shape"] == [len(corpora.load("lee").sentences), 256]
    assert {"wordllama", "minilm-avg", "glove-6b-50d"} <= set(found["embedders"])
    assert min(found["claims"], found["assets"], found["tables"]) > 10
    assert sorted(entry.name for entry in folder.iterdir()) == [".cache", "figures"]
    assert (folder / ".cache" / "embeddings").is_dir()
    assert (folder / "figures" / "interactive" / "mine").is_dir()


def test_without_notebooks_its_runner_and_a_notebook_say_so_in_a_sentence(
    package, folder
) -> None:
    sentence = (
        f"{folder}/notebooks: no such folder; run notebooks in a checkout of the "
        "project"
    )
    options = {
        "cwd": folder,
        "env": variables(package),
        "capture_output": True,
        "text": True,
    }
    done = subprocess.run([sys.executable, "-m", "lib.run"], **options)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    opened = "from lib.run import parameters; parameters.check_notebook('01_n2o', {})"
    done = subprocess.run([sys.executable, "-c", opened], **options)
    assert sentence in done.stderr.splitlines()[-1]


@pytest.fixture
def scheduler(package, folder) -> Iterator[str]:
    """The address of a scheduler with a worker.

    Both have the package and start in an empty folder.
    """
    log = folder / "log"
    here = {
        "cwd": folder,
        "env": variables(package),
        "stdout": log.open("w"),
        "stderr": subprocess.STDOUT,
    }
    found = folder / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    place = [
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--scheduler-file",
        str(found),
        "--no-dashboard",
    ]
    limits = [
        "--nthreads",
        "1",
        "--memory-limit",
        "0",
        "--no-dashboard",
        "--host",
        "127.0.0.1",
    ]
    started = [subprocess.Popen([*dask, "scheduler", *place], **here)]
    try:
        started.append(
            subprocess.Popen(
                [*dask, "worker", "--scheduler-file", str(found), *limits], **here
            )
        )
        end = time.monotonic() + 60
        while not (found.exists() and found.stat().st_size):
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
        yield json.loads(found.read_text())["address"]
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)


# docs/cluster.md: "Scheduler and workers import `lib`"
def test_a_worker_that_has_the_package_encodes_the_same_bytes(
    package, scheduler, tmp_path
) -> None:
    corpus, embedder = corpora.load("lee"), embedders.load("wordllama")
    alone = store.EmbeddingStore(tmp_path / "alone").embed(embedder, corpus)
    with cluster.connect(scheduler) as client:
        client.wait_for_workers(1, timeout=60)
        shared = store.EmbeddingStore(tmp_path / "shared").embed(
            embedder, corpus, client=client
        )
        (code,) = client.run(lambda: sys.modules["lib"].__file__).values()
    np.testing.assert_array_equal(shared, alone)
    assert Path(code).is_relative_to(package)
