"""Robustness of N2O: prefixes, rankings and their correlation by hand, other searches against plain NumPy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.spatial.distance import cdist

from lib import corpora, n2o, robustness, stats
from lib import robustness_approximate as approximate
from lib import robustness_search as searching
from lib.neighbors import exact, tuning
from lib.run.errors import InputError

TOY = {  # the notebook's: at k = 1 the pairs have 2/3, 1/3 and 0, at k = 2 they have 2/3, 5/6 and 1/2
    "A": np.array([[0, 1], [0, 1], [0, 1]]),
    "B": np.array([[0, 2], [0, 2], [1, 0]]),
    "C": np.array([[1, 0], [1, 0], [0, 2]]),
}
QUERIES = np.arange(0, 60, 3)


@pytest.fixture(scope="module")
def vectors() -> dict[str, np.ndarray]:
    """Four embedders of 200 sentences, two of them near to each other; vectors of very different lengths."""
    rng = np.random.default_rng(7)
    base = rng.normal(size=(200, 12)) * rng.gamma(2, size=(200, 1))
    near = base + 0.3 * rng.normal(size=base.shape)
    counts = sp.csr_array(rng.poisson(0.2, size=(200, 40)).astype(np.float32))
    return {"base": base, "near": near, "far": rng.normal(size=(200, 8)), "counts": counts}


@pytest.fixture(scope="module")
def found(vectors) -> dict[str, np.ndarray]:
    return {name: lists.ids for name, lists in searching.search(vectors, QUERIES, 10)[0].items()}


def bootstrap(groups, weights=None, repetitions: int = 300, seed: int = 1) -> robustness.Bootstrap:
    return robustness.Bootstrap(np.random.default_rng(seed), np.asarray(groups), weights, repetitions)


# -- rankings -----------------------------------------------------------------------------------


def test_ranking_of_pairs_and_its_correlation_by_hand() -> None:
    table = robustness.means(robustness.at_depths(TOY, [1, 2]))
    np.testing.assert_allclose(table[1], [2 / 3, 1 / 3, 0])
    np.testing.assert_allclose(table[2], [2 / 3, 5 / 6, 1 / 2])
    assert robustness.correlations(table).loc[1, 2] == pytest.approx(1 - 6 * 2 / (3 * 8))


@given(st.lists(st.lists(st.integers(0, 5), min_size=6, max_size=6), min_size=2, max_size=4))
def test_correlation_with_ties_is_scipys(rows) -> None:
    rows = [[*row, 6, 7] for row in rows]  # never all equal
    expected = [[scipy_stats.spearmanr(a, b).statistic for a in rows] for b in rows]
    np.testing.assert_allclose(stats.spearman_matrix(np.array(rows)), expected, atol=1e-12)


def test_resamples_are_correlated_one_by_one(rng) -> None:
    stack = rng.normal(size=(5, 3, 20))
    one_by_one = np.stack([stats.spearman_matrix(rows) for rows in stack])
    np.testing.assert_allclose(stats.spearman_matrix(stack), one_by_one)


@pytest.mark.parametrize("rows", [[[1.0, 2.0], [3.0, 3.0]], [[1.0], [2.0]], [[1.0, np.nan], [1.0, 2.0]]])
def test_what_ranks_nothing_gets_a_sentence(rows) -> None:
    with pytest.raises(InputError, match="rank correlation"):
        stats.spearman_matrix(np.array(rows))


def test_beginnings_of_long_lists_are_the_lists_of_a_search_for_fewer(vectors, found) -> None:
    at_k = robustness.at_depths(found, [3, 10])
    for k, overlaps in at_k.items():
        anew = {name: exact(v[QUERIES], v, k, exclude=QUERIES).ids for name, v in vectors.items()}
        pd.testing.assert_frame_equal(overlaps, n2o.per_query(anew))


def test_k_beyond_what_is_stored_is_refused(found) -> None:
    with pytest.raises(InputError, match="ks: 11 is beyond the 10 neighbors that are stored"):
        robustness.at_depths(found, [5, 11])


def test_the_order_of_embedders_changes_no_correlation(found) -> None:
    turned = dict(reversed(found.items()))
    straight, back = (robustness.at_depths(lists, [2, 5, 10]) for lists in (found, turned))
    given_groups = bootstrap(np.full(len(QUERIES), -1))
    again = bootstrap(np.full(len(QUERIES), -1))
    pd.testing.assert_frame_equal(
        robustness.correlation_intervals(straight, given_groups), robustness.correlation_intervals(back, again)
    )


def test_interval_holds_the_correlation_and_names_both_conditions(found) -> None:
    intervals = robustness.correlation_intervals(robustness.at_depths(found, [2, 5, 10]), bootstrap(QUERIES // 6))
    assert list(zip(intervals["a"], intervals["b"], strict=True)) == [(2, 5), (2, 10), (5, 10)]
    assert (intervals["low"] <= intervals["rho"]).all()
    assert (intervals["rho"] <= intervals["high"]).all()
    assert robustness.against(intervals, 5).index.tolist() == [2, 10]
    assert robustness.against(intervals, 5)["value"].tolist() == intervals["rho"].iloc[[0, 2]].tolist()


def test_equal_conditions_correlate_perfectly_in_every_resample(found) -> None:
    overlaps = n2o.per_query(found)
    same = robustness.correlation_intervals({"one": overlaps, "other": overlaps}, bootstrap(QUERIES))
    np.testing.assert_allclose(same[["rho", "low", "high"]], 1)


def test_resamples_without_a_ranking_do_not_count() -> None:
    # Only the third query tells the pairs apart: where it is not drawn, all three are equal.
    overlaps = pd.DataFrame([[0, 0, 0], [0, 0, 0], [0.1, 0.2, 0.3]])
    intervals = robustness.correlation_intervals({"a": overlaps, "b": overlaps}, bootstrap([-1, -1, -1]))
    np.testing.assert_allclose(intervals[["low", "high"]], 1)


def test_sets_of_queries_apart_agree_when_they_are_the_same(found) -> None:
    overlaps = n2o.per_query(found)
    each = bootstrap(np.full(len(QUERIES), -1))
    rho, low, high = robustness.correlation_apart([(overlaps, each), (overlaps, each)])
    assert rho == pytest.approx(1)
    assert low <= high <= 1 + 1e-12


# -- queries ------------------------------------------------------------------------------------


def test_samples_one_by_one_average_to_the_weighted_mean(found) -> None:
    samples = n2o.Samples(np.arange(len(QUERIES)), 8, 4, np.random.default_rng(3))
    overlaps = n2o.per_query(found).iloc[samples.queries].reset_index(drop=True)
    table = robustness.by_sample(overlaps, samples)
    first = overlaps.to_numpy()[samples.members[0]].mean(axis=0)
    np.testing.assert_allclose(table[1], first)
    np.testing.assert_allclose(table.mean(axis=1), robustness.means({"all": overlaps}, samples.weights)["all"])


def test_shared_queries_by_hand() -> None:
    samples = n2o.Samples.of([np.array([0, 1, 2, 3]), np.array([2, 3, 4, 5])])
    same, related = robustness.shared_queries(samples, np.array([7, -1, -1, -1, 7, -1]))
    assert same == 0.5  # queries 2 and 3
    assert related == 0.75  # and 0, whose relative is 4


def test_four_times_the_queries_halve_the_interval(rng) -> None:
    overlaps = pd.DataFrame(rng.uniform(size=(400, 30)))
    widths = robustness.interval_widths(overlaps, bootstrap(np.full(400, -1), repetitions=1000), [100, 400, 900])
    assert widths.index.tolist() == [100, 400]  # there are no 900
    assert widths.loc[100, "value"] / widths.loc[400, "value"] == pytest.approx(2, rel=0.1)


def test_split_sets_share_no_group_and_too_many_queries_are_left_out(rng) -> None:
    # Every group ranks the pairs its own way: a group in both sets would make them agree.
    groups = np.repeat(np.arange(4), 5)
    overlaps = pd.DataFrame(rng.permuted(np.tile(np.arange(50.0), (4, 1)), axis=1)[groups])
    agreement = robustness.split_correlations(overlaps, groups, [5, 8, 9], rng, splits=10)
    assert agreement.index.tolist() == [5, 8]  # 9 + 9 leave no room for a group between them
    assert agreement["high"].max() < 0.7


# -- relatives ----------------------------------------------------------------------------------


def test_without_relatives_by_hand() -> None:
    groups = np.array([4, 4, -1, 9, 4, -1])
    ids = np.array([[1, 2, 4, 3], [0, 1, 3, 5]])
    assert robustness.most_relatives(groups, np.array([0, 2])) == 2
    assert robustness.without_relatives(ids, np.array([0, 2]), groups, 2).tolist() == [[2, 3], [0, 1]]
    with pytest.raises(InputError, match="without relatives 2 neighbors of a query are left"):
        robustness.without_relatives(ids, np.array([0, 2]), groups, 3)


def test_without_relatives_is_a_search_in_which_they_are_excluded(vectors) -> None:
    groups = np.arange(200) // 4
    base = vectors["base"]
    deep = searching.search({"base": base}, QUERIES, 13)[0]["base"].ids
    family = [np.flatnonzero(groups == groups[query]) for query in QUERIES]
    excluded = exact(base[QUERIES], base, 10, exclude=family).ids
    np.testing.assert_array_equal(robustness.without_relatives(deep, QUERIES, groups, 10), excluded)


def test_where_no_groups_are_known_there_are_no_relatives(found) -> None:
    unknown = np.full(200, -1)
    assert robustness.most_relatives(unknown, QUERIES) == 0
    np.testing.assert_array_equal(robustness.without_relatives(found["far"], QUERIES, unknown, 10), found["far"])


# -- size of the corpus -------------------------------------------------------------------------


def test_parts_are_nested_and_the_whole_is_the_last(rng) -> None:
    parts = searching.nested_subsets(200, [0.01, 0.1, 0.35, 1.0], 5, rng)
    assert {share: len(part) for share, part in parts.items()} == {0.1: 20, 0.35: 70, 1.0: 200}  # 2 are too few
    assert set(parts[0.1]) < set(parts[0.35]) < set(parts[1.0])
    np.testing.assert_array_equal(parts[1.0], np.arange(200))


def test_the_whole_corpus_gives_the_whole_table(vectors, found, rng) -> None:
    whole = searching.nested_subsets(200, [0.5, 1.0], 10, rng)[1.0]
    lists = {name: each.ids for name, each in searching.search(vectors, QUERIES, 10, whole)[0].items()}
    pd.testing.assert_frame_equal(n2o.matrix(lists), n2o.matrix(found))


def test_search_in_a_part_is_brute_force_among_its_sentences(vectors, rng) -> None:
    part = np.sort(rng.choice(200, 50, replace=False))
    lists, seconds = searching.search(vectors, QUERIES, 7, part)
    directions = vectors["base"] / np.linalg.norm(vectors["base"], axis=1, keepdims=True)
    cosines = directions[QUERIES] @ directions[part].T
    cosines[QUERIES[:, None] == part] = -np.inf
    np.testing.assert_array_equal(lists["base"].ids, part[np.argsort(-cosines, axis=1, kind="stable")[:, :7]])
    assert seconds.keys() == vectors.keys()
    assert not (lists["counts"].ids == QUERIES[:, None]).any()


# -- Euclidean distance -------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_euclidean_search_is_brute_force(vectors, scale) -> None:
    for name, v in ((name, v.astype(np.float64)) for name, v in vectors.items()):
        lists = searching.euclidean(scale * v[QUERIES], scale * v, 9, exclude=QUERIES)
        dense = v.toarray() if sp.issparse(v) else v
        distances = scale * cdist(dense[QUERIES], dense)
        distances[np.arange(len(QUERIES)), QUERIES] = np.inf
        order = np.argsort(np.round(distances / scale, 9), axis=1, kind="stable")[:, :9]
        np.testing.assert_array_equal(lists.ids, order, err_msg=name)
        np.testing.assert_allclose(-lists.similarities, np.take_along_axis(distances, order, 1), rtol=1e-5)


def test_on_vectors_of_one_length_euclidean_and_cosine_agree(rng) -> None:
    v = rng.normal(size=(300, 20))
    v = (3 * v / np.linalg.norm(v, axis=1, keepdims=True)).astype(np.float32)  # their lengths differ by rounding
    v[50:60] = v[10:20]  # and some are tied
    queries = np.arange(100)
    by_cosine, by_distance = (find(v[queries], v, 25, queries).ids for find in (exact, searching.euclidean))
    np.testing.assert_array_equal(by_cosine, by_distance)


def test_euclidean_takes_zero_vectors_as_they_are() -> None:
    corpus = np.array([[0.0, 0.0], [2.0, 0.0], [0.4, 0.0], [0.0, 0.0]])
    found = searching.euclidean(np.array([[0.3, 0.0], [0.0, 0.0]]), corpus, 3)
    assert found.ids.tolist() == [[2, 0, 3], [0, 3, 2]]
    assert searching.euclidean(corpus[:1], np.zeros((3, 2)), 2).ids.tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"k": 4}, "k: 4 is not accepted"),
        ({"queries": np.ones((1, 3))}, "queries have 3 dimensions, the corpus has 2"),
        ({"corpus": np.array([[1.0, 2], [np.nan, 1], [0, 1]])}, "row 1 holds NaN"),
        ({"queries": np.array([[np.inf, 1.0]])}, "row 0 holds NaN or infinity"),
    ],
)
def test_euclidean_refuses_what_exact_search_refuses(changed, message) -> None:
    arguments = {"queries": np.ones((1, 2)), "corpus": np.arange(6.0).reshape(3, 2), "k": 2} | changed
    with pytest.raises(InputError, match=message):
        searching.euclidean(**arguments)


# -- approximate search -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trials(vectors):
    few = approximate.suited(vectors, 12)
    held_out = np.arange(100, 120)
    truth = {name: searching.search(few, queries, 10)[0] for name, queries in (("asked", QUERIES), ("held", held_out))}
    tried = {"ivf": approximate.trials(few, "ivf", QUERIES, held_out, truth["held"], recall=0.9)}
    return tried, truth["asked"]


def test_only_short_dense_embeddings_are_indexed(vectors) -> None:
    assert list(approximate.suited(vectors, 11)) == ["far"]
    assert list(approximate.suited(vectors, 1000)) == ["base", "near", "far"]


def test_quality_is_recall_on_queries_that_were_not_tuned_on(trials) -> None:
    tried, truth = trials
    table = approximate.quality(tried, truth).set_index("embedder")
    by_sets = [
        len(set(a) & set(b)) / 10
        for a, b in zip(tried["ivf"]["base"].neighbors.ids.tolist(), truth["base"].ids.tolist(), strict=True)
    ]
    assert table.loc["base", "recall_by_ids"] == pytest.approx(np.mean(by_sets))
    assert (table["recall_held_out"] >= 0.9).all()


def test_with_all_cells_searched_nothing_changes(trials) -> None:
    tried, truth = trials
    all_found = {name: trial._replace(neighbors=truth[name]) for name, trial in tried["ivf"].items()}
    (row,) = approximate.effect({"ivf": all_found}, truth, bootstrap(QUERIES)).itertuples()
    assert (row.recall_by_ids, row.mean_change, row.largest_change) == (1, 0, 0)
    np.testing.assert_allclose([row.rho, row.low, row.high], 1)


def test_more_effort_finds_more_and_steps_are_indexed_by_recall(trials) -> None:
    tried, truth = trials
    steps = approximate.by_steps(tried["ivf"], truth, bootstrap(QUERIES))
    assert len(steps) == approximate.STEPS
    assert steps.index.is_monotonic_increasing
    of_base = [tuning.recall_by_ids(ids, truth["base"].ids).mean() for ids in tried["ivf"]["base"].steps]
    assert of_base == sorted(of_base)


def test_nothing_tried_gives_empty_tables() -> None:
    assert approximate.quality({}, {}).empty
    assert approximate.effect({}, {}, bootstrap(QUERIES)).empty


def test_held_out_queries_are_in_no_sample_and_of_the_same_source_first(tmp_path, rng) -> None:
    file = tmp_path / "text.txt"
    file.write_text("\n\n".join(f"lede {i}\nsecond {i}" for i in range(10)))
    corpus = corpora.load(f"lines:{file}")
    drawn = corpus.ledes[:7]
    chosen = approximate.held_out(corpus, "ledes", drawn, 5, rng)
    assert set(chosen[:3]) == set(corpus.ledes[7:])
    assert len(set(chosen)) == 5
    assert not set(chosen) & set(drawn)
    with pytest.raises(InputError, match="13 sentences are no query: give 1 to 13"):
        approximate.held_out(corpus, "ledes", drawn, 14, rng)


# -- parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"samples": 1}, r"samples: 1 is not accepted; give 2 to 1000 \(one sample cannot be compared"),
        ({"query_counts": [30, 50]}, "the first of query_counts: 30 is not accepted; give 2 to 20"),
        ({"corpus_shares": [0.1, 0.5]}, "the last of corpus_shares: 0.5 is not accepted; give 1"),
        ({"corpus_shares": [0.01, 0.1, 1.0]}, "0.1 of 100 sentences are too few for k = 10; give at least 0.11"),
    ],
)
def test_parameters_that_do_not_go_together_get_a_sentence(changed, message) -> None:
    right = {"samples": 2, "queries": 20, "query_counts": [5, 50], "corpus_shares": [0.5, 1.0], "n": 100, "k": 10}
    robustness.check_parameters(**right)
    with pytest.raises(InputError, match=message):
        robustness.check_parameters(**right | changed)
