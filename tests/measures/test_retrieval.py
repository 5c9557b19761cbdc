"""The paraphrase in the haystack: ranks by hand and against float64 NumPy.

Also the pairs of lesson 4.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import cosine_similarity

from lib import corpora, embedders, retrieval
from lib.store import EmbeddingStore
from lib.studies import paraphrases
from lib.studies.paraphrases import Pairs
from tests.refusals import refused
from tests.topics import corpus_of

# -- mean reciprocal rank --------------------------------------------------------------


def test_mean_reciprocal_rank_by_hand() -> None:
    assert retrieval.mean_reciprocal_rank([1, 2, 4]) == pytest.approx(7 / 12)


@pytest.mark.parametrize("values", [[1, 0, 2], [], [1.5], [[1], [2]]])
def test_what_is_no_rank_is_refused(values) -> None:
    with refused("ranks: "):
        retrieval.mean_reciprocal_rank(values)


def test_chance_is_the_mean_over_all_orders() -> None:
    assert retrieval.chance(4) == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4)
    assert retrieval.chance(3) == pytest.approx(11 / 18)


# -- ranks -----------------------------------------------------------------------------


def check_ranks(queries, needles, corpus, exclude=None, kind=np.asarray) -> None:
    """Ranks and ties are those of the definition, in float64."""
    similarities = cosine_similarity(queries, corpus)
    level = np.diag(cosine_similarity(queries, needles))[:, None]
    for row, left_out in enumerate(exclude or []):
        similarities[row, left_out] = -2
    nearer = similarities > level + 1e-12
    tied = np.abs(similarities - level) <= 1e-12
    found = retrieval.ranks(kind(queries), kind(needles), kind(corpus), exclude)
    np.testing.assert_array_equal(found.ranks, 1 + nearer.sum(axis=1))
    np.testing.assert_array_equal(found.tied, tied.sum(axis=1))


def test_ties_are_counted_beside_the_rank_and_not_in_it() -> None:
    hay = np.array([[1, 0, 0], [2, 2, 0], [0, 5, 5], [1, 0, 1], [0, 0, 0]])
    found = retrieval.ranks(np.array([[3, 0, 0]]), np.array([[1, 1, 0]]), hay)
    assert (found.ranks.tolist(), found.tied.tolist()) == ([2], [2])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 40), st.integers(1, 4))
def test_ranks_are_those_of_float64(kind, seed, q, n, d) -> None:
    # Small whole numbers: parallel vectors, ties and zero vectors are frequent.
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-2, 3, (q + q + n, d))
    counts = rng.integers(0, n + 1, q)
    exclude = [rng.choice(n, count, replace=False).tolist() for count in counts]
    check_ranks(*np.split(vectors, [q, q + q]), exclude, kind)


def test_what_float32_cannot_tell_apart_is_told_apart(rng) -> None:
    # Hay all around the needles, 1e-6 to 1e-11 away: less than float32 has between two
    # cosines.
    queries, needles = rng.standard_normal((2, 6, 64))
    steps = 10.0 ** rng.uniform(-11, -6, (500, 1))
    corpus = needles[rng.integers(6, size=500)] + steps * rng.standard_normal((500, 64))
    check_ranks(queries, needles, corpus)


NAN = np.array([[1.0, 0.0], [np.nan, 1.0]])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"needles": np.eye(2)[:1]}, "needles: shape (1, 2) for queries of (2, 2)"),
        ({"queries": np.eye(2)[:1]}, "needles: shape (2, 2) for queries of (1, 2)"),
        ({"corpus": np.ones((3, 5))}, "queries have 2 dimensions, the corpus has 5"),
        ({"needles": NAN}, "needles: row 1 contains NaN"),
        ({"exclude": [3, 0]}, "exclude[0]: 3 is not an index"),
    ],
)
def test_vectors_that_cannot_be_ranked_are_refused(changed, message) -> None:
    given = {"queries": np.eye(2), "needles": np.eye(2), "corpus": np.ones((3, 2))}
    with refused(message):
        retrieval.ranks(**given | changed)


# -- pairs -----------------------------------------------------------------------------


def test_a_verse_of_one_translation_is_the_query_and_of_the_other_the_paraphrase(
    monkeypatch,
) -> None:
    verses = ["a one", "a two", "a two again", "a three", "free"]
    here = corpus_of(verses, [1, 2, 2, 3, -1])
    other = corpus_of(["b one", "b two", "a three", "b four"], [1, 2, 3, 4])
    monkeypatch.setattr(corpora, "load", {"other": other}.__getitem__)
    # Two stands twice in one of them, three is the same sentence in both.
    assert paraphrases.load("other", here) == (["b one"], ["a one"])


def lines(tmp_path, content: str) -> str:
    file = tmp_path / "pairs.tsv"
    file.write_text(content, encoding="utf-8")
    return f"lines:{file}"


def test_of_pairs_that_share_a_sentence_only_the_first_is_taken(tmp_path) -> None:
    pairs = "a  query\tits pair\nanother\tÜbung\na query\tsome\nx\tx\nÜbung\ty\n"
    found = paraphrases.load(lines(tmp_path, pairs), None)
    assert found == (["a query", "another"], ["its pair", "Übung"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tb\nc\n", "line 2: give a query"),
        ("a\tb\tc\n", "line 1: give"),
        ("", "empty"),
        ("x\tx\n", "has no pair"),
    ],
)
def test_a_file_without_pairs_gets_a_sentence(tmp_path, content, message) -> None:
    with refused(message):
        paraphrases.load(lines(tmp_path, content), None)


def test_the_sts_benchmark_offers_news_rated_four_or_more(data_folder) -> None:
    folder = data_folder / "senteval" / "STS" / "STSBenchmark"
    folder.mkdir(parents=True)
    rows = ["main-news\tf\ty\t1\t4.0\tit rains\train falls"]
    rows += ["main-news\tf\ty\t2\t3.9\ta\tb", "main-news\tf\ty\t4\t5.0\te\te"]
    rows += ["main-captions\tf\ty\t3\t5.0\tc\td"]
    for split in ("train", "dev", "test"):
        own = f"main-news\tf\ty\t5\t4.0\tof {split}\tin {split}"
        (folder / f"sts-{split}.csv").write_text("\n".join([*rows, own]) + "\n")
    # The paper's pairs come first; those of the training set are not among them.
    papers, paraphrased = paraphrases.load("stsbenchmark", None)
    assert papers == ["it rains", "of dev", "of test"]
    assert paraphrased == ["rain falls", "in dev", "in test"]
    every, _ = paraphrases.load("stsbenchmark:all", None)
    assert every == [*papers, "of train"]


def test_only_pairs_below_the_limit_are_drawn_and_too_many_are_refused(rng) -> None:
    queries = ["The cat sat.", "the cat", "Dogs bark"]
    pairs = Pairs(queries, ["the CAT sat", "a cat", "the hound barks"])
    assert paraphrases.word_overlap(pairs).tolist() == pytest.approx([1, 1 / 3, 0])
    assert paraphrases.draw(pairs, 2, 0.6, rng).queries == ["the cat", "Dogs bark"]
    with refused("pairs: 3 is not accepted; give 2 to 2"):
        paraphrases.draw(pairs, 3, 0.6, rng)


def test_text_from_different_sources_gets_one_form() -> None:
    both = ["He didn't pay U.S. $3.6.", "he didn 't pay u.s. $ 3.6 ."]
    cased, tokenized = paraphrases.one_form(both)
    assert cased == tokenized == "he didn t pay u s 3 6"


def test_every_paraphrase_is_hidden_once_and_no_query_is_hay(rng) -> None:
    corpus = corpus_of(["a", "b", "c", "d"])
    hay, answers = paraphrases.hide(Pairs(["d", "q"], ["a", "new"]), corpus, 0, rng)
    assert (hay, answers.tolist()) == (["a", "b", "c", "new"], [0, 3])
    some, answers = paraphrases.hide(Pairs(["q"], ["new"]), corpus, 2, rng)
    assert (len(some), some[answers[0]]) == (3, "new")


def test_queries_are_encoded_by_what_was_learned_from_the_haystack(
    own_cache, monkeypatch
) -> None:
    store = EmbeddingStore(own_cache / "store")
    monkeypatch.setattr(paraphrases, "EmbeddingStore", lambda: store)
    hay = ["the king saw a star", "a star fell", "no king"]
    queries = ["the star", "unknown"]
    asked, searched = paraphrases.embed(embedders.load("tfidf"), hay, queries)
    fitted = embedders.load("tfidf").fit(hay)
    np.testing.assert_array_equal(asked.toarray(), fitted.encode(queries).toarray())
    np.testing.assert_array_equal(searched.toarray(), fitted.encode(hay).toarray())
