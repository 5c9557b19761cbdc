"""A new embedder among the stored ones: by hand, against itself, from a file alone, and from the command line."""

from __future__ import annotations

import time

import nbformat
import numpy as np
import pandas as pd
import pytest

from lib import corpora, embedders, n2o, neighborhoods, situate
from lib.corpora import text
from lib.embedders import own
from lib.neighborhoods import Entry, Neighborhoods
from lib.neighbors import Neighbors
from lib.run import paths
from lib.run.digest import digest
from lib.run.errors import InputError
from lib.situate import __main__ as command
from lib.situate.meter import Meter
from lib.store import EmbeddingStore

# Two queries, sentences 0 and 1; k = 2. "new" shares 3 of 4 with a, 2 with b, 1 with c; its 4 is nobody else's.
LISTS = {"a": [[3, 7], [5, 9]], "b": [[3, 8], [5, 2]], "c": [[6, 7], [6, 9]], "new": [[3, 4], [5, 9]]}
COSINES = np.array([[0.9, 0.8], [0.7, 0.6]], dtype=np.float32)


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


def test_the_row_by_hand(toy, rng) -> None:
    pairs = n2o.summary(n2o.per_query(toy.ids), toy.samples, np.array([-1, -1]), rng, 200, 0.9)
    row = situate.row(pairs, "new")
    assert row["n2o"].to_dict() == {"a": 0.75, "b": 0.5, "c": 0.25}
    assert list(row.index) == ["a", "b", "c"]
    # Over queries the overlaps with a are 1/2 and 1, with b 1/2 and 1/2, with c 0 and 1/2.
    assert row["low"].to_list() == [0.5, 0.5, 0]
    assert row["high"].to_list() == [1, 0.5, 0.5]
    assert situate.row(pairs, "c")["n2o"].to_dict() == {"a": 0.5, "new": 0.25, "b": 0.0}


def test_what_is_found_alone_by_hand(toy) -> None:
    alone = situate.alone(toy)
    assert alone["new"].to_list() == [0.5, 0]  # 4; 5 and 9 are a's too
    assert alone["b"].to_list() == [0.5, 0.5]  # 8; 2
    assert alone["a"].to_list() == [0, 0]
    assert list(alone.columns) == list(LISTS)


def test_nothing_is_found_alone_by_twins(toy) -> None:
    twins = {name: toy.entries["a"] for name in ("a", "b")}
    alone = situate.alone(Neighborhoods("toy", "f" * 32, 10, toy.samples, twins))
    assert alone.to_dict("list") == {"a": [0, 0], "b": [0, 0]}


def test_the_neighbors_of_one_query_by_hand(toy) -> None:
    table = situate.beside(toy, "new", ["a", "b"], 0)
    assert table["neighbor"].to_list() == [3, 4]
    assert table["found_by"].to_list() == [2, 0]
    assert table[["a", "b"]].to_numpy().tolist() == [[True, True], [False, False]]
    assert situate.typical(toy, "new", "a") == 0  # 1/2 and 1 are equally far from their mean: the first


def test_intervals_hold_the_weighted_mean_and_sort_by_it(toy, rng) -> None:
    samples = n2o.Samples.of([[0, 1], [1, 2]])  # query 1 is in both
    values = pd.DataFrame({"low": [0.0, 0.0, 0.4], "high": [1.0, 0.5, 0.0]})
    table = situate.with_intervals(values, samples, np.full(3, -1), rng, 300, 0.9)
    assert table["mean"].to_dict() == pytest.approx({"high": 0.5, "low": 0.1})
    assert list(table.index) == ["high", "low"]
    assert ((table["low"] <= table["mean"]) & (table["mean"] <= table["high"])).all()


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
    assert costs.loc[0, "sentences_per_second"] > 0


def test_from_a_file_nothing_of_the_stored_embedders_is_computed_again(corpus, stored, tmp_path, monkeypatch) -> None:
    searched, _ = situate.place(own.load(letters, "letters"), corpus, stored)
    stored.write(tmp_path / "neighbors.parquet")

    def never(*arguments, **options):
        raise AssertionError("an embedder of the registry was asked for")

    monkeypatch.setattr(embedders, "load", never)
    monkeypatch.setattr(n2o, "neighbors", never)
    read, _ = situate.place(own.load(letters), corpus, neighborhoods.read(tmp_path / "neighbors.parquet"))
    pd.testing.assert_series_equal(
        n2o.matrix(read.ids)["letters"], n2o.matrix(searched.ids)["letters"], check_exact=True
    )


def test_with_a_name_it_is_encoded_once_and_without_one_each_time(corpus, stored) -> None:
    named, unnamed = own.load(letters, "named"), own.load(letters)
    counts = {mine.name: [situate.place(mine, corpus, stored)[1] for _ in range(2)] for mine in (named, unnamed)}
    assert [costs.loc[0, "sentences"] for costs in counts["named"]] == [len(corpus), 0]
    assert np.isnan(counts["named"][1].loc[0, "sentences_per_second"])
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


def test_repeated_words_are_the_token_overlap_of_study_1(corpus, stored) -> None:
    table = situate.repeated_words(stored, corpus)
    for name, ids in stored.ids.items():
        expected = n2o.token_overlap(corpus.sentences, stored.samples.queries, ids, text.content_types)
        np.testing.assert_array_equal(table[name], expected)


def test_alone_is_what_no_other_set_holds(stored) -> None:
    alone = situate.alone(stored)
    for name, ids in stored.ids.items():
        others = [lists for other, lists in stored.ids.items() if other != name]
        for query, row in enumerate(ids.tolist()):
            rest = set().union(*(set(lists[query].tolist()) for lists in others))
            assert alone.loc[query, name] == len(set(row) - rest) / stored.k


# -- what it costs ------------------------------------------------------------------------------


def test_the_meter_sees_memory_that_is_given_back_before_the_end() -> None:
    with Meter() as meter:
        held = np.ones(30_000_000)  # 0.24 GB
        time.sleep(0.2)  # long enough to be seen
        del held
    assert 0.2 < meter.gigabytes < 1
    assert meter.seconds > 0


# -- the command line ---------------------------------------------------------------------------


@pytest.fixture
def code(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy as np\n\n\ndef encode(sentences):\n"
        "    return np.array([[s.count(c) for c in 'abcdefghijklmnopqrstuvwxyz'] for s in sentences])\n"
    )
    return file


def test_the_command_prints_and_writes_what_the_notebook_shows(stored, code, tmp_path, capsys) -> None:
    stored.write(tmp_path / "stored.parquet")
    arguments = ["--embedder", f"{code}:encode", "--name", "letters", "--neighbors", str(tmp_path / "stored.parquet")]
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        assert command.main([*arguments, "--output", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "letters among 3 embedders" in shown
    assert "tfidf" in shown
    assert "Encoded 60 sentences" in shown
    placed = neighborhoods.read(folders[0] / "neighbors.parquet")
    assert list(placed.entries) == ["bow", "tfidf", "pca-bow-3d", "letters"]
    matrix = pd.read_csv(folders[0] / "n2o_matrix.csv", index_col="embedder")
    row = pd.read_csv(folders[0] / "n2o_row.csv", index_col="embedder")["n2o"]
    np.testing.assert_allclose(row, matrix.loc["letters", row.index], atol=1e-6)
    same = [file.name for file in folders[0].iterdir() if file.stem != "timings"]
    assert {"n2o_row.png", "n2o_row.svg", "n2o_map.png", "found_alone.csv", "token_overlap.csv"} <= set(same)
    assert [name for name in same if (folders[0] / name).read_bytes() != (folders[1] / name).read_bytes()] == []


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
    monkeypatch.setattr(command, "STORED", tmp_path / "figures" / "neighbors.parquet")
    stored.write(tmp_path / "stored.parquet")
    options = {"--embedder": "{code}:encode", "--neighbors": "{folder}/stored.parquet", "--output": "{folder}/out"}
    given = {key: value.format(code=code, folder=tmp_path) for key, value in (options | changed).items()}
    assert command.main([part for pair in given.items() for part in pair]) == 2
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


@pytest.mark.parametrize("value", ["", "none", "text", "a sentence: with a colon", "x" * 5000, "a:b:c", "\0"])
def test_the_digest_takes_any_other_text_for_text(tmp_path, value) -> None:
    notebook = tmp_path / "09_own.ipynb"
    cell = nbformat.v4.new_code_cell("query = ''", metadata={"tags": ["parameters"]})
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
    assert len(digest(notebook, "default", {"query": value})) == 64
