"""Stored neighbors: the file gives back what was put in, any reader of Parquet reads it, and no other file passes."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from lib import corpora, n2o, neighborhoods
from lib.neighborhoods import Entry, Neighborhoods
from lib.neighbors import Neighbors
from lib.run import paths
from lib.run.errors import InputError
from lib.store import EmbeddingStore

IDS = {"one": [[3, 1], [4, 0], [5, 4]], "two": [[1, 2], [0, 3], [0, 5]]}
COSINES = np.array([[0.9, 0.5], [0.75, 0.75], [0.5, -0.25]], dtype=np.float32)
SAMPLES = [[0, 2], [2, 3], [0, 3]]  # queries 0, 2 and 3


def entry(ids, similarities=COSINES, family: str = "sparse", dim: int = 7) -> Entry:
    return Entry(Neighbors(np.array(ids), np.asarray(similarities)), family, dim)


def toy(**changed) -> Neighborhoods:
    entries = {"one": entry(IDS["one"]), "two": entry(IDS["two"], family="static", dim=50)}
    fields = {"corpus": "toy", "fingerprint": "f" * 32, "size": 6, "samples": n2o.Samples.of(SAMPLES)}
    return Neighborhoods(**(fields | {"entries": entries} | changed))


def same(left: Neighborhoods, right: Neighborhoods) -> bool:
    return (left.corpus, left.fingerprint, left.size, left.k) == (
        right.corpus,
        right.fingerprint,
        right.size,
        right.k,
    ) and (left.table().equals(right.table(), check_metadata=True))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "neighbors.parquet"
    toy().write(path)
    return path


# -- what is written is read again --------------------------------------------------------------


def test_the_file_gives_back_everything(file) -> None:
    read = neighborhoods.read(file)
    assert same(read, toy())
    assert list(read.entries) == ["one", "two"]
    assert read.families == {"one": "sparse", "two": "static"}
    assert [each.dim for each in read.entries.values()] == [7, 50]
    for name, ids in IDS.items():
        assert read.ids[name].tolist() == ids
        assert read.ids[name].dtype == np.int64
        np.testing.assert_array_equal(read.entries[name].neighbors.similarities, COSINES)


def test_samples_that_are_read_are_those_that_were_drawn(tmp_path) -> None:
    drawn = n2o.Samples(np.arange(40), n=15, samples=3, rng=np.random.default_rng(3))
    ids = (drawn.queries[:, None] + np.array([1, 2])) % 40
    cosines = np.tile(np.array([0.5, 0.25], np.float32), (len(ids), 1))
    toy(size=40, samples=drawn, entries={"one": entry(ids, cosines)}).write(tmp_path / "drawn.parquet")
    read = neighborhoods.read(tmp_path / "drawn.parquet").samples
    np.testing.assert_array_equal(read.queries, drawn.queries)
    np.testing.assert_array_equal(read.weights, drawn.weights)
    for ours, theirs in zip(read.members, drawn.members, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_same_neighbors_give_the_same_bytes(file, tmp_path) -> None:
    neighborhoods.read(file).write(tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == file.read_bytes()


def test_plain_pandas_reads_the_documented_columns(file) -> None:
    table = pd.read_parquet(file)
    kinds = {"embedder": "category", "query": "int32", "rank": "int16", "neighbor": "int32", "similarity": "float32"}
    assert {name: str(kind) for name, kind in table.dtypes.items()} == kinds
    assert len(table) == 2 * 3 * 2
    found = table[(table["embedder"] == "two") & (table["query"] == 2)]
    assert found[["rank", "neighbor", "similarity"]].values.tolist() == [[1, 0, 0.75], [2, 3, 0.75]]


def test_rows_may_come_in_any_order(file, rng) -> None:
    table = parquet.read_table(file)
    parquet.write_table(table.take(rng.permutation(len(table))), file)
    assert same(neighborhoods.read(file), toy())


def test_keys_of_the_description_that_are_not_known_do_no_harm(file) -> None:
    described(file, lambda about: about | {"authors": "us"})
    assert same(neighborhoods.read(file), toy())


def test_a_failed_write_leaves_the_old_file_and_nothing_else(file, monkeypatch) -> None:
    before = file.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
        toy(corpus="other").write(file)
    assert file.read_bytes() == before
    assert [each.name for each in file.parent.iterdir()] == [file.name]


# -- files that are something else --------------------------------------------------------------


def described(file, change) -> None:
    """Rewrite the file with another description."""
    table = parquet.read_table(file)
    about = change(json.loads(table.schema.metadata[neighborhoods.FORMAT.encode()]))
    parquet.write_table(table.replace_schema_metadata({neighborhoods.FORMAT: json.dumps(about)}), file)


def rows(file, change) -> None:
    """Rewrite the file with other rows."""
    table = parquet.read_table(file)
    parquet.write_table(change(table).replace_schema_metadata(table.schema.metadata), file)


def with_value(table: pyarrow.Table, column: str, row: int, value: float) -> pyarrow.Table:
    values = table.column(column).to_pylist()
    values[row] = value
    place = table.schema.get_field_index(column)
    return table.set_column(place, column, pyarrow.array(values, table.schema.field(column).type))


OTHERWISE = "is not as docs/neighbors.md describes it"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda file: file.unlink(), "no such file"),
        (lambda file: file.write_text("embedder,query\none,0\n"), "is no Parquet file"),
        (lambda file: file.write_text("<!DOCTYPE html><title>404</title>"), "is no Parquet file"),
        (lambda file: file.write_bytes(file.read_bytes()[:-9]), "or a damaged one"),
        (lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]), "or a damaged one"),
        (lambda file: pd.DataFrame({"a": [1]}).to_parquet(file), "holds no stored neighbors"),
        (lambda file: pd.read_parquet(file).to_parquet(file), "holds no stored neighbors"),
        (lambda file: described(file, lambda about: [about]), "holds no stored neighbors"),
        (lambda file: described(file, lambda about: about | {"version": "new"}), "holds no stored neighbors"),
        (lambda file: described(file, lambda about: about | {"version": 2}), "is of version 2 of the format"),
        (lambda file: described(file, lambda about: about | {"k": None}), OTHERWISE),
        (lambda file: described(file, lambda about: about | {"samples": []}), OTHERWISE),
        (lambda file: described(file, lambda about: about | {"corpus": "toy"}), OTHERWISE),
        (lambda file: described(file, lambda about: about | {"k": 10**9}), "has not ranks 1 to 1000000000"),
        (lambda file: described(file, lambda about: about | {"k": 1}), "has not ranks 1 to 1 of each query"),
        (lambda file: described(file, lambda about: about | {"samples": [[0, 1, 2]]}), "has not ranks 1 to 2"),
        (lambda file: rows(file, lambda table: table.drop_columns("rank")), OTHERWISE),
        (lambda file: rows(file, lambda table: table.slice(1)), "has not ranks 1 to 2 of each query"),
        (lambda file: rows(file, lambda table: with_value(table, "rank", 1, 1)), "has not ranks 1 to 2 of each query"),
        (lambda file: rows(file, lambda table: with_value(table, "embedder", 0, "x")), "has not ranks 1 to 2"),
        (lambda file: rows(file, lambda table: with_value(table, "neighbor", 0, 6)), "6 is not an index of a corpus"),
        (lambda file: rows(file, lambda table: with_value(table, "neighbor", 0, -1)), "-1 is not an index"),
        (lambda file: rows(file, lambda table: with_value(table, "neighbor", 0, 0)), "a query is its own neighbor"),
        (lambda file: rows(file, lambda table: with_value(table, "neighbor", 0, 1)), "names a sentence twice"),
        (lambda file: rows(file, lambda table: with_value(table, "similarity", 1, np.nan)), "are not finite"),
        (lambda file: rows(file, lambda table: with_value(table, "similarity", 1, 1.0)), "or rise with the rank"),
    ],
)  # fmt: skip
def test_another_file_gets_a_sentence_that_names_it(file, spoil, message) -> None:
    spoil(file)
    with pytest.raises(InputError) as error:
        neighborhoods.read(file)
    assert str(error.value).startswith(f"{file}: ")
    assert message in str(error.value)


@given(st.data())
def test_damage_anywhere_never_ends_in_anything_but_a_sentence(tmp_path_factory, data) -> None:
    file = tmp_path_factory.mktemp("damage") / "neighbors.parquet"
    toy().write(file)
    whole = bytearray(file.read_bytes())
    for place in data.draw(st.lists(st.integers(4, len(whole) - 1), min_size=1, max_size=3)):
        whole[place] ^= data.draw(st.integers(1, 255))
    file.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    with suppress(InputError):
        neighborhoods.read(file)


# -- neighbors that do not fit ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"entries": {}}, "neighbors: of no embedder"),
        ({"size": 3}, "queries: 3 is not an index of a corpus of 3 sentences; give 0 to 2"),
        ({"entries": {"one": entry([[3, 1], [4, 0]], COSINES[:2])}}, r"shapes (2, 2) and (2, 2)"),
        ({"entries": {"one": entry(IDS["one"]), "two": entry([[1], [0], [0]], COSINES[:, :1])}}, "neighbors of two"),
        ({"entries": {"one": entry(IDS["one"], COSINES[:, ::-1])}}, "give the nearest first"),
        ({"entries": {"one": entry(np.empty((3, 0), int), COSINES[:, :0])}}, "one: 0 of each query; give 1 to 32767"),
    ],
)
def test_lists_that_do_not_fit_together_are_refused(changed, message) -> None:
    with pytest.raises(InputError) as error:
        toy(**changed)
    assert message in str(error.value)


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A function that makes a corpus of its lines."""
    folder = tmp_path_factory.mktemp("texts")

    def make(name: str, lines: list[str]) -> corpora.Corpus:
        (folder / name).write_text("\n".join(lines) + "\n")
        return corpora.load(f"lines:{folder / name}")

    return make


LINES = ["a b c", "a b d", "b c d", "x y", "x y z", "c x"]


def test_another_text_is_refused_even_under_the_same_name(texts) -> None:
    corpus = texts("text", LINES)
    stored = toy(corpus=corpus.name, fingerprint=corpus.fingerprint)
    stored.check(corpus)
    with pytest.raises(InputError, match=r"\(6 sentences, fingerprint \w+\) is not the text of the stored neighbors"):
        stored.check(texts("text", LINES[::-1]))


def test_fewer_neighbors_are_the_first_ones_and_more_are_refused() -> None:
    nearest = toy().up_to(1)
    assert nearest.k == 1
    assert {name: ids.tolist() for name, ids in nearest.ids.items()} == {"one": [[3], [4], [5]], "two": [[1], [0], [0]]}
    for k in (0, 3):
        with pytest.raises(
            InputError, match=rf"k: {k} is not accepted; 2 neighbors of each query are stored: give 1 to 2"
        ):
            toy().up_to(k)


def test_one_more_embedder_comes_last_and_needs_a_name_of_its_own(file) -> None:
    more = neighborhoods.read(file).adding("new", entry(IDS["two"], family="your own"))
    assert list(more.entries) == ["one", "two", "new"]
    more.write(file)
    assert neighborhoods.read(file).families["new"] == "your own"
    with pytest.raises(InputError, match="'one' is one of the stored embedders"):
        more.adding("one", entry(IDS["two"]))


def test_searching_now_is_what_n2o_finds(texts, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(n2o, "EmbeddingStore", lambda: EmbeddingStore(tmp_path / "store"))
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    corpus, samples = texts("text", LINES), n2o.Samples.of([[0, 3], [3, 5]])
    stored = neighborhoods.search(["bow", "tfidf"], corpus, samples, k=2)
    found, _ = n2o.neighbors(["bow", "tfidf"], corpus, samples.queries, 2)
    assert (stored.corpus, stored.fingerprint, stored.size, stored.k) == (corpus.name, corpus.fingerprint, 6, 2)
    assert stored.families == {"bow": "sparse", "tfidf": "sparse"}
    for name, lists in found.items():
        np.testing.assert_array_equal(stored.ids[name], lists.ids)
    # "x y" shares both of its words with "x y z", and one of them with "c x".
    assert stored.ids["bow"][1].tolist() == [4, 5]
