"""The needle in the haystack: ranks by hand, against plain NumPy in float64, and against the exact search."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lib import corpora, embedders, needles, plotting, retrieval
from lib.corpora import Corpus
from lib.neighbors import exact, ranking
from lib.run import paths
from lib.run.errors import InputError
from lib.store import EmbeddingStore

# -- mean reciprocal rank -----------------------------------------------------------------------


def test_mean_reciprocal_rank_by_hand() -> None:
    assert retrieval.mean_reciprocal_rank([1, 2, 4]) == pytest.approx(7 / 12)
    assert retrieval.mean_reciprocal_rank(np.array([1, 1, 1])) == 1
    assert retrieval.mean_reciprocal_rank(np.array([4.0])) == 0.25


@given(st.lists(st.integers(1, 10**6), min_size=1), st.randoms())
def test_mean_reciprocal_rank_lies_between_its_extremes_whatever_the_order(values, random) -> None:
    found = retrieval.mean_reciprocal_rank(values)
    assert 1 / max(values) <= found * (1 + 1e-12)
    assert found <= 1 / min(values) * (1 + 1e-12)
    shuffled = random.sample(values, len(values))
    assert retrieval.mean_reciprocal_rank(shuffled) == pytest.approx(found)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 0, 2], "holds 0; ranks start at 1"),
        ([], "one list of whole numbers"),
        ([1.5], "holds 1.5; give whole numbers"),
        ([1, np.nan], "holds nan; give whole numbers"),
        ([[1], [2]], r"shape \(2, 1\)"),
        (["1"], "give whole numbers"),
    ],
)
def test_what_is_no_rank_is_refused(values, message) -> None:
    with pytest.raises(InputError, match=message):
        retrieval.mean_reciprocal_rank(values)


# -- ranks --------------------------------------------------------------------------------------


def at(*degrees: float) -> np.ndarray:
    """Vectors in the plane, at angles from the first axis."""
    angles = np.radians(degrees)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def plain(queries, needles, corpus, exclude=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ranks, ties and haystacks, written from the definition in float64."""

    def unit(vectors):
        norms = np.linalg.norm(np.asarray(vectors, np.float64), axis=1, keepdims=True)
        return np.asarray(vectors, np.float64) / np.where(norms > 0, norms, 1)

    similarities = unit(queries) @ unit(corpus).T
    level = (unit(queries) * unit(needles)).sum(axis=1, keepdims=True)
    hay = np.ones(similarities.shape, bool)
    for i, entry in enumerate(exclude or []):
        hay[i, entry] = False
    nearer, tied = similarities > level + 1e-12, np.abs(similarities - level) <= 1e-12
    return 1 + (nearer & hay).sum(axis=1), (tied & hay).sum(axis=1), hay.sum(axis=1)


def check_against_plain(queries, needles, corpus, exclude=None) -> None:
    for found, expected in zip(
        ranking.ranks(queries, needles, corpus, exclude), plain(queries, needles, corpus, exclude), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_ranks_by_hand() -> None:
    found = ranking.ranks(at(0, 0, 0, 90), at(5, 15, 35, 85), at(10, 20, 30))
    assert found.ranks.tolist() == [1, 2, 4, 1]
    assert found.tied.tolist() == [0, 0, 0, 0]
    assert found.haystack.tolist() == [3, 3, 3, 3]


def test_what_is_excluded_is_no_hay() -> None:
    found = ranking.ranks(at(0, 0, 0), at(35, 35, 35), at(10, 20, 30), exclude=[[0, 1], [], [-1]])
    assert found.ranks.tolist() == [2, 4, 4]
    assert found.haystack.tolist() == [1, 3, 3]


def test_ties_are_counted_beside_the_rank_and_not_in_it() -> None:
    hay = np.array([[1, 0, 0], [2, 2, 0], [0, 5, 5], [1, 0, 1], [0, 0, 0]])
    found = ranking.ranks(np.array([[3, 0, 0]]), np.array([[1, 1, 0]]), hay)
    assert (found.ranks.tolist(), found.tied.tolist()) == ([2], [2])


def test_a_zero_vector_is_as_near_to_everything_and_its_ties_say_so() -> None:
    hay = at(10, 20, 30)
    unknown_query = ranking.ranks(np.zeros((1, 2)), at(5), hay)
    assert (unknown_query.ranks[0], unknown_query.tied[0]) == (1, 3)
    unknown_needle = ranking.ranks(at(0), np.zeros((1, 2)), hay)
    assert (unknown_needle.ranks[0], unknown_needle.tied[0]) == (4, 0)


small_vectors = st.integers(0, 2**32).map(np.random.default_rng)


@given(small_vectors, st.integers(1, 5), st.integers(1, 40), st.integers(1, 4))
def test_ranks_are_those_of_float64_and_between_one_and_behind_all(rng, q, n, d) -> None:
    # Small whole numbers: parallel vectors, ties and zero vectors are frequent.
    queries, needles, corpus = (rng.integers(-2, 3, (rows, d)) for rows in (q, q, n))
    exclude = [rng.choice(n, rng.integers(0, n + 1), replace=False).tolist() for _ in range(q)]
    check_against_plain(queries, needles, corpus, exclude)
    found = ranking.ranks(queries, needles, corpus)
    assert (found.ranks >= 1).all()
    assert (found.ranks + found.tied <= n + 1).all()


def test_what_float32_cannot_tell_apart_is_told_apart(rng) -> None:
    # Hay all around the needles, 1e-6 to 1e-11 away: less than float32 has between two cosines.
    queries, needles = rng.standard_normal((2, 6, 64))
    steps = 10.0 ** rng.uniform(-11, -6, (500, 1))
    corpus = needles[rng.integers(6, size=500)] + steps * rng.standard_normal((500, 64))
    check_against_plain(queries, needles, corpus)
    in_float32 = (queries @ corpus.T / np.linalg.norm(corpus, axis=1)).astype(np.float32)
    level = ((queries * needles).sum(axis=1) / np.linalg.norm(needles, axis=1)).astype(np.float32)
    naive = 1 + (in_float32 > level[:, None]).sum(axis=1)
    assert (naive != plain(queries, needles, corpus)[0]).any()


def test_stored_float32_vectors_in_many_blocks(rng, tmp_path) -> None:
    corpus = np.memmap(tmp_path / "vectors", np.float32, "w+", shape=(9000, 300))
    corpus[:] = rng.standard_normal(corpus.shape)
    corpus[4000] = corpus[8999]
    queries = rng.standard_normal((20, 300)).astype(np.float32)
    needles = queries + 8 * rng.standard_normal(queries.shape).astype(np.float32)
    needles[3] = corpus[4000]
    check_against_plain(queries, needles, corpus, [[i, 8000 + i] for i in range(20)])
    assert ranking.ranks(queries, needles, corpus).tied[3] == 2


def test_the_exact_search_finds_the_needle_at_its_rank(rng) -> None:
    corpus = rng.integers(-3, 4, (60, 3))
    queries, needles = rng.integers(-3, 4, (2, 30, 3))
    found = ranking.ranks(queries, needles, corpus)
    for i in range(30):
        # Added last, the needle comes behind all that are as near: ties go to the lower index there.
        with_needle = np.vstack([corpus, needles[i]])
        order = exact(queries[i : i + 1], with_needle, len(with_needle)).ids[0].tolist()
        assert order.index(60) + 1 == found.ranks[i] + found.tied[i]


@given(small_vectors, st.integers(1, 6), st.integers(1, 30))
def test_more_hay_never_brings_a_needle_forward(rng, q, n) -> None:
    queries, needles, corpus = (rng.standard_normal((rows, 4)) for rows in (q, q, n))
    some = ranking.ranks(queries, needles, corpus[: n // 2 + 1])
    assert (ranking.ranks(queries, needles, corpus).ranks >= some.ranks).all()


def test_neither_lengths_nor_the_order_of_the_corpus_matter(rng) -> None:
    queries, needles, corpus = (rng.standard_normal((rows, 8)) for rows in (5, 5, 50))
    before = ranking.ranks(queries, needles, corpus).ranks
    lengths = 10.0 ** rng.uniform(-30, 30, (50, 1))
    after = ranking.ranks(7 * queries, needles / 3, (lengths * corpus)[rng.permutation(50)]).ranks
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int64])
def test_any_kind_of_real_number_will_do(rng, kind) -> None:
    queries, needles, corpus = ((9 * rng.standard_normal((rows, 8))).astype(kind) for rows in (4, 4, 40))
    check_against_plain(queries, needles, corpus)


@given(small_vectors, st.integers(1, 5), st.integers(1, 40))
def test_sparse_vectors_have_the_ranks_of_dense_ones(rng, q, n) -> None:
    queries, needles, corpus = (rng.poisson(0.3, (rows, 12)).astype(np.float32) for rows in (q, q, n))
    exclude = rng.integers(-1, n, q)
    dense = ranking.ranks(queries, needles, corpus, exclude)
    sparse = ranking.ranks(*map(sp.csr_array, (queries, needles, corpus)), exclude)
    for of_dense, of_sparse in zip(dense, sparse, strict=True):
        np.testing.assert_array_equal(of_dense, of_sparse)


def test_sparse_vectors_in_many_blocks(rng) -> None:
    corpus = sp.random_array((9000, 500), density=0.01, rng=rng, format="csr")
    queries, needles = corpus[:10], corpus[8990:]
    check = plain(queries.toarray(), needles.toarray(), corpus.toarray(), [[i, 8990 + i] for i in range(10)])
    found = ranking.ranks(queries, needles, corpus, [[i, 8990 + i] for i in range(10)])
    for ours, expected in zip(found, check, strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_the_corpus_is_left_as_it_is(rng) -> None:
    corpus = sp.csr_array(rng.poisson(0.5, (30, 6)).astype(np.float64))
    before = corpus.data.copy()
    ranking.ranks(corpus[:3], corpus[3:6], corpus)
    np.testing.assert_array_equal(corpus.data, before)


NAN = np.array([[1.0, 0.0], [np.nan, 1.0]])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"needles": at(1)}, r"needles: shape \(1, 2\) for queries of \(2, 2\)"),
        ({"corpus": np.ones((3, 5))}, "queries have 2 dimensions, the corpus has 5"),
        ({"corpus": np.ones(3)}, "two-dimensional"),
        ({"corpus": NAN}, "corpus: row 1 holds NaN"),
        ({"corpus": NAN.astype(np.float32)}, "corpus: row 1 holds NaN"),
        ({"queries": NAN}, "queries: row 1 holds NaN"),
        ({"needles": NAN}, "needles: row 1 holds NaN"),
        ({"exclude": [3, 0]}, r"exclude\[0\]: 3 is not an index"),
        ({"exclude": [0]}, "has 1 entries for 2 queries"),
        ({"corpus": sp.csr_array(at(1, 2))}, "one is sparse and the other dense"),
    ],
)
def test_vectors_that_cannot_be_ranked_are_refused(changed, message) -> None:
    arguments = {"queries": at(1, 2), "needles": at(3, 4), "corpus": at(10, 20, 30)} | changed
    with pytest.raises(InputError, match=message):
        ranking.ranks(**arguments)


def test_a_sparse_row_that_is_not_finite_is_named() -> None:
    vectors = sp.csr_array(np.eye(3))
    broken = sp.csr_array(np.diag([1, 1, np.inf]))
    with pytest.raises(InputError, match="corpus: row 2 holds NaN or infinity"):
        ranking.ranks(vectors, vectors, broken)


# -- haystacks of another size ------------------------------------------------------------------


def test_expected_reciprocal_rank_by_hand() -> None:
    # Rank 2 among three: one of three is nearer. Left alone, it is met with probability 1/3: 2/3 + 1/3 * 1/2.
    assert retrieval.expected_reciprocal_ranks([2], [3], 1) == pytest.approx(5 / 6)
    # Rank 3 among four, two are left: both nearer ones 1/6, one 4/6, none 1/6.
    assert retrieval.expected_reciprocal_ranks([3], [4], 2) == pytest.approx(1 / 18 + 4 / 12 + 1 / 6)


@given(st.integers(1, 8), st.data())
def test_expected_reciprocal_rank_is_the_mean_over_all_smaller_haystacks(haystack, data) -> None:
    rank, size = data.draw(st.integers(1, haystack + 1)), data.draw(st.integers(0, haystack))
    nearer = [i < rank - 1 for i in range(haystack)]
    reciprocals = [1 / (1 + sum(some)) for some in combinations(nearer, size)]
    found = retrieval.expected_reciprocal_ranks([rank], [haystack], size)
    assert found[0] == pytest.approx(np.mean(reciprocals))


def test_expected_reciprocal_rank_falls_from_one_to_what_was_measured() -> None:
    ranks, haystack = np.array([1, 2, 40, 10**6, 10**7 + 1]), np.array([10, 10**5, 10**7, 10**7, 10**7])
    curve = np.stack([retrieval.expected_reciprocal_ranks(ranks, haystack, 10**e) for e in range(8)])
    assert (np.diff(curve, axis=0) <= 1e-12).all()
    np.testing.assert_allclose(curve[-1], 1 / ranks, rtol=1e-12)
    np.testing.assert_allclose(retrieval.expected_reciprocal_ranks(ranks, haystack, 0), 1)


@pytest.mark.parametrize(
    ("ranks", "haystack", "size", "message"),
    [
        ([1, 5], [3, 3], 2, "5 in a haystack of 3"),
        ([0], [3], 2, "ranks start at 1"),
        ([1], [3], -1, "size: -1 is not accepted"),
    ],
)
def test_impossible_haystacks_are_refused(ranks, haystack, size, message) -> None:
    with pytest.raises(InputError, match=message):
        retrieval.expected_reciprocal_ranks(ranks, haystack, size)


# -- pairs --------------------------------------------------------------------------------------


def corpus_of(sentences, groups) -> Corpus:
    """A corpus of one document."""
    n = len(sentences)
    return Corpus("tiny", list(sentences), np.zeros(n, np.int32), np.array([0]), np.array(groups, np.int32))


VERSES = corpus_of(["a one", "b one", "c one", "a two", "b two", "a three", "free"], [1, 1, 1, 2, 2, 3, -1])
load = partial(needles.load, genre="main-news", lowest_score=4.0)


def test_verses_are_paired_with_another_version_of_themselves_each_verse_once() -> None:
    seen = set()
    for seed in range(60):
        pairs = load("verses", VERSES, np.random.default_rng(seed))
        assert pairs.groups.tolist() == [1, 2]
        for query, needle in zip(pairs.queries, pairs.needles, strict=True):
            assert query != needle
            assert query.split()[1] == needle.split()[1]
            seen.add((query, needle))
    assert len(seen) == 3 * 2 + 2  # every ordered pair of two versions comes up


def test_the_same_seed_draws_the_same_pairs() -> None:
    first, second = (load("verses", VERSES, np.random.default_rng(7)) for _ in range(2))
    assert (first.queries, first.needles) == (second.queries, second.needles)


def lines(tmp_path, content: str) -> str:
    file = tmp_path / "pairs.tsv"
    file.write_text(content, encoding="utf-8")
    return f"lines:{file}"


def test_pairs_of_the_users_own_are_read_repetitions_left_out(tmp_path) -> None:
    source = lines(tmp_path, "a  query\tits needle\n\nanother\tÜbung\na query\tits needle\n")
    pairs = load(source, VERSES, np.random.default_rng(0))
    assert pairs.queries == ["a query", "another"]
    assert pairs.needles == ["its needle", "Übung"]
    assert pairs.groups.tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tb\nsame one\tsame  one\n", "line 2: the two sentences are the same"),
        ("a\tb\nc\n", "line 2: not a pair"),
        ("a\tb\tc\n", "line 1: not a pair"),
        ("a\tb\nc\t \n", "line 2: not a pair"),
        ("a\tb\n\nc\n", "line 3: not a pair"),
        ("", "the file is empty"),
        ("\n\n", "holds no pair"),
    ],
)
def test_a_line_that_is_no_pair_is_named(tmp_path, content, message) -> None:
    with pytest.raises(InputError, match=message):
        load(lines(tmp_path, content), VERSES, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("verse", "pairs_source: 'verse' is not known; accepted: 'verses'"),
        ("lines:nowhere/pairs.tsv", "pairs_source: no file .*nowhere/pairs.tsv; give 'verses'.*'lines:PATH'"),
        ("verses", "corpus 'tiny' nobody knows which sentences mean the same: give 'verses' .*'stsbenchmark'.*'lines"),
    ],
)
def test_a_source_without_pairs_says_which_are_accepted(source, message) -> None:
    with pytest.raises(InputError, match=message):
        load(source, corpus_of(["one", "two"], [-1, -1]), np.random.default_rng(0))


def test_pairs_of_the_sts_benchmark_are_the_papers_kind(data_file) -> None:
    data_file("senteval/STS/STSBenchmark/sts-dev.csv")
    pairs = load("stsbenchmark", VERSES, np.random.default_rng(0))
    # Counted with awk over the two files: genre main-news, score of 4 or more, the two sentences not the same.
    assert len(pairs) == 227
    assert all(query != needle for query, needle in zip(pairs.queries, pairs.needles, strict=True))
    assert 75 <= (needles.ratios(pairs)["jaccard"] < 0.6).sum() < len(pairs)
    with pytest.raises(InputError, match="genre: 'news' is not known; did you mean main-news"):
        needles.load("stsbenchmark", VERSES, np.random.default_rng(0), "news", 4.0)
    with pytest.raises(InputError, match=r"holds no pair; .* a lower lowest_score"):
        needles.load("stsbenchmark", VERSES, np.random.default_rng(0), "main-news", 6)


# -- word overlap and the draw ------------------------------------------------------------------


def pairs_of(*both: tuple[str, str]) -> needles.Pairs:
    queries, others = map(list, zip(*both, strict=True))
    return needles.Pairs(queries, others, np.full(len(both), -1, np.int32))


def test_word_overlap_by_hand() -> None:
    # Types: {the, king, saw, a, star} and {a, king, saw, it}: three shared, six in all.
    ratios = needles.ratios(pairs_of(("The king saw the, a star!", "A king saw it."), ("one", "two"), ("!", "?")))
    assert ratios.loc[0].to_dict() == pytest.approx({"jaccard": 3 / 6, "dice": 6 / 9, "first": 3 / 5, "shorter": 3 / 4})
    assert (ratios.loc[1:] == 0).all(axis=None)


@given(st.frozensets(st.sampled_from("abcdef")), st.frozensets(st.sampled_from("abcdef")))
def test_definitions_of_overlap_keep_their_order(left, right) -> None:
    values = {name: ratio(left, right) for name, ratio in needles.RATIOS.items()}
    assert 0 <= values["jaccard"] <= values["dice"] <= values["shorter"] <= 1
    assert values["jaccard"] <= values["first"] <= values["shorter"]
    assert needles.shorter(left, right) == needles.shorter(right, left)


def test_a_draw_takes_the_first_in_order_below_the_limit() -> None:
    overlaps, order = np.array([0.1, 0.6, 0.5, 0.7, 0.2]), np.array([3, 4, 1, 2, 0])
    assert needles.draw(overlaps, 0.6, 2, order).tolist() == [2, 4]
    assert needles.draw(overlaps, 0.6, 9, order).tolist() == [0, 2, 4]


def test_too_few_pairs_are_refused_with_their_number() -> None:
    needles.check_drawn(np.arange(5), 5, "jaccard", 0.6)
    with pytest.raises(InputError, match=r"pairs: 6 is not accepted; 5 have a word overlap \(jaccard\) below 0.6"):
        needles.check_drawn(np.arange(5), 6, "jaccard", 0.6)


# -- the haystack -------------------------------------------------------------------------------


def test_a_smaller_haystack_keeps_what_is_known_of_its_sentences() -> None:
    some = needles.haystack(VERSES, 4, np.random.default_rng(1))
    assert len(some) == len(some.groups) == len(some.documents) == 4
    places = [VERSES.sentences.index(sentence) for sentence in some.sentences]
    assert places == sorted(places)
    np.testing.assert_array_equal(some.groups, VERSES.groups[places])
    assert [some.sentences[i] for i in some.ledes] == [s for s in some.sentences if s == "a one"]
    assert some.fingerprint != VERSES.fingerprint
    assert needles.haystack(VERSES, 0, np.random.default_rng(1)) is VERSES
    with pytest.raises(InputError, match=r"haystack: 8 is not accepted; give 0 to 7 \(0 is the whole corpus\)"):
        needles.haystack(VERSES, 8, np.random.default_rng(1))


def test_no_version_of_the_verse_is_hay_whether_the_pair_is_in_the_corpus_or_not() -> None:
    verse = needles.Pairs(["a one", "b two"], ["c one", "a two"], np.array([1, 2]))
    assert [entry.tolist() for entry in needles.hidden(verse, VERSES)] == [[0, 1, 2], [3, 4]]
    from_elsewhere = needles.Pairs(["new", "free", "new"], ["words", "words", "a two"], np.array([1, -1, -1]))
    assert [entry.tolist() for entry in needles.hidden(from_elsewhere, VERSES)] == [[0, 1, 2], [6], [3, 4]]


def test_pairs_that_share_a_sentence_belong_together() -> None:
    labels = needles.clusters(pairs_of(("a", "b"), ("c", "d"), ("e", "b"), ("d", "f")))
    assert labels[0] == labels[2] != labels[1] == labels[3]


# -- the experiment -----------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path, monkeypatch) -> EmbeddingStore:
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    store = EmbeddingStore(tmp_path / "embeddings")
    monkeypatch.setattr(retrieval, "EmbeddingStore", lambda: store)
    return store


TEXT = corpus_of(
    ["the king saw a star", "a ruler looked", "the king slept", "stars shine", "he ran"], [1, 1, -1, -1, -1]
)


def test_search_ranks_the_needle_among_the_rest_of_the_corpus(store) -> None:
    pairs = needles.Pairs(["a star seen", "the king saw a star"], ["the star", "a ruler looked"], np.array([-1, 1]))
    found, costs = retrieval.search(["bow"], TEXT, pairs, show_progress_bar=False)
    # Known words of the first query: a, star. Its needle "the star" has cosine 1/2, "the king saw a star" 2/sqrt(10).
    # The second has cosine 1/sqrt(15) with its needle, and 2/sqrt(15) with "the king slept"; the first one is itself.
    assert found["bow"].ranks.tolist() == [2, 2]
    assert found["bow"].haystack.tolist() == [5, 3]
    assert costs[["embedder", "family", "dim"]].to_numpy().tolist() == [["bow", "sparse", 12]]


def test_sentences_of_the_corpus_get_the_vectors_they_have_there_and_others_fit_nothing(store) -> None:
    sentences = ["he ran", "a new star", "the king slept"]
    hay, vectors = retrieval.embed("tfidf", TEXT, sentences)
    fitted_on_corpus = embedders.load("tfidf").fit(TEXT.sentences)
    np.testing.assert_allclose(vectors.toarray(), fitted_on_corpus.encode(sentences).toarray())
    np.testing.assert_array_equal(vectors[[0, 2]].toarray(), hay[[4, 2]].toarray())


def test_summary_by_hand() -> None:
    found = {
        "poor": retrieval.Ranks(np.array([2, 6, 4]), np.array([0, 1, 0]), np.array([9, 9, 9])),
        "good": retrieval.Ranks(np.array([1, 5, 1]), np.array([0, 0, 0]), np.array([9, 9, 9])),
    }
    table = retrieval.summary(found, np.arange(3), np.random.default_rng(0), 500, 0.9)
    assert list(table.index) == ["good", "poor"]
    assert table.loc["good", ["mrr", "top_1", "top_5", "median_rank", "tied"]].tolist() == pytest.approx(
        [2.2 / 3, 2, 3, 1, 0]
    )
    assert table.loc["poor", "mrr"] == pytest.approx((1 / 2 + 1 / 6 + 1 / 4) / 3)
    assert table.loc["poor", "mrr_ties_lost"] == pytest.approx((1 / 2 + 1 / 7 + 1 / 4) / 3)
    assert table.loc["poor", ["top_1", "top_5", "tied"]].tolist() == [0, 2, 1]
    for quantity, most in {"mrr": 1, "top_1": 3, "top_5": 3}.items():
        assert (table[f"{quantity}_low"] <= table[quantity]).all()
        assert (table[quantity] <= table[f"{quantity}_high"]).all()
        assert table[f"{quantity}_high"].max() <= most


def test_contrasts_are_paired_differences_of_mrr() -> None:
    a, b = (retrieval.Ranks(np.array(ranks), np.zeros(4), np.full(4, 9)) for ranks in ([1, 2, 4, 1], [2, 4, 4, 2]))
    both = [("a", "b"), ("b", "a"), ("a", "a")]
    table = retrieval.contrasts({"a": a, "b": b}, both, np.arange(4), np.random.default_rng(0), 500, 0.9)
    # Pair by pair a is ahead by 1/2, 1/4, 0 and 1/2.
    assert table["difference"].tolist() == pytest.approx([1.25 / 4, -1.25 / 4, 0])
    assert 0 <= table.loc[0, "low"] < table.loc[0, "difference"] < table.loc[0, "high"] <= 0.5
    assert table.loc[1, ["low", "high"]].tolist() == pytest.approx([-table.loc[0, "high"], -table.loc[0, "low"]])
    assert table.loc[2, ["low", "high"]].tolist() == [0, 0]
    assert retrieval.contrasts({"a": a}, [], np.arange(4), np.random.default_rng(0), 500, 0.9).empty


def test_curves_over_haystack_sizes_end_at_the_mrr() -> None:
    lists = retrieval.Ranks(np.array([1, 2, 4]), np.zeros(3, int), np.array([3, 3, 3]))
    curve = retrieval.by_haystack_size({"a": lists}, [0, 1, 3], np.arange(3), np.random.default_rng(0), 500, 0.9)["a"]
    assert curve["value"].tolist() == pytest.approx([1, (1 + 5 / 6 + 1 / 2) / 3, 7 / 12])
    assert curve.loc[0, ["low", "high"]].tolist() == [1, 1]
    assert (curve["low"] <= curve["value"]).all()
    assert (curve["value"] <= curve["high"]).all()


def test_what_is_found_first_is_neither_the_query_nor_its_needle(store) -> None:
    pairs = needles.Pairs(["the king saw a star", "stars"], ["a ruler looked", "the star"], np.array([1, -1]))
    assert retrieval.found_first(["bow"], TEXT, pairs)["bow"].tolist() == [2, 3]


def test_a_rank_map_shows_each_rank_in_its_class() -> None:
    _, axes = plt.subplots()
    ranks = pd.DataFrame([[1, 2, 5, 6, 50, 51, 500, 501, 10**6]], index=["a"])
    plotting.rank_map(ranks, axes)
    assert axes.collections[0].get_array().ravel().tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4]
    labels = [text.get_text() for text in axes.collections[0].colorbar.ax.get_yticklabels()]
    assert labels == ["1", "2 to 5", "6 to 50", "51 to 500", "501 and more"]
    plt.close()


def test_gospel_verses_offer_a_pair_each() -> None:
    corpus = corpora.load("bible-gospels")
    pairs = load("verses", corpus, np.random.default_rng(2020))
    assert len(pairs) == len(set(pairs.groups.tolist())) > 4700
    for hidden, group in zip(needles.hidden(pairs.take(np.arange(50)), corpus), pairs.groups[:50], strict=True):
        assert set(np.flatnonzero(corpus.groups == group)) == set(hidden)
