"""A new embedder among the stored ones: by hand, against itself, from a file alone, and from the command line."""

from __future__ import annotations

import nbformat
import numpy as np
import pandas as pd
import pytest

from lib import corpora, embedders, n2o, neighborhoods, stats
from lib.embedders import own
from lib.neighborhoods import Entry, Neighborhoods
from lib.neighbors import Neighbors
from lib.run import paths
from lib.run.digest import digest
from lib.run.errors import InputError
from lib.store import EmbeddingStore
from lib.studies import situate

# Two queries, sentences 0 and 1; k = 2. "new" shares 3 of 4 with a, 2 with b, 1 with c; its 4 is nobody else's.
LISTS = {"a": [[3, 7], [5, 9]], "b": [[3, 8], [5, 2]], "c": [[6, 7], [6, 9]], "new": [[3, 4], [5, 9]]}
COSINES = np.array([[0.9, 0.8], [0.7, 0.6]], dtype=np.float32)
SAMPLING, CLUSTERS = stats.Sampling(0, 200, 0.9), np.array([0, 1])


@pytest.fixture
def toy() -> Neighborhoods:
    entries = {name: Entry(Neighbors(np.array(ids), COSINES), "toy", 2) for name, ids in LISTS.items()}
    return Neighborhoods("toy", "f" * 32, 10, n2o.Samples.of([[0, 1]]), entries)


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch) -> None:
    """A cache of its own for each test."""
    for module in (n2o, situate):
        monkeypatch.setattr(module, "EmbeddingStore", lambda: EmbeddingStore(tmp_path / "store"))
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")


@pytest.fixture
def corpus(tmp_path, rng) -> corpora.Corpus:
    words = np.array(["in", "the", "beginning", "was", "a", "word", "it", "went", "out", "into", "all", "of", "world"])
    lines = [" ".join(rng.choice(words, 6)) for _ in range(60)]
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\n")
    return corpora.load(f"lines:{tmp_path / 'text.txt'}")


@pytest.fixture
def stored(corpus) -> Neighborhoods:
    samples = n2o.Samples(np.arange(len(corpus)), n=10, samples=2, rng=np.random.default_rng(4))
    return neighborhoods.search(["bow", "tfidf", "pca-bow-3d"], corpus, samples, k=5)


def letters(sentences: list[str]) -> np.ndarray:
    return np.array([[sentence.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for sentence in sentences])


# -- by hand ------------------------------------------------------------------------------------


def test_the_row_by_hand(toy) -> None:
    row = situate.row(toy.ids, "new", CLUSTERS, SAMPLING)
    assert row["value"].to_dict() == {"a": 0.75, "b": 0.5, "c": 0.25}
    assert list(row.index) == ["a", "b", "c"]
    # Over queries the overlaps with a are 1/2 and 1, with b 1/2 and 1/2, with c 0 and 1/2.
    assert row["low"].to_list() == [0.5, 0.5, 0]
    assert row["high"].to_list() == [1, 0.5, 0.5]
    assert row["constant"].to_list() == [False, True, False]


def test_what_is_found_alone_by_hand(toy) -> None:
    alone = situate.alone(toy.ids, CLUSTERS, SAMPLING)["value"]
    assert alone.to_dict() == {"b": 0.5, "c": 0.5, "new": 0.25, "a": 0}  # 8, 2; 6, 6; 4
    twins = {"a": toy.ids["a"], "b": toy.ids["a"]}
    assert situate.alone(twins, CLUSTERS, SAMPLING)["value"].to_list() == [0, 0]


def test_an_example_has_what_is_shared_and_what_is_found_alone(toy) -> None:
    assert situate.example(toy, "new", ["a", "b"], 0) == {"shared": [3], "alone": [4]}
    assert situate.example(toy, "new", ["a"], 1) == {"shared": [5, 9], "alone": []}
    assert situate.typical(toy, "new", "a") == 0  # 1/2 and 1 are equally far from their mean: the first


# -- placing ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bow", "pca-bow-3d"])
def test_a_stored_embedder_that_is_placed_again_lands_on_itself(corpus, stored, name) -> None:
    placed, _ = situate.place(own.load(embedders.load(name), "again").fit(corpus.sentences), corpus, stored)
    table = n2o.matrix(placed.ids)
    assert table.loc["again", name] == 1
    pd.testing.assert_series_equal(table["again"].drop("again"), table[name].drop("again"), check_names=False)


def test_the_stored_neighbors_stay_as_they_are_and_the_new_ones_are_those_of_plain_numpy(corpus, stored) -> None:
    placed, costs = situate.place(own.load(letters, "letters"), corpus, stored)
    assert list(placed.entries) == [*stored.entries, "letters"]
    assert all(placed.entries[name] is entry for name, entry in stored.entries.items())
    vectors = letters(corpus.sentences) / np.linalg.norm(letters(corpus.sentences), axis=1, keepdims=True)
    queries = stored.samples.queries
    cosines = vectors[queries] @ vectors.T
    cosines[np.arange(len(queries)), queries] = -1
    expected = np.argsort(-cosines.round(12), axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(placed.ids["letters"], expected)
    assert placed.families["letters"] == "your own"
    assert costs.loc[0, ["embedder", "dim", "sentences"]].to_list() == ["letters", 26, len(corpus)]


def test_with_a_name_it_is_encoded_once_and_without_one_each_time(corpus, stored) -> None:
    named, unnamed = own.load(letters, "named"), own.load(letters)
    counts = {mine.name: [situate.place(mine, corpus, stored)[1] for _ in range(2)] for mine in (named, unnamed)}
    assert [costs.loc[0, "sentences"] for costs in counts["named"]] == [len(corpus), 0]
    assert [costs.loc[0, "sentences"] for costs in counts["letters"]] == [len(corpus), len(corpus)]


def test_another_text_and_a_name_that_is_taken_are_refused_before_anything_is_encoded(corpus, stored, tmp_path) -> None:
    (tmp_path / "other.txt").write_text("\n".join([*corpus.sentences, "one more"]) + "\n")
    mine = own.load(letters, "letters")
    with pytest.raises(InputError, match="is not the text of the stored neighbors"):
        situate.place(mine, corpora.load(f"lines:{tmp_path / 'other.txt'}"), stored)
    placed, _ = situate.place(mine, corpus, stored)
    before = mine.sentences
    with pytest.raises(InputError, match="'letters' is one of the stored embedders"):
        situate.place(mine, corpus, placed)
    assert mine.sentences == before


# -- the command line ---------------------------------------------------------------------------


@pytest.fixture
def code(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy as np\n\n\ndef encode(sentences):\n"
        "    return np.array([[s.count(c) for c in 'abcdefghijklmnopqrstuvwxyz'] for s in sentences])\n"
    )
    return file


def test_the_command_prints_and_writes_what_the_notebook_shows(stored, code, tmp_path, capsys, monkeypatch) -> None:
    stored.write(tmp_path / "stored.parquet")
    monkeypatch.setattr(embedders, "load", None)  # nothing of the stored embedders is computed again
    arguments = ["--embedder", f"{code}:encode", "--name", "letters", "--neighbors", str(tmp_path / "stored.parquet")]
    folder = tmp_path / "out"
    assert situate.main([*arguments, "--output", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "letters among 3 embedders" in shown
    assert "Encoded 60 sentences" in shown
    placed = neighborhoods.read(folder / "neighbors.parquet")
    assert list(placed.entries) == ["bow", "tfidf", "pca-bow-3d", "letters"]
    matrix = pd.read_csv(folder / "n2o_matrix.csv", index_col="embedder")
    row = pd.read_csv(folder / "n2o_row.csv", index_col="embedder")["value"]
    np.testing.assert_allclose(row, matrix.loc["letters", row.index], atol=1e-6)
    written = {file.name for file in folder.iterdir()}
    assert {"n2o_row.png", "n2o_row.svg", "n2o_map.png", "n2o_map.csv", "found_alone.csv"} <= written


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--embedder": ""}, "embedder: '' is no folder; give a model's folder"),
        ({"--embedder": "{code}:decode"}, "has no attribute 'decode'"),
        ({"--name": "bow"}, "'bow' is one of the registry's embedders"),
        ({"--neighbors": "{folder}/none.parquet"}, "none.parquet: no such file"),
        ({"--neighbors": ""}, "neighbors.parquet: is not there yet; `make figures NOTEBOOK=01` writes it"),
        ({"--k": "6"}, "k: 6 is not accepted; 5 neighbors of each query are stored"),
        ({"--corpus": "lee"}, "corpus: 'lee' (2603 sentences"),
        ({"--seed": "-1"}, "--seed: -1 is not accepted"),
        ({"--output": "{code}/below"}, "cannot be made"),
    ],
)
def test_what_the_command_cannot_use_gets_a_sentence_and_status_2(
    stored, code, tmp_path, monkeypatch, capsys, changed, message
) -> None:
    monkeypatch.setattr(situate, "STORED", tmp_path / "figures" / "neighbors.parquet")
    stored.write(tmp_path / "stored.parquet")
    options = {"--embedder": "{code}:encode", "--neighbors": "{folder}/stored.parquet", "--output": "{folder}/out"}
    given = {key: value.format(code=code, folder=tmp_path) for key, value in (options | changed).items()}
    assert situate.main([part for pair in given.items() for part in pair]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


# -- when a notebook must run again -------------------------------------------------------------


def test_the_digest_sees_an_edited_embedder_a_model_s_folder_and_stored_neighbors(tmp_path) -> None:
    notebook = tmp_path / "09_own.ipynb"
    cell = nbformat.v4.new_code_cell("embedder = ''\nneighbors_file = ''", metadata={"tags": ["parameters"]})
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (tmp_path / "mine.py").write_text("one")
    (tmp_path / "stored.parquet").write_text("one")
    given = [
        {"embedder": f"{tmp_path / 'mine.py'}:encode"},
        {"embedder": str(model)},
        {"neighbors_file": str(tmp_path / "stored.parquet")},
    ]
    before = [digest(notebook, "default", each) for each in given]
    assert before == [digest(notebook, "default", each) for each in given]
    (tmp_path / "mine.py").write_text("edited")
    (model / "weights").write_text("new")
    (tmp_path / "stored.parquet").write_text("edited")
    after = [digest(notebook, "default", each) for each in given]
    assert [old != new for old, new in zip(before, after, strict=True)] == [True, True, True]
