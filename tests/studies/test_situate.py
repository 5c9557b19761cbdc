"""Stored neighbors and a new embedder among them, also by the command.

Also files that are refused.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet
from sklearn.metrics.pairwise import cosine_similarity

from lib import corpora, embedders, n2o, neighbors
from lib.base import paths
from lib.embedders import own
from lib.neighbors import Neighbors
from lib.store import EmbeddingStore
from lib.studies import situate
from lib.studies.situate import Neighborhoods
from tests.letters import DIM, letters, write_letters
from tests.refusals import refused
from tools.run import runner

IDS = {"one": [[3, 1], [4, 0], [5, 4]], "two": [[1, 2], [0, 3], [0, 5]]}
COSINES = np.array([[0.9, 0.5], [0.75, 0.75], [0.5, -0.25]], dtype=np.float32)
QUERIES = np.array([0, 2, 3])


def hoods(ids, queries: np.ndarray, size: int, **about) -> Neighborhoods:
    found = {}
    for name, lists in ids.items():
        found[name] = Neighbors(np.array(lists), COSINES[: len(queries)])
    described = pd.DataFrame({"family": "a kind", "dim": 7} | about, list(ids))
    return Neighborhoods("toy", "f" * 32, size, queries, found, described)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "neighbors.parquet"
    hoods(IDS, QUERIES, 6).write(path)
    return path


# -- the file --------------------------------------------------------------------------


def test_the_file_gives_back_everything(file, tmp_path) -> None:
    read = situate.read(file)
    assert read.table().equals(hoods(IDS, QUERIES, 6).table(), check_metadata=True)
    assert (read.corpus, read.fingerprint, read.size, read.k) == ("toy", "f" * 32, 6, 2)
    assert {name: ids.tolist() for name, ids in read.ids.items()} == IDS
    assert read.up_to(1).ids["one"].tolist() == [[3], [4], [5]]
    np.testing.assert_array_equal(read.queries, QUERIES)
    np.testing.assert_array_equal(read.found["two"].similarities, COSINES)
    read.write(tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == file.read_bytes()


# README: "`neighbors.parquet` beside its figures, in this format"
def test_plain_pandas_reads_the_documented_columns(file) -> None:
    table = pd.read_parquet(file)
    kinds = {
        "embedder": "category",
        "query": "int32",
        "rank": "int16",
        "neighbor": "int32",
        "similarity": "float32",
    }
    assert {name: str(kind) for name, kind in table.dtypes.items()} == kinds
    found = table[(table["embedder"] == "two") & (table["query"] == 2)]
    assert found[["rank", "neighbor", "similarity"]].values.tolist() == [
        [1, 0, 0.75],
        [2, 3, 0.75],
    ]


# -- files that are something else -----------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rank": [2, 2]}, "once for each query and embedder"),
        ({"neighbor": [-1, 1]}, "has an index outside 0 to 5"),
        ({"neighbor": [0, 1]}, "a query that is its own neighbor"),
        ({"neighbor": [1, 1]}, "names a sentence twice"),
        ({"similarity": [0.9, np.nan]}, "are not finite or rise"),
        ({"similarity": [0.9, 1.0]}, "or rise with the rank"),
    ],
)
def test_a_file_with_other_content_is_named_with_its_fault(
    file, changed, message
) -> None:
    stored = parquet.read_table(file)
    table = stored.to_pandas()
    for column, values in changed.items():
        table.loc[:1, column] = np.array(values, table[column].dtype)
    schema = stored.schema
    parquet.write_table(
        pyarrow.Table.from_pandas(table, schema, preserve_index=False), file
    )
    with refused(message):
        situate.read(file)


def test_markup_in_a_file_and_a_later_version_are_refused(file, monkeypatch) -> None:
    hoods(IDS, QUERIES, 6, family="<script>").write(file)
    with refused(f"{file}: has a name with characters other than letters"):
        situate.read(file)
    with monkeypatch.context() as patch:
        patch.setattr(situate, "VERSION", 2)
        hoods(IDS, QUERIES, 6).write(file)
    with refused(f"{file}: has version 2 of the format"):
        situate.read(file)


# -- placing ---------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def store(own_cache, monkeypatch) -> EmbeddingStore:
    store = EmbeddingStore(own_cache / "store")
    monkeypatch.setattr(situate, "EmbeddingStore", lambda: store)
    return store


@pytest.fixture
def corpus(tmp_path, rng) -> corpora.Corpus:
    words = ["in", "the", "beginning", "was", "a", "word", "went", "out", "world"]
    lines = [" ".join(rng.choice(words, 6)) for _ in range(60)]
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\n")
    return corpora.load(f"lines:{tmp_path / 'text.txt'}")


@pytest.fixture
def stored(corpus, store) -> Neighborhoods:
    names = ["bow", "tfidf", "pca-bow-3d"]
    queries = np.arange(3, 60, 4)
    vectors = store.embed_all(names, corpus)
    found = neighbors.of_each(vectors, queries, k=5)
    return situate.from_search(corpus, queries, found, vectors)


def test_a_stored_embedder_that_is_placed_again_lands_on_itself(corpus, stored) -> None:
    name = "pca-bow-3d"
    twin = own.load(embedders.load(name), "again").fit(corpus.sentences)
    table = n2o.matrix(situate.place(twin, corpus, stored).ids)
    assert table.loc["again", name] == 1
    assert table["again"].tolist() == table[name].tolist()


# README: "It needs lesson 1's stored neighbors, not its embeddings"
def test_the_stored_neighbors_stay_as_they_are_and_the_new_ones_are_those_of_scikit_learn(  # noqa: E501
    corpus, stored
) -> None:
    encoded = []

    def encode(sentences):
        encoded.extend(sentences)
        return letters(sentences)

    placed = situate.place(own.load(encode, "letters"), corpus, stored)
    assert list(placed.found) == [*stored.found, "letters"]
    assert all(placed.found[name] is lists for name, lists in stored.found.items())
    cosines = cosine_similarity(letters(corpus.sentences))
    np.fill_diagonal(cosines, -1)
    nearest = np.argsort(-cosines.round(12), axis=1, kind="stable")[:, :5]
    expected = nearest[stored.queries]
    np.testing.assert_array_equal(placed.ids["letters"], expected)
    assert placed.about.loc["letters"].to_list() == ["your own", DIM]
    assert set(encoded) == set(corpus.sentences)
    encoded.clear()
    again = situate.place(own.load(encode, "letters"), corpus, stored)
    np.testing.assert_array_equal(again.ids["letters"], expected)
    assert not encoded  # they came from the store


def test_what_cannot_be_placed_is_refused_before_anything_is_encoded(
    corpus, stored
) -> None:
    mine = own.load(pytest.fail, "mine")
    other = replace(stored, fingerprint="f" * 32)
    with refused("is not the text of the stored neighbors"):
        situate.place(mine, corpus, other)
    taken = replace(stored, found={"mine": stored.found["bow"]})
    with refused("'mine' is one of the stored embedders"):
        situate.place(mine, corpus, taken)
    with refused("corpus_name: is empty; give a corpus"):
        situate.text("", None)


def test_chance_is_that_of_blind_drawing(rng) -> None:
    """The expected overlap is k / (n - 1).

    The highest of three exceeds the other value in at most 5 % of draws.
    """
    queries = np.arange(40)
    blind = np.zeros((40, 10), int)
    found = {name: Neighbors(blind, blind) for name in "abcd"}
    placed = replace(hoods({}, queries, 300), found=found)
    chance, rarely = situate.by_chance(placed)
    assert chance == pytest.approx(10 / 299)
    shared = rng.hypergeometric(10, 289, 10, size=(4000, 3, 40)).mean(axis=2) / 10
    assert shared.mean() == pytest.approx(chance, rel=0.01)
    assert 0.01 < np.mean(shared.max(axis=1) > rarely) <= 0.05


# -- the command -----------------------------------------------------------------------


# README: "`make situate EMBEDDER=file.py:function NAME=mine` places it among the
# others"
def test_the_command_executes_the_lesson_with_stored_neighbors_and_says_where_it_is(
    stored, tmp_path, capsys, monkeypatch
) -> None:
    stored.write(tmp_path / "stored.parquet")
    for name in ("FIGURES", "RUNS"):
        monkeypatch.setattr(paths, name, tmp_path / name.lower())
    given = {
        "embedder": write_letters(tmp_path / "mine.py"),
        "embedder_name": "letters",
        "neighbors_file": tmp_path / "stored.parquet",
        "corpus_name": "",
    }
    options = [f"--set={name}={value}" for name, value in given.items()]
    assert runner.main(["--notebook=09", "--output=situated/mine", *options]) == 0
    folder = paths.FIGURES / "situated" / "mine" / "09_situate_your_own"
    out = capsys.readouterr().out
    assert f"(chance: {5 / 59:.3f}, rarely above " in out
    assert out.splitlines()[-1].startswith(f"open {folder / 'n2o_row.png'}")
    placed = situate.read(folder / "neighbors.parquet")
    assert list(placed.found) == [*stored.found, "letters"]
    row = pd.read_csv(folder / "n2o_row.csv", index_col="embedder")["value"]
    expected = n2o.matrix(placed.ids).loc["letters", row.index]
    np.testing.assert_allclose(row, expected, atol=1e-6)
