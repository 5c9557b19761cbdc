"""Stored neighbors and a new embedder among them, by hand and by the command.

Also files that are refused.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

import nbformat
import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet

from lib import corpora, embedders, n2o, neighbors, stats
from lib.embedders import own
from lib.neighbors import Neighbors
from lib.run import paths, runner
from lib.run.errors import InputError
from lib.run.jobs import Job
from lib.store import EmbeddingStore
from lib.studies import situate
from lib.studies.situate import Neighborhoods
from tests.refusals import refused

IDS = {"one": [[3, 1], [4, 0], [5, 4]], "two": [[1, 2], [0, 3], [0, 5]]}
COSINES = np.array([[0.9, 0.5], [0.75, 0.75], [0.5, -0.25]], dtype=np.float32)
QUERIES = np.array([0, 2, 3])

# Two queries, sentences 0 and 1; k = 2. "new" shares 3 of 4 with a, 2 with b, 1 with c;
# its 4 is nobody else's.
LISTS = {
    "a": [[3, 7], [5, 9]],
    "b": [[3, 8], [5, 2]],
    "c": [[6, 7], [6, 9]],
    "new": [[3, 4], [5, 9]],
}
SAMPLING, CLUSTERS = stats.Sampling(0, 200, 0.9), np.array([0, 1])


def hoods(ids, queries: np.ndarray, size: int, corpus: str = "toy") -> Neighborhoods:
    found = {
        name: Neighbors(np.array(lists), COSINES[: len(queries)])
        for name, lists in ids.items()
    }
    about = pd.DataFrame(
        {"family": [f"kind of {name}" for name in ids], "dim": 7}, list(ids)
    )
    return Neighborhoods(corpus, "f" * 32, size, queries, found, about)


def toy(corpus: str = "toy") -> Neighborhoods:
    return hoods(IDS, QUERIES, 6, corpus)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "neighbors.parquet"
    toy().write(path)
    return path


# -- the file --------------------------------------------------------------------------


def test_the_file_gives_back_everything(file, tmp_path) -> None:
    read = situate.read(file)
    assert read.table().equals(toy().table(), check_metadata=True)
    assert (read.corpus, read.fingerprint, read.size, read.k) == ("toy", "f" * 32, 6, 2)
    assert read.about.to_dict("index") == {
        name: {"family": f"kind of {name}", "dim": 7} for name in IDS
    }
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


def described(file, change) -> None:
    """Rewrite the file with another description."""
    table = parquet.read_table(file)
    about = change(json.loads(table.schema.metadata[situate.FORMAT.encode()]))
    parquet.write_table(
        table.replace_schema_metadata({situate.FORMAT: json.dumps(about)}), file
    )


def rows(file, change) -> None:
    """Rewrite the file with other rows."""
    table = parquet.read_table(file)
    parquet.write_table(
        change(table).replace_schema_metadata(table.schema.metadata), file
    )


def cell(file, column: str, row: int, value: float) -> None:
    """Rewrite the file with another value in one place."""

    def change(table: pyarrow.Table) -> pyarrow.Table:
        values = table.column(column).to_pylist()
        values[row] = value
        place = table.schema.get_field_index(column)
        return table.set_column(
            place, column, pyarrow.array(values, table.schema.field(column).type)
        )

    rows(file, change)


OTHERWISE = "is not as docs/neighbors.md describes it"
INCOMPLETE = "once for each query and embedder"


def with_markup(about: dict) -> dict:
    about["embedders"][0]["family"] = "<script>"
    return about


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda file: file.unlink(), "no such file"),
        (lambda file: file.write_text("<!DOCTYPE html><title>404</title>"), OTHERWISE),
        (
            lambda file: described(file, lambda about: about | {"version": 2}),
            "is of version 2 of the format",
        ),
        (
            lambda file: described(file, with_markup),
            "has a name with more than letters",
        ),
        (lambda file: rows(file, lambda table: table.slice(1)), INCOMPLETE),
        (lambda file: cell(file, "neighbor", 0, -1), "has an index outside 0 to 5"),
        (lambda file: cell(file, "neighbor", 0, 0), "a query that is its own neighbor"),
        (lambda file: cell(file, "neighbor", 0, 1), "names a sentence twice"),
        (lambda file: cell(file, "similarity", 1, np.nan), "are not finite or rise"),
        (lambda file: cell(file, "similarity", 1, 1.0), "or rise with the rank"),
    ],
)
def test_another_file_gets_a_sentence_that_names_it(file, spoil, message) -> None:
    spoil(file)
    with pytest.raises(InputError) as error:
        situate.read(file)
    assert str(error.value).startswith(f"{file}: ")
    assert message in str(error.value)


# -- by hand ---------------------------------------------------------------------------


@pytest.fixture
def few() -> Neighborhoods:
    return hoods(LISTS, np.array([0, 1]), 10)


def test_the_row_by_hand(few) -> None:
    row = situate.row(few.ids, "new", CLUSTERS, SAMPLING)
    assert row["value"].to_dict() == {"a": 0.75, "b": 0.5, "c": 0.25}
    assert list(row.index) == ["a", "b", "c"]
    # Over queries the overlaps with a are 1/2 and 1, with b 1/2 and 1/2, with c 0 and
    # 1/2.
    assert row["low"].to_list() == [0.5, 0.5, 0]
    assert row["high"].to_list() == [1, 0.5, 0.5]
    assert row["constant"].to_list() == [False, True, False]


def test_what_is_found_alone_by_hand(few) -> None:
    alone = situate.alone(few.ids, CLUSTERS, SAMPLING)["value"]
    assert alone.to_dict() == {"b": 0.5, "c": 0.5, "new": 0.25, "a": 0}  # 8, 2; 6, 6; 4


def test_an_example_has_what_is_shared_and_what_is_found_alone(few) -> None:
    assert situate.example(few, "new", ["a", "b"], 0) == {"shared": [3], "alone": [4]}
    assert situate.example(few, "new", ["a"], 1) == {"shared": [5, 9], "alone": []}
    assert (
        situate.typical(few, "new", "a") == 0
    )  # 1/2 and 1 are equally far from their mean: the first


# -- placing ---------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch) -> None:
    """A cache of its own for each test."""
    monkeypatch.setattr(
        situate, "EmbeddingStore", lambda: EmbeddingStore(tmp_path / "store")
    )
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")


@pytest.fixture
def corpus(tmp_path, rng) -> corpora.Corpus:
    words = ["in", "the", "beginning", "was", "a", "word", "went", "out", "world"]
    lines = [" ".join(rng.choice(words, 6)) for _ in range(60)]
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\n")
    return corpora.load(f"lines:{tmp_path / 'text.txt'}")


@pytest.fixture
def stored(corpus, tmp_path) -> Neighborhoods:
    names = ["bow", "tfidf", "pca-bow-3d"]
    queries = np.arange(3, 60, 4)
    vectors = EmbeddingStore(tmp_path / "store").embed_all(names, corpus)
    found = neighbors.of_each(vectors, queries, k=5)
    return situate.of(corpus, queries, found, vectors)


def letters(sentences: list[str]) -> np.ndarray:
    return np.array(
        [
            [sentence.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"]
            for sentence in sentences
        ]
    )


def test_a_stored_embedder_that_is_placed_again_lands_on_itself(corpus, stored) -> None:
    name = "pca-bow-3d"
    placed = situate.place(
        own.load(embedders.load(name), "again").fit(corpus.sentences), corpus, stored
    )
    table = n2o.matrix(placed.ids)
    assert table.loc["again", name] == 1
    pd.testing.assert_series_equal(
        table["again"].drop("again"), table[name].drop("again"), check_names=False
    )


# README: "It needs study 1's stored neighbors, not its embeddings"
def test_the_stored_neighbors_stay_as_they_are_and_the_new_ones_are_those_of_plain_numpy(  # noqa: E501
    corpus, stored
) -> None:
    fresh = own.load(letters, "letters")
    placed = situate.place(fresh, corpus, stored)
    assert list(placed.found) == [*stored.found, "letters"]
    assert all(placed.found[name] is lists for name, lists in stored.found.items())
    vectors = letters(corpus.sentences) / np.linalg.norm(
        letters(corpus.sentences), axis=1, keepdims=True
    )
    queries = stored.queries
    cosines = vectors[queries] @ vectors.T
    cosines[np.arange(len(queries)), queries] = -1
    expected = np.argsort(-cosines.round(12), axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(placed.ids["letters"], expected)
    assert placed.about.loc["letters"].to_list() == ["your own", 26]
    assert fresh.sentences == len(corpus)
    kept = own.load(letters, "letters")
    again = situate.place(kept, corpus, stored)  # from the store
    np.testing.assert_array_equal(again.ids["letters"], expected)
    assert kept.sentences == 0


def test_another_text_and_a_name_that_is_taken_are_refused_before_anything_is_encoded(
    corpus, stored, tmp_path
) -> None:
    (tmp_path / "other.txt").write_text(
        "\n".join([*corpus.sentences, "one more"]) + "\n"
    )
    mine = own.load(letters, "bow-ish")
    with pytest.raises(
        InputError,
        match=(
            r"fingerprint \w+\) is not the text of the stored neighbors, .*, "
            r"fingerprint \w+\)"
        ),
    ):
        situate.place(mine, corpora.load(f"lines:{tmp_path / 'other.txt'}"), stored)
    taken = replace(stored, found={"bow-ish": stored.found["bow"]})
    with refused("'bow-ish' is one of the stored embedders"):
        situate.place(mine, corpus, taken)
    assert mine.sentences == 0


def test_constant_vectors_are_not_ranked(corpus, stored) -> None:
    for constant in (np.ones, np.zeros):
        with pytest.raises(
            InputError, match=r"^same: every neighbor is as near as every other one, so"
        ):
            situate.place(
                own.load(lambda sentences, c=constant: c((len(sentences), 2)), "same"),
                corpus,
                stored,
            )


def test_chance_is_that_of_blind_drawing(rng) -> None:
    """The expected overlap is k / (n - 1).

    The highest of three exceeds the other value in at most 5 % of draws.
    """
    queries, k, size = np.arange(40), 10, 300
    blind = {
        name: [rng.choice(size, k, replace=False).tolist() for _ in queries]
        for name in "abcd"
    }
    found = {
        name: Neighbors(np.array(ids), np.zeros((40, k))) for name, ids in blind.items()
    }
    chance, rarely = situate.by_chance(replace(hoods({}, queries, size), found=found))
    assert chance == pytest.approx(10 / 299)
    shared = (
        rng.hypergeometric(k, size - 1 - k, k, size=(4000, 3, len(queries))).mean(
            axis=2
        )
        / k
    )
    assert shared.mean() == pytest.approx(chance, rel=0.01)
    assert 0.01 < np.mean(shared.max(axis=1) > rarely) <= 0.05


def test_without_stored_neighbors_the_corpus_needs_a_name() -> None:
    with pytest.raises(InputError, match=r"^corpus_name: is empty; give a corpus"):
        situate.text("", None)


# -- the command -----------------------------------------------------------------------


# README: "`make situate EMBEDDER=file.py:function NAME=mine` places it among the
# others"
def test_the_command_executes_the_lesson_with_stored_neighbors_and_says_where_it_is(
    stored, tmp_path, capsys, monkeypatch
) -> None:
    code = tmp_path / "mine.py"
    code.write_text(
        "import numpy as np\n\n\ndef encode(sentences):\n"
        "    return np.array([[s.count(c) for c in 'abcdefghijklmnopqrstuvwxyz'] for s "
        "in sentences])\n"
    )
    stored.write(tmp_path / "stored.parquet")
    for name in ("FIGURES", "RUNS"):
        monkeypatch.setattr(paths, name, tmp_path / name.lower())
    given = {
        "embedder": f"{code}:encode",
        "embedder_name": "letters",
        "neighbors_file": tmp_path / "stored.parquet",
    }
    options = [
        f"--set={name}={value}" for name, value in (given | {"corpus_name": ""}).items()
    ]
    assert runner.main(["--notebook=09", "--output=situated/mine", *options]) == 0
    folder = paths.FIGURES / "situated" / "mine" / "09_situate_your_own"
    out = capsys.readouterr().out
    assert f"up to date in {folder.parent}" in out
    assert f"(chance: {5 / 59:.3f}, rarely above " in out
    assert out.splitlines()[-1].startswith(f"open {folder / 'n2o_row.png'}")
    executed = nbformat.read(folder / "09_situate_your_own.ipynb", as_version=4)
    outputs = "".join(str(cell.get("outputs", "")) for cell in executed.cells)
    assert "s.count(c) for c in" in re.sub("<[^>]*>", "", outputs)
    assert "HashingVectorizer" not in outputs
    placed = situate.read(folder / "neighbors.parquet")
    assert list(placed.found) == ["bow", "tfidf", "pca-bow-3d", "letters"]
    row = pd.read_csv(folder / "n2o_row.csv", index_col="embedder")["n2o"]
    np.testing.assert_allclose(
        row, n2o.matrix(placed.ids).loc["letters", row.index], atol=1e-6
    )
    assert {"n2o_row.png", "n2o_map.png", "found_alone.csv"} <= {
        file.name for file in folder.iterdir()
    }


def test_a_try_that_fails_leaves_no_folder(tmp_path, capsys, monkeypatch) -> None:
    for name in ("FIGURES", "RUNS"):
        monkeypatch.setattr(paths, name, tmp_path / name.lower())
    assert (
        runner.main(
            ["--notebook=09", "--output=situated/../x", "--set=embedder_name=../x"]
        )
        == 2
    )
    assert "embedder_name: '../x' is not accepted" in capsys.readouterr().err
    assert not paths.FIGURES.exists()
    assert not paths.RUNS.exists()


# -- when a notebook must run again ----------------------------------------------------


def test_the_digest_sees_an_edited_embedder_a_model_s_folder_and_stored_neighbors(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(paths, "NOTEBOOKS", tmp_path)
    notebook = tmp_path / "09_own.ipynb"
    parameters = nbformat.v4.new_code_cell(
        "embedder = ''\nneighbors_file = ''", metadata={"tags": ["parameters"]}
    )
    nbformat.write(nbformat.v4.new_notebook(cells=[parameters]), notebook)
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    given = {
        tmp_path / "mine.py": {"embedder": f"{tmp_path / 'mine.py'}:encode"},
        model / "weights": {"embedder": str(model)},
        tmp_path / "stored.parquet": {
            "neighbors_file": str(tmp_path / "stored.parquet")
        },
    }
    for file, each in given.items():
        file.write_text("one")
        job = Job(notebook, "default", each)
        before = job.digest()
        assert before == job.digest()
        file.write_text("edited")
        assert before != job.digest()
