"""What a swap measures beside N2O: labels, floors, bridges, growth, other searches."""

from __future__ import annotations

from types import MappingProxyType

import numpy as np
import pytest

from lib import swap
from lib.embedders.base import Embedder
from lib.embedders.shrunk import Float16
from lib.swap import bridge, floors, labels
from lib.swap.searching import nearest, scores
from tests.letters import letters, write_letters
from tests.refusals import refused

SENTENCES = [f"word{i % 40} number{i}" for i in range(400)]


@pytest.fixture
def vectors(rng) -> np.ndarray:
    return rng.normal(size=(len(SENTENCES), 12))


@pytest.fixture
def turned(vectors, rng) -> np.ndarray:
    rotation, _ = np.linalg.qr(rng.normal(size=(12, 12)))
    return 3 * vectors @ rotation


# -- searches --------------------------------------------------------------------------


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
def test_each_similarity_is_searched_exactly_and_ties_go_to_the_lower_index(
    rng, similarity
) -> None:
    text = rng.normal(size=(300, 8)) * rng.uniform(0.1, 5, size=(300, 1)) + 1
    text[200:] = text[:100]
    queries = rng.normal(size=(40, 8))
    products = queries @ text.T
    lengths = np.outer(*(np.linalg.norm(each, axis=1) for each in (queries, text)))
    expected = {
        "cosine": products / lengths,
        "dot": products,
        "euclidean": -np.linalg.norm(queries[:, None] - text, axis=2),
    }[similarity]
    placed = swap.Vectors(text, queries, similarity)
    ids = nearest(placed, 10, None)
    order = np.lexsort((np.broadcast_to(np.arange(300), (40, 300)), -expected.round(9)))
    np.testing.assert_array_equal(ids, order[:, :10])
    found = np.take_along_axis(expected, ids, axis=1)
    np.testing.assert_allclose(scores(placed, ids), found)


def test_bm25_is_a_side_and_its_scores_are_those_of_the_package(vectors) -> None:
    import bm25s

    queries = ["word3 number3", "word5 word7", "number9"]
    given = swap.Vectors(vectors, vectors[:3])
    found = swap.compare("bm25", given, SENTENCES, k=5, queries=queries).old
    model = bm25s.BM25()
    options = {"stopwords": None, "show_progress": False}
    model.index(bm25s.tokenize(SENTENCES, **options), show_progress=False)
    for query, ids, values in zip(queries, found.ids, found.scores, strict=True):
        expected = model.get_scores(query.split())
        np.testing.assert_array_equal(ids, np.argsort(-expected, kind="stable")[:5])
        np.testing.assert_allclose(values, expected[ids], rtol=1e-5)
    assert "fewer than 5 sentences that share a word with the query" in found.notes[0]


def test_an_index_is_a_side_and_full_queries_meet_smaller_vectors(
    vectors, tmp_path, own_cache
) -> None:
    side = swap.opened(vectors)
    index = swap.Side(side.name, side.place, "hnsw")
    assert 0.9 < swap.compare(side, index, SENTENCES).overlaps.mean() <= 1
    name = write_letters(tmp_path / "mine.py")
    task = swap.make_queries(SENTENCES, 100)
    found = swap.search(f"{name}@binary#full-query", task, 10)
    full = letters(SENTENCES)
    hand = swap.Vectors(np.where(full > 0, 1, -1), full[task.rows])
    np.testing.assert_array_equal(found.ids, nearest(hand, 10, task.rows))
    with refused("its codes are no vectors that a full query can be compared with"):
        swap.search(f"{name}@int8-codes#full-query", task, 10)


def test_queries_and_text_are_encoded_in_their_roles(vectors) -> None:
    class Two:
        def encode_query(self, sentences):
            return np.array([[len(each), 1.0] for each in sentences])

        def encode_document(self, sentences):
            return np.array([[1.0, len(each)] for each in sentences])

    texts = ["a" * i for i in range(1, 40)]
    found = swap.search(swap.opened(Two(), "two"), swap.make_queries(texts, 20), 3)
    lengths = np.arange(1, 40)
    text = np.stack([np.ones(39), lengths], axis=1)
    rows = swap.make_queries(texts, 20).rows
    hand = nearest(swap.Vectors(text, text[rows][:, ::-1]), 3, rows)
    np.testing.assert_array_equal(found.ids, hand)


class Prompted(Embedder):
    """The letters of a sentence with its prompt."""

    name = "prompted"
    parameters = ("prompt",)
    prompts = MappingProxyType({"query": "qqq ", "document": "ddd "})
    prompt = ""

    def _encode(self, sentences):
        return letters([self.prompt + each for each in sentences])


@pytest.mark.parametrize("form", [lambda embedder: embedder, Float16])
def test_each_side_has_its_own_prompts_or_those_that_are_given(own_cache, form) -> None:
    task = swap.make_queries(SENTENCES, SENTENCES[:30])
    for given, query, text in (
        (swap.Prompts(), "qqq ", "ddd "),
        (swap.Prompts(query="zz "), "zz ", "ddd "),
        (swap.Prompts("a", "b"), "a", "b"),
    ):
        side = swap.opened(form(Prompted()), prompts=given)
        placed = side.place(task)
        expected = letters([text + each for each in SENTENCES])
        np.testing.assert_array_equal(placed.text, expected)
        asked = letters([query + each for each in SENTENCES[:30]])
        np.testing.assert_array_equal(placed.queries, asked)


# -- labels ----------------------------------------------------------------------------


def test_labels_by_hand() -> None:
    text = ["zero", "one", "two", "three"]
    old = np.array([[4.0, 3, 2, 1], [1, 2, 3, 4]])
    new = np.array([[3.0, 4, 2, 1], [1, 2, 3, 4]])
    sides = [swap.Vectors(np.eye(4), queries, "dot") for queries in (old, new)]
    found = swap.compare(*sides, text, k=2, queries=["a", "b"])
    judged = {"1": {"1": 1, "4": 0}, "2": {"3": 2, "4": 1}}
    table = labels.quality(found, judged).table
    assert table.loc["MRR@10", ["old", "new"]].tolist() == [1, 0.75]
    ideal = 2 + 1 / np.log2(3)
    second = (1 + 2 / np.log2(3)) / ideal
    assert table.loc["nDCG@10", "old"] == pytest.approx((1 + second) / 2)
    assert table.loc["nDCG@10", "value"] == pytest.approx((1 / np.log2(3) - 1) / 2)
    assert table.loc["recall@2", ["old", "new", "value"]].tolist() == [1, 1, 0]
    weighted = swap.compare(*sides, text, 2, ["a", "b"], weights=[3, 1])
    table = labels.quality(weighted, judged).table
    assert table.loc["MRR@10", ["new", "value"]].tolist() == [0.625, -0.375]
    assert weighted.units == 1  # 16 / 10


@pytest.mark.parametrize(
    ("judged", "message"),
    [
        ({"1": {"9": 1}}, "QRELS: names 1 sentences that the text does not have ('9',"),
        ({"7": {"1": 1}}, "QRELS: has no relevant sentence for any of the queries"),
        ({"1": {"1": 0}}, "QRELS: has no relevant sentence for any of the queries"),
    ],
)
def test_judgments_of_another_text_are_refused(judged, message) -> None:
    sides = swap.Vectors(np.eye(3), np.eye(3)[:1])
    found = swap.compare(sides, sides, ["a", "b", "c"], k=2, queries=["q"])
    with refused(message):
        labels.quality(found, judged)


# -- floors ----------------------------------------------------------------------------


def test_a_floor_moves_with_the_scores_and_no_decision_flips(vectors) -> None:
    sides = [swap.Vectors(each, None, "dot") for each in (vectors, 2 * vectors)]
    found = swap.compare(*sides, SENTENCES, k=5)
    floor = float(np.median(found.old.scores))
    seen = floors.floors(found, floor)
    assert seen["matched"]["value"] == pytest.approx(4 * floor, rel=0.01)
    values = {name: row["value"] for name, row in seen["shares"].items()}
    assert values["results_old"] == pytest.approx(0.5, abs=0.01)
    assert values["results_new"] > 0.9
    assert values["result_flips_matched"] == values["query_flips_matched"] == 0
    assert values["result_flips_same"] == pytest.approx(
        values["results_new"] - values["results_old"]
    )


@pytest.mark.parametrize(
    ("weights", "matched"), [(None, 0.7), ([1, 3], 0.7), ([3, 1], 0.2)]
)
def test_a_matched_floor_passes_as_much_traffic(weights, matched) -> None:
    text = np.eye(2)
    before, after = np.diag([0.9, 0.4]), np.diag([0.2, 0.7])
    sides = [swap.Vectors(text, each, "dot") for each in (before, after)]
    found = swap.compare(
        *sides, ["a", "b"], k=1, queries=["first", "second"], weights=weights
    )
    seen = floors.floors(found, 0.5)
    assert seen["matched"]["value"] == pytest.approx(matched)


def test_what_passes_a_floor_by_hand() -> None:
    text = np.eye(2)
    before, after = np.diag([0.9, 0.4]), np.diag([0.9, 0.7])
    sides = [swap.Vectors(text, each, "dot") for each in (before, after)]
    found = swap.compare(*sides, ["a", "b"], k=1, queries=["first", "second"])
    shares = floors.floors(found, 0.5)["shares"]
    values = {name: row["value"] for name, row in shares.items()}
    assert (values["queries_old"], values["queries_new"]) == (0.5, 1)
    assert (values["results_old"], values["results_new"]) == (0.5, 1)
    assert values["query_flips_same"] == values["result_flips_same"] == 0.5


@pytest.mark.parametrize(
    ("floor", "message"),
    [
        (1.5, "FLOOR: 1.5 is not accepted; give -1.0 to 1.0"),
        (1.0, "FLOOR: 1: no result of old passes; its scores are"),
    ],
)
def test_a_floor_out_of_range_is_refused(vectors, floor, message) -> None:
    with refused(message):
        floors.floors(swap.compare(vectors, vectors, SENTENCES), floor)


# -- bridges ---------------------------------------------------------------------------


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
def test_a_bridge_to_a_rotated_copy_keeps_everything(
    vectors, turned, similarity
) -> None:
    sides = [swap.Vectors(each, None, similarity) for each in (vectors, turned)]
    found = swap.compare(*sides, SENTENCES, k=5, queries=100)
    table = bridge.bridges(found)
    assert len(table) == 5
    assert table["value"].min() > (0.999 if similarity != "dot" else 0.9)
    exact = table[(table["method"] == "orthogonal") & (table["way"] == "index")]
    assert exact["value"].tolist() == [1]


def test_a_bridge_between_strangers_keeps_chance_and_labels_say_so(
    vectors, rng
) -> None:
    strange = rng.normal(size=vectors.shape)
    found = swap.compare(vectors, strange, SENTENCES, queries=100)
    best = {"1": {"1": 1}}
    for row, ids in zip(found.task.rows, found.new.ids, strict=True):
        best[str(row + 1)] = {str(ids[0] + 1): 1}
    table = bridge.bridges(found, best)
    assert table["high"].max() < 0.1
    assert table["kept"].max() < 0.2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"queries": 360},
            "BRIDGE: 40 sentences of the text are no query; give a text",
        ),
        (
            {"new": "bm25", "k": 12},
            "BRIDGE: bm25 has no dense vectors; give sides that have",
        ),
    ],
)
def test_where_no_bridge_can_be_built_it_is_said(vectors, change, message) -> None:
    given = {"old": vectors, "new": vectors, "sentences": SENTENCES, "k": 3} | change
    with refused(message):
        bridge.bridges(swap.compare(**given))


# -- growth ----------------------------------------------------------------------------


def test_growth_of_a_copy_stays_and_of_noise_falls(vectors, turned, rng) -> None:
    same = swap.compare(vectors, turned, SENTENCES, k=5).growth()
    assert same["sentences"].tolist() == [100, 200, 400, 4000]
    assert same["value"].min() > 0.999
    noisy = vectors + 0.5 * rng.normal(size=vectors.shape)
    falling = swap.compare(vectors, noisy, SENTENCES, k=5).growth()
    assert falling["value"].is_monotonic_decreasing
    assert (falling["low"] <= falling["value"]).all()
