"""Whatever lies in an array: the result that plain arithmetic gives, or one sentence."""

from __future__ import annotations

import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lib import localization, n2o, popularity, probing, retrieval, similarity, stats, transfer
from lib.corpora.closure import groups_from_pairs
from lib.neighbors import approximate, exact, ranking
from lib.probing import Probe
from lib.run import arrays
from lib.run.errors import InputError
from lib.similarity import column_statistics
from lib.tasks import ClassificationTask
from tests.sizes import CASES
from tests.trust import wild

FEWER = max(1, CASES // 10)  # where a case takes tens of milliseconds
NEAR = 1e-9  # similarities that differ by more must come in their order


@pytest.fixture(autouse=True)
def every_warning_is_an_error():
    """What would be said once in a log, if ever: an overflow, a NaN, a division by zero."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


# -- search -------------------------------------------------------------------------------------


def check_neighbors(found, truth: np.ndarray, hidden: np.ndarray) -> None:
    """That each row of `found` holds the highest of the cosines in `truth` that are not hidden."""
    truth = np.where(hidden[:, None] == np.arange(truth.shape[1]), -np.inf, truth)
    own = np.take_along_axis(truth, found.ids, axis=1)
    assert (found.ids.dtype, found.similarities.dtype) == (np.int64, np.float32)
    np.testing.assert_allclose(found.similarities, own, atol=1e-6)
    assert (np.diff(own, axis=1) <= NEAR).all()
    assert all(len(set(row)) == len(row) for row in found.ids.tolist())
    others = truth.copy()
    np.put_along_axis(others, found.ids, -np.inf, axis=1)
    assert (others.max(axis=1) <= own[:, -1] + NEAR).all()


@pytest.mark.parametrize("form", [wild.arrays, wild.sparse])
@settings(max_examples=CASES)
@given(st.data())
def test_the_exact_search_returns_what_plain_arithmetic_does(form, data) -> None:
    corpus = data.draw(wild.matrices(2))
    queries = data.draw(wild.matrices(1, 6, dim=corpus.shape[1]))
    (given_corpus, corpus), (given_queries, queries) = (data.draw(form(rows)) for rows in (corpus, queries))
    hidden = np.arange(len(queries)) % (len(corpus) + 1) - 1
    k = data.draw(st.integers(1, len(corpus) - 1))
    found = exact(given_queries, given_corpus, k, exclude=hidden)
    check_neighbors(found, wild.cosines(queries, corpus), hidden)


@settings(max_examples=FEWER)
@given(st.data())
def test_the_approximate_search_says_true_similarities(data) -> None:
    rows = data.draw(wild.matrices(3))
    given_rows, rows = data.draw(wild.arrays(rows))
    k = data.draw(st.integers(1, len(rows)))
    if not rows.any():
        with pytest.raises(InputError, match="none of its"):
            approximate.build(given_rows)
        return
    found = approximate.build(given_rows).search(given_rows, k)
    own = np.take_along_axis(wild.cosines(rows, rows), found.ids, axis=1)
    np.testing.assert_allclose(found.similarities, own, atol=1e-6)
    assert all(len(set(row)) == k for row in found.ids.tolist())


@settings(max_examples=CASES)
@given(st.data(), st.booleans())
def test_ranks_are_counted_as_plain_arithmetic_counts_them(data, is_sparse) -> None:
    make = wild.sparse if is_sparse else wild.arrays
    corpus = data.draw(wild.matrices(1))
    queries, needles = (
        np.resize(data.draw(wild.matrices(3, 3, dim=corpus.shape[1])), (3, corpus.shape[1])) for _ in "ab"
    )
    (given_corpus, corpus), (given_queries, queries), (given_needles, needles) = (
        data.draw(make(rows)) for rows in (corpus, queries, needles)
    )
    found = ranking.ranks(given_queries, given_needles, given_corpus)
    apart = wild.cosines(queries, corpus) - np.einsum("ij,ij->i", wild.unit(queries), wild.unit(needles))[:, None]
    assert ((apart > NEAR).sum(axis=1) < found.ranks).all()
    assert (found.ranks + found.tied <= 1 + (apart > -NEAR).sum(axis=1)).all()
    assert found.haystack.tolist() == [len(corpus)] * 3


# -- similarity ---------------------------------------------------------------------------------


@settings(max_examples=CASES)
@given(st.data(), st.booleans())
def test_cosines_of_pairs_are_those_of_plain_arithmetic(data, is_sparse) -> None:
    make = wild.sparse if is_sparse else wild.arrays
    left = data.draw(wild.matrices(1))
    right = np.roll(left, 1, axis=0) * data.draw(st.sampled_from([1.0, -1.0]))
    (given_left, left), (given_right, right) = (data.draw(make(rows)) for rows in (left, right))
    truth = np.einsum("ij,ij->i", wild.unit(left), wild.unit(right))
    found = similarity.cosine(given_left, given_right)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, truth, atol=1e-6 if is_sparse else 1e-12)


@settings(max_examples=CASES)
@given(st.data())
def test_means_and_deviations_neither_overflow_nor_vanish(data) -> None:
    given_rows, rows = data.draw(wild.arrays(data.draw(wild.matrices(1))))
    wide = rows.astype(np.longdouble)
    try:
        found = column_statistics(np.asarray(given_rows, dtype=np.float64))
    except InputError:
        assert np.abs(wide).sum(axis=0).max() > 1.7e308  # too large for their sum
        return
    spread = np.abs(rows).max(axis=0) * 1e-6 + 1e-320
    np.testing.assert_array_less(
        np.abs(found.deviation - np.sqrt(((wide - wide.mean(axis=0)) ** 2).mean(axis=0))), spread
    )
    assert ((found.deviation > 0) <= (np.ptp(wide, axis=0) > 0)).all()


@settings(max_examples=CASES)
@given(st.data(), st.booleans(), st.sampled_from([None, "z"]))
def test_ucp_is_a_correlation_or_says_why_not(data, is_sparse, normalize) -> None:
    make = wild.sparse if is_sparse else wild.arrays
    left = data.draw(wild.matrices(1))
    given_left, given_right = (data.draw(make(rows))[0] for rows in (left, np.roll(left, 1, axis=0)))
    gold = np.arange(len(left)) % 5
    try:
        found = similarity.ucp(given_left, given_right, gold, normalize)
    except InputError:
        return
    assert set(found) == {"pearson", "spearman"}
    assert all(-1 - 1e-12 <= value <= 1 + 1e-12 for value in found.values())


# -- lists of neighbors, ranks ------------------------------------------------------------------

HUGE = st.integers(0, 2**63 - 1)


@settings(max_examples=CASES)
@given(st.data())
def test_overlap_is_that_of_sets_whatever_the_indices(data) -> None:
    k = data.draw(st.integers(1, 6))
    lists = st.lists(HUGE, min_size=k, max_size=k, unique=True)
    a = data.draw(st.lists(lists, min_size=1, max_size=4))
    b = [data.draw(st.one_of(st.just(row[::-1]), lists)) for row in a]
    kind = data.draw(st.sampled_from([np.int64, np.uint64]))
    expected = [len(set(one) & set(other)) / k for one, other in zip(a, b, strict=True)]
    assert n2o.overlap(np.array(a, kind), b).tolist() == expected


@settings(max_examples=CASES)
@given(
    st.lists(
        st.lists(st.lists(st.integers(0, 2**40), min_size=3, max_size=3, unique=True), min_size=2, max_size=2),
        min_size=1,
        max_size=4,
    )
)
def test_popularity_counts_embedders_whatever_the_indices(lists) -> None:
    table = popularity.popular({f"e{i}": np.array(each) for i, each in enumerate(lists)}, 3)
    counted = Counter((query, sentence) for each in lists for query, row in enumerate(each) for sentence in row)
    assert {(row.query, row.sentence): row.popularity for row in table.itertuples()} == counted


@settings(max_examples=CASES)
@given(st.lists(st.integers(1, 2**63 - 1), min_size=1, max_size=9))
def test_mean_reciprocal_rank_of_any_ranks(ranks) -> None:
    truth = float(sum(Fraction(1, rank) for rank in ranks) / len(ranks))
    assert retrieval.mean_reciprocal_rank(ranks) == pytest.approx(truth, rel=1e-12)


# -- intervals ----------------------------------------------------------------------------------


@settings(max_examples=CASES)
@given(st.data())
def test_intervals_lie_between_the_least_and_the_greatest_value(data) -> None:
    values = data.draw(wild.matrices(1)).clip(-1e300, 1e300)
    groups = data.draw(
        st.one_of(st.none(), st.lists(st.integers(-2, 2**62), min_size=len(values), max_size=len(values)))
    )
    low, high = stats.bootstrap_mean(values, np.random.default_rng(0), groups, repetitions=20)
    slack = np.abs(values).max(axis=0) * 1e-12
    assert (values.min(axis=0) - slack <= low).all()
    assert (low <= high).all()
    assert (high <= values.max(axis=0) + slack).all()


@settings(max_examples=CASES)
@given(st.data(), st.sampled_from([stats.bootstrap_pearson, stats.bootstrap_spearman]))
def test_correlations_do_not_depend_on_the_unit_of_measurement(data, bootstrap) -> None:
    rng = np.random.default_rng(data.draw(wild.SEED))
    x, y = rng.normal(size=(2, 20))
    factor = 2.0 ** data.draw(st.integers(-1000, 1000))
    plain, scaled = (bootstrap(x * f, y, np.random.default_rng(0), repetitions=20) for f in (1.0, factor))
    assert plain == scaled


# -- classifiers --------------------------------------------------------------------------------


@settings(max_examples=FEWER)
@given(st.data(), st.booleans(), st.sampled_from(["logistic", "svm", "localization", "pairs", "ridge"]))
def test_what_learns_from_vectors_learns_or_says_why_not(data, is_sparse, what) -> None:
    make = wild.sparse if is_sparse else wild.arrays
    rows = np.resize(data.draw(wild.matrices(12, 12)), (12, 4))
    vectors = data.draw(make(rows))[0]
    labels = np.arange(12) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # scikit-learn's own, of a line search that overshoots
        try:
            if what == "localization":
                accuracy = localization.classify(vectors, labels, repetitions=10).accuracy
            elif what == "ridge":
                split = (vectors, vectors, np.arange(12) % 5)
                accuracy = similarity.learned(split, split, split, method="ridge")["pearson"]
            else:
                sides = (vectors, vectors) if what == "pairs" else vectors
                kind = "logistic" if what == "pairs" else what
                accuracy = transfer.cross_validate(
                    sides, labels, folds=2, inner_folds=2, classifier=kind, repetitions=10
                ).accuracy
        except InputError:
            return
    assert -1 - 1e-9 <= accuracy <= 1 + 1e-9


# -- what is refused everywhere -----------------------------------------------------------------

BASE = np.random.default_rng(0).normal(size=(12, 5))
LABELS = np.arange(12) % 2
GOLD = np.arange(12.0) % 5


def probe_of(vectors):
    task = ClassificationTask([str(i) for i in range(4)], np.arange(4) % 2)
    return probing.evaluate(Probe("BShift", task, task, task, ("I", "O"), "x"), lambda sentences: vectors)


PUBLIC = {
    "exact, queries": lambda v: exact(v, BASE, 2),
    "exact, corpus": lambda v: exact(BASE, v, 2),
    "ranks, queries": lambda v: ranking.ranks(v, BASE, BASE),
    "ranks, needles": lambda v: ranking.ranks(BASE, v, BASE),
    "ranks, corpus": lambda v: ranking.ranks(BASE, BASE, v),
    "approximate, corpus": approximate.build,
    "approximate, queries": lambda v: approximate.build(BASE).search(v, 2),
    "cosine": lambda v: similarity.cosine(v, BASE),
    "ucp": lambda v: similarity.ucp(BASE, v, GOLD),
    "ucp, z": lambda v: similarity.ucp(v, BASE, GOLD, normalize="z"),
    "learned": lambda v: similarity.learned((v, BASE, GOLD), (BASE, BASE, GOLD), (BASE, BASE, GOLD)),
    "learned, test": lambda v: similarity.learned((BASE, BASE[::-1], GOLD), (BASE, BASE[::-1], GOLD), (BASE, v, GOLD)),
    "cross_validate": lambda v: transfer.cross_validate(v, LABELS, folds=2),
    "cross_validate, pairs": lambda v: transfer.cross_validate((BASE, v), LABELS, folds=2),
    "train_test": lambda v: transfer.train_test((BASE, LABELS), (v, LABELS)),
    "localization": lambda v: localization.classify(v, LABELS),
    "probing": probe_of,
    "bootstrap_mean": lambda v: stats.bootstrap_mean(v, np.random.default_rng(0)),
    "spearman_matrix": stats.spearman_matrix,
}


def replaced(value: object) -> np.ndarray:
    changed = BASE.astype(object if value is None else None)
    changed[7, 2] = value
    return changed


BAD = {
    "NaN": replaced(np.nan),
    "infinity": replaced(np.inf),
    "minus infinity": replaced(-np.inf),
    "None": replaced(None),
    "objects": BASE.astype(object),
    "text": BASE.astype(str),
    "complex": BASE + 1j,
    "dates": (10 * BASE).astype("M8[s]"),
    "durations": (10 * BASE).astype("m8[s]"),
    "structured": np.zeros((12, 5), dtype=[("a", "f4"), ("b", "f4")]),
    "masked": np.ma.masked_array(BASE, BASE > 1),
    "beyond float64": BASE.astype(np.longdouble) * np.longdouble("1e4000"),
    "rows of different lengths": [[1.0, 2.0], [3.0]],
    "one axis": BASE[0],
    "three axes": BASE[None],
    "no axis": np.float64(3),
    "nothing": None,
    "a word": "vectors",
}


# Ranks of infinities are ranks, and a table of scores may have an axis more.
MEANINGFUL = {("spearman_matrix", bad) for bad in ("three axes", "infinity", "minus infinity", "beyond float64")}


@pytest.mark.parametrize(
    ("entry", "bad"), [(entry, bad) for entry in PUBLIC for bad in BAD if (entry, bad) not in MEANINGFUL]
)
def test_what_is_no_matrix_of_finite_numbers_is_refused(entry, bad) -> None:
    with pytest.raises(InputError) as refused:
        PUBLIC[entry](BAD[bad])
    assert "\n" not in str(refused.value)


def broken(**changed: object) -> sp.csr_array:
    rows = sp.csr_array(BASE)
    for name, (place, value) in changed.items():
        part = getattr(rows, name).copy()
        part[place] = value
        setattr(rows, name, part)
    return rows


SPARSE_BAD = {
    "NaN": sp.csr_array(replaced(np.nan)),
    "overflow of an entry's parts": sp.csr_array(
        (np.full(2, 1e308), np.zeros(2, int), [0, 2, *[2] * 11]), shape=(12, 5)
    ),
    "complex": sp.csr_array(BASE + 1j),
    "a column beyond the last": broken(indices=(0, 99)),
    "a negative column": broken(indices=(3, -1)),
    "rows that end before they begin": broken(indptr=(2, 40)),
    "a row beyond the data": broken(indptr=(-1, 10**6)),
    "columns by the billion": sp.csr_array(
        (np.ones(12), (np.arange(12), np.arange(12) * 10**8)), shape=(12, 2 * 10**9)
    ),
    "one axis": sp.coo_array(BASE[0]),
}
SPARSE_PUBLIC = {
    "exact": lambda v: exact(v, v, 2),
    "ranks": lambda v: ranking.ranks(v, v, v),
    "cosine": lambda v: similarity.cosine(v, v),
    "ucp, z": lambda v: similarity.ucp(v, v, GOLD, normalize="z"),
    "cross_validate": lambda v: transfer.cross_validate(v, LABELS, folds=2),
    "localization": lambda v: localization.classify(v, LABELS),
    "learned": lambda v: similarity.learned((v, v, GOLD), (v, v, GOLD), (v, v, GOLD)),
}


@pytest.mark.parametrize("bad", SPARSE_BAD)
@pytest.mark.parametrize("entry", SPARSE_PUBLIC)
def test_a_sparse_array_that_is_none_is_refused_before_memory_is_touched(entry, bad) -> None:
    with pytest.raises(InputError):
        SPARSE_PUBLIC[entry](SPARSE_BAD[bad])


@pytest.mark.parametrize("k", [0, -1, 12, 2**70, 2.5, 2.0, True, float("nan"), "2", None])
@pytest.mark.parametrize(
    "search", [exact, lambda *a, **b: approximate.build(a[1]).search(a[0], *a[2:], **b)], ids=["exact", "approximate"]
)
def test_a_k_that_is_no_number_of_neighbors_is_refused(search, k) -> None:
    with pytest.raises(InputError, match=r"k: .* is not accepted; give 1 to 11"):
        search(BASE, BASE, k, exclude=np.arange(12))


@pytest.mark.parametrize(
    "entry", [12, -2, 2**63, 2**70, 1.5, float("nan"), float("inf"), "a", None, [1, 12], [0.5], [[1], [2, 3]]], ids=str
)
def test_an_exclusion_that_is_no_index_is_refused(entry) -> None:
    with pytest.raises(InputError, match="exclude"):
        exact(BASE, BASE, 2, exclude=[*range(11), entry])


@pytest.mark.parametrize("exclude", [3, [1, 2], np.arange(13), np.int64(3), []], ids=str)
def test_exclusions_that_are_not_one_for_each_query_are_refused(exclude) -> None:
    with pytest.raises(InputError, match="exclude: has"):
        exact(BASE, BASE, 2, exclude=exclude)


WRONG = {
    "dimensions": lambda: exact(BASE, BASE[:, :3], 2),
    "kinds": lambda: exact(BASE, sp.csr_array(BASE), 2),
    "needles": lambda: ranking.ranks(BASE, BASE[:3], BASE),
    "sides": lambda: similarity.cosine(BASE, BASE[:3]),
    "gold": lambda: similarity.ucp(BASE, BASE, GOLD[:3]),
    "gold that is text": lambda: similarity.ucp(BASE, BASE[::-1], ["a"] * 12),
    "gold with NaN": lambda: similarity.ucp(BASE, BASE[::-1], [*GOLD[1:], np.nan]),
    "gold over a billion scores": lambda: similarity.learned(*[(BASE, BASE[::-1], GOLD * 1e9)] * 3),
    "dimensions of test": lambda: transfer.train_test((BASE, LABELS), (BASE[:, :3], LABELS)),
    "dimensions of dev": lambda: similarity.learned(
        (BASE, BASE, GOLD), (BASE[:, :2], BASE[:, :2], GOLD), (BASE, BASE, GOLD)
    ),
    "labels": lambda: transfer.cross_validate(BASE, LABELS[:3]),
    "labels of two kinds": lambda: transfer.cross_validate(BASE, [*"abcdefghijk", None]),
    "labels with NaN": lambda: transfer.cross_validate(BASE, [*LABELS[1:], np.nan], folds=2),
    "labels in two axes": lambda: localization.classify(BASE, np.zeros((12, 2))),
    "labels that are None": lambda: localization.classify(BASE, [None] * 12),
    "no columns": lambda: localization.classify(BASE[:, :0], LABELS),
    "no columns to learn from": lambda: transfer.cross_validate(BASE[:, :0], LABELS, folds=2),
    "groups": lambda: stats.bootstrap_mean(BASE, np.random.default_rng(0), groups=[1, 2]),
    "groups with NaN": lambda: stats.bootstrap_mean(BASE, np.random.default_rng(0), groups=[np.nan] * 12),
    "weights": lambda: stats.bootstrap_mean(BASE, np.random.default_rng(0), weights=[1.0]),
    "weights with NaN": lambda: stats.bootstrap_mean(BASE, np.random.default_rng(0), weights=[np.nan] * 12),
    "no rows": lambda: stats.bootstrap_mean(BASE[:0], np.random.default_rng(0)),
    "NaN in Pearson": lambda: stats.bootstrap_pearson([1, 2, np.nan], [1, 2, 3], np.random.default_rng(0)),
    "NaN in Spearman": lambda: stats.bootstrap_spearman([1, 2, np.nan], [1, 2, 3], np.random.default_rng(0)),
    "nothing in Pearson": lambda: stats.bootstrap_pearson([], [], np.random.default_rng(0)),
    "lists": lambda: n2o.overlap([[1, 2]], [[1, 2, 3]]),
    "no lists": lambda: n2o.matrix({}),
    "halves": lambda: n2o.overlap([[1.5, 2]], [[1, 2]]),
    "NaN among ids": lambda: n2o.overlap([[np.nan, 2]], [[1, 2]]),
    "ids beyond 64 bits": lambda: n2o.overlap([[2**64, 2]], [[1, 2]]),
    "ids beyond int64": lambda: n2o.overlap(np.array([[2**63, 2]], np.uint64), [[1, 2]]),
    "negative ids": lambda: popularity.popular({"a": [[-1, 2]], "b": [[1, 2]]}, 2),
    "ids too large to count": lambda: popularity.popular({"a": [[2**62, 2]] * 9, "b": [[1, 2]] * 9}, 2),
    "a query that is not there": lambda: popularity.known({"a": np.array([[1, 2]])}, 1, 1, 2),
    "a query from the end": lambda: popularity.known({"a": np.array([[1, 2]])}, -1, 1, 2),
    "rank 0": lambda: retrieval.mean_reciprocal_rank([0, 1]),
    "rank NaN": lambda: retrieval.mean_reciprocal_rank([np.nan]),
    "rank 1e300": lambda: retrieval.mean_reciprocal_rank([1e300]),
    "rank 2**64": lambda: retrieval.mean_reciprocal_rank([2**64]),
    "haystack": lambda: retrieval.expected_reciprocal_ranks([1, 2], [5, 5, 5], 3),
    "haystack NaN": lambda: retrieval.expected_reciprocal_ranks([1, 2], [5, np.nan], 3),
    "haystack beyond memory": lambda: retrieval.expected_reciprocal_ranks([2**60], [2**62], 2**61),
    "pairs with NaN": lambda: groups_from_pairs([(1, float("nan"))]),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_match_is_refused_in_a_sentence(what) -> None:
    with pytest.raises(InputError) as refused:
        WRONG[what]()
    assert "\n" not in str(refused.value)


@settings(max_examples=CASES)
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)), st.lists, max_leaves=8
    )
)
def test_any_value_is_taken_or_refused_as_an_array(value) -> None:
    for check, kinds in ((arrays.matrix, "fiub"), (arrays.column, "f"), (arrays.whole, "i")):
        try:
            found = check("x", value)
        except InputError:
            continue
        assert found.dtype.kind in kinds
