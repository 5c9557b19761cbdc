"""Popular neighbors and outliers: by hand, by sets from the definition, and what must not change them."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from lib import corpora, n2o, popularity
from lib import popularity_averages as averages
from lib.run.errors import InputError

# One query; the sentences are 1 to 5.
TOY = {
    name: np.array([lists]) for name, lists in {"A": [1, 2, 3], "B": [1, 3, 2], "C": [2, 1, 3], "D": [1, 4, 5]}.items()
}
SETTINGS = {"repetitions": 300, "confidence": 0.95}


def rows(table: pd.DataFrame, *columns: str) -> list[tuple]:
    return list(table[list(columns)].itertuples(index=False, name=None))


@st.composite
def neighbor_lists(draw) -> dict[str, np.ndarray]:
    """Lists of a few embedders for a few queries over few sentences, so that they meet often."""
    embedders, queries, k = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    names = [f"e{i}" for i in range(embedders)]
    return {name: np.array([rng.choice(9, k, replace=False) for _ in range(queries)]) for name in names}


# -- who finds what -----------------------------------------------------------------------------


def test_popularity_by_hand() -> None:
    assert rows(popularity.popular(TOY, 2), "sentence", "popularity") == [(1, 4), (2, 2), (3, 1), (4, 1)]
    assert rows(popularity.popular(TOY, 1), "sentence", "popularity") == [(1, 3), (2, 1)]


def test_outliers_by_hand() -> None:
    assert rows(popularity.outliers(TOY, near=2, far=3), "embedder", "rank", "sentence") == [("D", 2, 4)]
    assert rows(popularity.outliers(TOY, near=3, far=3), "embedder", "rank", "sentence") == [("D", 2, 4), ("D", 3, 5)]
    # With a far neighborhood of 2, sentence 3 is B's alone, too.
    assert rows(popularity.outliers(TOY, near=2, far=2), "embedder", "rank", "sentence") == [("B", 2, 3), ("D", 2, 4)]


def test_what_others_know_by_hand() -> None:
    known = popularity.known(TOY, 0, rank=2, far=3)
    assert known.to_numpy().tolist() == [[4, 3], [4, 3], [3, 4], [4, 1]]
    assert list(known.index) == list("ABCD")
    assert list(known.columns) == [1, 2]


@given(neighbor_lists(), st.data())
def test_popularity_is_the_number_of_sets_that_hold_a_sentence(ids, data) -> None:
    shape = next(iter(ids.values())).shape
    k = data.draw(st.integers(1, shape[1]))
    expected = {}
    for query, sentence in itertools.product(range(shape[0]), range(9)):
        holders = sum(sentence in set(lists[query, :k].tolist()) for lists in ids.values())
        if holders:
            expected[query, sentence] = holders
    table = popularity.popular(ids, k)
    assert {(q, s): p for q, s, p in rows(table, "query", "sentence", "popularity")} == expected
    assert rows(table, "query", "popularity", "sentence") == sorted(
        rows(table, "query", "popularity", "sentence"), key=lambda row: (row[0], -row[1], row[2])
    )


@given(neighbor_lists(), st.data())
def test_outliers_are_near_for_one_and_in_no_other_set(ids, data) -> None:
    queries, stored = next(iter(ids.values())).shape
    far = data.draw(st.integers(1, stored))
    near = data.draw(st.integers(1, far))
    expected = set()
    for query, name in itertools.product(range(queries), ids):
        others = set().union(*(ids[other][query, :far].tolist() for other in ids if other != name))
        first = ids[name][query, :near].tolist()
        expected |= {(query, name, first.index(i) + 1, i) for i in first if i not in others}
    table = popularity.outliers(ids, near, far)
    assert set(rows(table, "query", "embedder", "rank", "sentence")) == expected
    assert len(table) == len(expected)
    order = rows(table, "query", "rank")
    assert order == sorted(order)


@given(neighbor_lists(), st.randoms(use_true_random=False))
def test_the_order_of_embedders_does_not_matter(ids, random) -> None:
    names = list(ids)
    random.shuffle(names)
    shuffled = {name: ids[name] for name in names}
    k = next(iter(ids.values())).shape[1]
    pd.testing.assert_frame_equal(popularity.popular(shuffled, k), popularity.popular(ids, k))
    columns = ["query", "rank", "embedder", "sentence"]
    ours, theirs = (popularity.outliers(lists, k, k)[columns] for lists in (ids, shuffled))
    pd.testing.assert_frame_equal(
        ours.sort_values(columns, ignore_index=True), theirs.sort_values(columns, ignore_index=True)
    )


@given(neighbor_lists())
def test_a_query_marks_its_outliers_with_a_one(ids) -> None:
    k = next(iter(ids.values())).shape[1]
    marked = popularity.known(ids, 0, k, k).stack()
    found = popularity.outliers(ids, k, k)
    of_query = found[found["query"] == 0]
    assert set(rows(of_query, "embedder", "rank")) == set(marked[marked == 1].index)


@given(neighbor_lists())
def test_sentences_shared_by_drawn_embedders_are_counted_by_drawing_them_all(ids) -> None:
    queries, k = next(iter(ids.values())).shape
    shared = averages.shared(averages.histogram(popularity.popular(ids, k), queries, len(ids)))
    for m in range(1, len(ids) + 1):
        draws = [
            [len(set.intersection(*(set(ids[name][query].tolist()) for name in drawn))) for query in range(queries)]
            for drawn in itertools.combinations(ids, m)
        ]
        np.testing.assert_allclose(shared[:, m - 1], np.mean(draws, axis=0), atol=1e-12)


def test_two_drawn_embedders_share_k_times_the_average_n2o() -> None:
    shared = averages.shared(averages.histogram(popularity.popular(TOY, 2), 1, 4))[0]
    average = n2o.per_query({name: lists[:, :2] for name, lists in TOY.items()}).to_numpy().mean()
    np.testing.assert_allclose(shared, [2, 7 / 6, 1, 1])
    assert shared[1] == pytest.approx(2 * average)


# -- text and meaning ---------------------------------------------------------------------------


@pytest.fixture
def verses() -> corpora.Corpus:
    """Three translations of a verse, two of another, and a sentence of which nothing is known."""
    sentences, numbers = ["one a", "two a", "one b", "three a", "two b", "x"], np.arange(6, dtype=np.int32)
    groups = np.array([7, 8, 7, 7, 8, corpora.UNKNOWN_GROUP], np.int32)
    return corpora.Corpus("verses", sentences, numbers, numbers, groups)


@pytest.fixture
def small(tmp_path) -> corpora.Corpus:
    file = tmp_path / "small.txt"
    file.write_text("The cat sleeps.\nA cat sleeps, too.\nDogs bark!\nNobody  saw it.\n", encoding="utf-8")
    return corpora.load(f"lines:{file}")


def test_a_query_is_found_whatever_its_white_space(small) -> None:
    assert popularity.find(small, " Nobody saw\tit. ") == 3


def test_a_query_that_is_not_there_gets_the_most_similar_one(small) -> None:
    with pytest.raises(
        InputError, match=r"query: 'the cat sleeps, too\.' is not a sentence of .* 'A cat sleeps, too\.'"
    ):
        popularity.find(small, "the cat sleeps, too.")


def test_described_pairs_by_hand(small) -> None:
    pairs = pd.DataFrame({"query": [0, 0, 1], "sentence": [1, 2, 0]})
    described = popularity.describe(pairs, small, np.array([0, 3]))
    np.testing.assert_allclose(described["overlap"], [2 / 5, 0, 0])  # the cat sleeps | a cat sleeps too
    assert described["same"].isna().all()
    assert list(popularity.kinds(described)) == ["all sentences"]
    covered = popularity.describe(pairs, small, np.array([0, 3]), n2o.covered)
    np.testing.assert_allclose(covered["overlap"], [2 / 3, 0, 0])


def test_translations_are_the_other_members_of_a_verse(verses) -> None:
    queries = np.array([3, 5, 1])
    assert rows(popularity.translations(verses, queries), "query", "sentence") == [(0, 0), (0, 2), (2, 4)]


def test_whether_a_pair_means_the_same_is_known_where_both_groups_are(verses) -> None:
    pairs = pd.DataFrame({"query": [0, 0, 0, 1], "sentence": [0, 1, 5, 4]})
    described = popularity.describe(pairs, verses, np.array([3, 5]))
    assert described["same"].tolist() == [True, False, pd.NA, pd.NA]
    parts = popularity.kinds(described)
    assert {kind: list(part.index) for kind, part in parts.items()} == {
        "same meaning as the query": [0],
        "other sentences": [1, 2, 3],
    }


def test_without_groups_nothing_is_a_translation(small) -> None:
    assert popularity.translations(small, np.array([0, 1])).empty


# -- averages -----------------------------------------------------------------------------------


def test_rank_correlation_is_that_of_scipy_over_all_pairs_and_within_queries(rng) -> None:
    query = np.repeat(np.arange(30), 12)
    overlap = rng.integers(0, 6, len(query)) / 6
    count = rng.integers(1, 9, len(query)) + np.round(4 * overlap).astype(int)
    count[query == 3] = 2  # constant: this query has no correlation of its own
    pairs = pd.DataFrame({"query": query, "popularity": count, "overlap": overlap})
    found = averages.correlation(pairs, np.arange(30), rng=rng, **SETTINGS)
    assert found["rho"] == pytest.approx(scipy_stats.spearmanr(count, overlap).statistic)
    own = [scipy_stats.spearmanr(part["popularity"], part["overlap"]).statistic
           for number, part in pairs.groupby("query") if number != 3]  # fmt: skip
    assert found["within"] == pytest.approx(np.mean(own))
    assert (found["pairs"], found["queries"]) == (360, 29)
    assert found["low"] < found["rho"] < found["high"]
    assert found["within_low"] < found["within"] < found["within_high"]


def test_a_correlation_of_what_does_not_vary_is_refused(rng) -> None:
    constant = pd.DataFrame({"query": [0, 0, 1], "popularity": [2, 2, 2], "overlap": [0.1, 0.2, 0.3]})
    with pytest.raises(InputError, match="constant"):
        averages.correlation(constant, np.arange(2), rng=rng, **SETTINGS)
    only_between = pd.DataFrame({"query": [0, 0, 1, 1], "popularity": [2, 2, 1, 1], "overlap": [0.1, 0.1, 0.3, 0.3]})
    with pytest.raises(InputError, match="within no query"):
        averages.correlation(only_between, np.arange(2), rng=rng, **SETTINGS)


def test_averages_leave_out_levels_with_few_verses_and_pairs_without_a_value(rng) -> None:
    many = pd.DataFrame({"query": np.arange(20), "popularity": 1, "same": [0.0, 1.0] * 10})
    one_verse = pd.DataFrame({"query": np.arange(20), "popularity": 2, "same": 1.0})
    unknown = pd.DataFrame({"query": np.arange(20), "popularity": 1, "same": np.nan})
    pairs, verses = pd.concat([many, one_verse, unknown]), np.arange(20)
    means = averages.by_level(pairs, "same", "popularity", verses, rng=rng, **SETTINGS)
    assert means["value"].to_dict() == {1: 0.5, 2: 1.0}
    few = averages.by_level(pairs, "same", "popularity", verses // 5, rng=rng, **SETTINGS)
    assert few.empty


def test_kinds_add_up_to_all_near_neighbors(rng) -> None:
    near = pd.DataFrame({"query": [0, 0, 1, 1], "popularity": [3, 1, 3, 3]})
    near["same"] = pd.array([True, False, True, pd.NA], dtype="boolean")
    means = averages.by_kind(near, np.arange(2), 3, rng=rng, **SETTINGS)
    assert means["same meaning as the query"]["value"].tolist() == [0, 0, 1]
    assert means["other sentences"]["value"].tolist() == [0.5, 0, 0.5]


# -- tables to read -----------------------------------------------------------------------------


@pytest.fixture
def read() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Near neighbors and outliers of three queries among four embedders."""
    near = pd.DataFrame(
        {
            "query": [0, 0, 1, 1, 2],
            "sentence": [1, 2, 1, 3, 2],
            "popularity": [4, 2, 4, 3, 3],
            "overlap": [0.9, 0.1, 0.3, 0.2, 0.2],
            "same": pd.array([pd.NA] * 5, dtype="boolean"),
        }
    )
    found = pd.DataFrame(
        {"query": [0, 2, 2, 2], "embedder": list("AABB"), "rank": [1, 2, 3, 4], "sentence": [3, 0, 1, 3]}
    )
    return near, found


def test_the_chosen_query_has_the_most_popular_neighbor_that_is_no_copy_then_most_outliers(read) -> None:
    near, found = read
    assert popularity.choose(near, found, near_copy=0.8) == 1  # query 0's favorite is a near-copy
    assert popularity.choose(near, found, near_copy=0.25) == 2  # 1 and 2 are even at 3, and 2 has outliers
    assert popularity.choose(near, found.head(0), near_copy=0.25) == 1  # even in everything: the first
    assert popularity.choose(near, found, near_copy=0.0) == 0  # nothing but near-copies: any neighbor counts


def test_the_table_of_a_query_reads_like_table_2(read) -> None:
    sentences = ["zero", "one", "two", "three"]
    table = popularity.of_query(*read, 2, sentences, embedders=4, k=5, rows=2)
    assert rows(table, "embedder", "rank", "sentence") == [
        ("3 of 4", "≤ 5", "two"),
        ("A", "2", "zero"),
        ("B", "3", "one"),
    ]
    everything = popularity.of_query(*read, 2, sentences, embedders=4, k=5)
    assert rows(everything, "embedder", "rank")[1:] == [("A", "2"), ("B", "3"), ("B", "4")]
    first = popularity.of_query(*read, 0, sentences, embedders=4, k=5, rows=1)
    assert rows(first, "embedder", "rank", "sentence") == [("all 4 embedders", "≤ 5", "one"), ("A", "1", "three")]


def test_all_queries_have_a_row_with_favorite_and_nearest_outlier(read, small) -> None:
    table = popularity.all_queries(*read, small, np.array([0, 3, 1]))
    assert table["query"].tolist() == ["The cat sleeps.", "Nobody saw it.", "A cat sleeps, too."]
    assert table["popular_neighbor"].tolist() == ["A cat sleeps, too.", "A cat sleeps, too.", "Dogs bark!"]
    assert table["outliers"].tolist() == [1, 0, 3]
    assert table["outlier"].fillna("").tolist() == ["Nobody saw it.", "", "The cat sleeps."]
    assert table["rank"].fillna(0).tolist() == [1, 0, 2]


# -- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: popularity.popular(TOY, 4), r"k: 4 is not accepted; give 1 to 3 \(as many neighbors are stored\)"),
        (lambda: popularity.popular(TOY, 0), "k: 0 is not accepted"),
        (lambda: popularity.outliers(TOY, 2, 51), "far: 51 is not accepted; give 1 to 3"),
        (lambda: popularity.popular({}, 1), r"ids: shapes \{\}; give each embedder's neighbors"),
        (lambda: popularity.popular(TOY | {"E": np.array([[1, 2]])}, 1), r"ids: shapes .*'E': \(1, 2\)"),
        (lambda: popularity.popular({"A": np.array([1, 2])}, 1), "one shape"),
        (lambda: popularity.popular(TOY | {"E": np.array([[1, 2, 1]])}, 1), "E names a neighbor of query 0 twice"),
        (lambda: popularity.check_parameters(6, 5, 5), "popular_k: 6 is not accepted; give 1 to 5"),
        (lambda: popularity.check_parameters(5, 12, 10), "outlier_rank: 12 is not accepted; give 1 to 10"),
    ],
)
def test_what_the_lists_cannot_answer_gets_a_sentence(call, message) -> None:
    with pytest.raises(InputError, match=message):
        call()
