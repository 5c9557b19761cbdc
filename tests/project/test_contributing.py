"""What docs/contributing.md says can be done as it is written there."""

from __future__ import annotations

import re
import textwrap

import pytest

from lib.base import paths
from tests.copies import copy_project, run


@pytest.fixture(scope="module")
def page() -> str:
    return (paths.ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")


@pytest.fixture
def module(page) -> str:
    return textwrap.dedent(re.search(r"   ```python\n(.*?)   ```", page, re.DOTALL)[1])


def test_the_embedder_of_the_page_is_known_by_its_one_file(
    page, module, tmp_path
) -> None:
    command = re.search(r"`\.venv/bin/python -c \"(.*?)\"`", page)[1]
    variables = copy_project(tmp_path)
    (tmp_path / "lib" / "embedders" / "letters.py").write_text(module)
    ended = run(tmp_path, variables, "-c", command)
    assert ended.stdout.startswith("[[2. 2. 0."), ended.stderr


ASSET = """

[letter-weights]
title = "Weights of letters"
kind = "encoder"
license = "MIT"
citation = ""
page = "https://example.org/letters"
access = "manual"
used_by = []
how = "put weights.txt into data/letters/"
files = [{ path = "letters/weights.txt" }]
"""

# Everything that studies ask of an embedder, of one that nobody has heard of before.
WALK = """
import numpy as np
from lib import corpora, embedders, n2o, neighbors, plotting
from lib.store import EmbeddingStore
from audit import n2o as study
from lib.studies import situate

names = ["bow", "letters", "wordllama"]
assert embedders.select("names", names) == (names, {})
row = embedders.catalog().set_index("name").loc["letters"]
assert (row["family"], row["dim"], row["license"]) == ("encoder", 26, "MIT")
assert "data/letters" in row["how_to_get"]

kind = embedders.kind("letters")
assert (kind.origin, kind.reads_order) == ("word counts", False)
assert embedders.of_unknown_kind(names) == []
assert embedders.families([*names, "letters"]).tolist() == [0, 1, 2, 1]
assert not study.is_average("letters")

corpus = corpora.load("lines:text.txt")
queries = np.arange(5)
vectors = EmbeddingStore().embed_all(names, corpus)
assert list(vectors) == list(vectors.seconds) == names
assert vectors["letters"][0].tolist() == [3.0 * "a cat and a dog".count(l) for l in "abcdefghijklmnopqrstuvwxyz"]
found = neighbors.of_each(vectors, queries, k=3)
stored = situate.from_search(corpus, queries, found, vectors)
assert stored.about.loc["letters"].tolist() == ["encoder", 26]
table = n2o.matrix(stored.ids)

assert list(table) == names
origins = {name: embedders.kind(name).origin for name in names}
looks = plotting.marks(origins.values())
colors = {origin: look["color"] for origin, look in looks.items()}
assert len(set(colors.values())) == len(colors) == len(set(origins.values()))
print("walked")
"""  # noqa: E501


# docs/contributing.md: "Add an embedder: two files"
def test_an_embedder_with_weights_is_two_files_and_no_list_anywhere(
    module, tmp_path
) -> None:
    variables = copy_project(tmp_path)
    module = module.replace(', license="MIT"', "").replace(
        '"counts of', '"weighted counts of'
    )
    module = module.replace('z", kind', 'z", "letter-weights", kind')
    module = module.replace("self, name: str", "self, weights, name: str")
    module = module.replace(
        "self.name = name",
        "self.name = name\n        self.weight = float(weights.read_text())",
    )
    module = module.replace(
        "np.array(counts, np.float32)", "self.weight * np.array(counts, np.float32)"
    )
    (tmp_path / "lib" / "embedders" / "letters.py").write_text(module)
    with (tmp_path / "lib" / "catalog" / "catalog.toml").open("a") as catalog:
        catalog.write(ASSET)
    (tmp_path / "data" / "letters").mkdir(parents=True)
    (tmp_path / "data" / "letters" / "weights.txt").write_text("3")
    lines = [
        f"{who} and a {what}"
        for who in ("a cat", "a dog", "one")
        for what in ("dog", "bird", "fish")
    ]
    (tmp_path / "text.txt").write_text("\n".join(lines))
    ended = run(tmp_path, variables, "-c", WALK)
    assert ended.stdout.endswith("walked\n"), ended.stderr
