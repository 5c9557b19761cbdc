"""What comparisons of Sent2Vec's trainings measure: hand-derived answers and SciPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from audit import trainings as study
from lib import corpora, stats, tasks
from lib.sent2vec import Sent2Vec, Settings
from lib.studies import scores
from lib.studies.trainings import word_weights

LINES = ["the cat saw the dog .", "a dog saw a cat .", "the bird saw the cat ."] * 4


@pytest.fixture(scope="module")
def model():
    return Sent2Vec.train(
        LINES,
        dim=4,
        epochs=2,
        min_count=1,
        min_target_count=1,
        subsample=1.0,
        word_ngrams=2,
        bucket=50,
    )


def test_weights_are_those_of_the_matrix_and_frequencies_those_of_the_text(
    model,
) -> None:
    table = word_weights(model).set_index("word")
    assert "</s>" not in table.index
    tokens = " ".join(LINES).split()
    assert table.loc["cat", "frequency"] == pytest.approx(
        tokens.count("cat") / (len(tokens) + len(LINES))
    )
    assert table.loc["cat", "norm"] == pytest.approx(
        np.linalg.norm(model.word_vectors()["cat"]), rel=1e-6
    )
    assert table.loc["bird", "band"] == 0
    assert table.loc["the", "band"] == 2


def test_variants_replace_what_they_say(model) -> None:
    words = model.word_vectors()
    alone = study.changed(model, "words only").encode(["cat saw"])
    np.testing.assert_allclose(alone[0], (words["cat"] + words["saw"]) / 2, rtol=1e-5)
    weights = word_weights(model).set_index("word")
    smoothed = study.changed(model, "SIF").word_vectors()["cat"]
    assert np.linalg.norm(smoothed) == pytest.approx(
        weights.loc["cat", "sif"], rel=1e-5
    )
    assert not study.changed(model, "no frequent").word_vectors()["the"].any()


# -- sets, and what their values are kept under ----------------------------------------


@pytest.mark.parametrize(("seed", "queries"), [(2020, 500), (3, 1500), (8, 40)])
def test_no_verse_is_both_tested_and_held_out_in_any_translation(seed, queries) -> None:
    asked = {}
    for item_set in study.item_sets(["Verses"], [], queries, seed):
        if item_set.name != "Verses":
            continue
        name = "wmth" if item_set.group == "tuning" else "ylt"
        corpus = corpora.load(f"bible-gospels:{name}")
        verse = dict(zip(corpus.sentences, corpus.groups.tolist(), strict=True))
        texts = item_set.values.__self__.queries
        assert len(set(texts)) == queries
        asked[item_set.group] = {verse[each] for each in texts}
    assert asked["similarity"] == asked["cosine"]
    assert asked["similarity"].isdisjoint(asked["tuning"])


def test_no_pair_that_tunes_is_scored(data_file) -> None:
    data_file("senteval/STS")
    data_file("senteval/SICK")
    sets = study.item_sets(["STS14", "SICK-R"], [], 40, 1)
    pairs = {group: set() for group in ("tuning", "similarity", "STS-B")}
    whole = [("STS12", "test"), ("STS13", "test")]
    for item_set in sets:
        if item_set.group in pairs:
            seen = []
            item_set.values(scores.Fitted(lambda texts, seen=seen: zeros(texts, seen)))
            half = len(seen) // 2
            task = tasks.PairTask(seen[:half], seen[half:], np.zeros(half))
            pairs[item_set.group].update(scores.pair_keys(task))
    assert pairs["tuning"].isdisjoint(pairs["similarity"] | pairs["STS-B"])
    every = {key for each in whole for key in scores.pair_keys(tasks.load(*each))}
    assert pairs["tuning"] == every - pairs["similarity"] - pairs["STS-B"]
    assert len(every - pairs["tuning"]) > 400


def zeros(texts, seen):
    """Vectors of nothing, and the texts noted."""
    seen.extend(texts)
    return np.zeros((len(texts), 1), np.float32)


def test_a_pair_is_known_by_letters_and_digits_in_either_order() -> None:
    task = tasks.PairTask(
        ["A dog runs.", "a cat", "a cat"], ["Two men", "a dog  runs", "b"], np.zeros(3)
    )
    other = tasks.PairTask(["two men!"], ["a dog runs"], np.zeros(1))
    assert scores.pair_keys(other)[0] == scores.pair_keys(task)[0]
    assert len(set(scores.pair_keys(task))) == 3


def test_a_training_that_diverges_has_no_values_and_is_not_repeated(
    own_cache, monkeypatch
) -> None:
    def one_by_one(measure, jobs):
        return (measure(*job) for job in jobs)

    monkeypatch.setattr(study, "in_processes", one_by_one)
    settings = Settings(4, min_count=1, min_target_count=1, epochs=200, lr=1e4)
    wild = {"wild": [study.Training(LINES, settings, ())]}
    results = study.Comparison([], stats.Sampling())
    results.train(wild)
    assert results.values == {}
    monkeypatch.delattr(study.Sent2Vec, "train")
    results.train(wild)
    assert results.values == {}


def test_ranges_of_one_order_share_no_verse_and_the_first_is_its_start() -> None:
    corpus = corpora.load("bible-gospels:ylt")
    found = np.isin(corpus.groups, corpora.load(scores.HAYSTACK).groups)
    rows = np.flatnonzero(found & (corpus.groups >= 0))
    for seed in range(5):
        first = scores.VerseQueries(0, 1000, seed)
        start = np.random.default_rng(seed).permutation(rows)[:1000]
        assert first.queries == [corpus.sentences[row] for row in start]
        second = scores.VerseQueries(1000, 2000, seed)
        assert set(first.groups).isdisjoint(second.groups)
        assert len(second.queries) == 1000


PAIRS = tasks.PairTask(["a", "b"], ["c", "d"], np.arange(2.0))
TEXTS = [PAIRS, replace(PAIRS, left=["b", "a"]), replace(PAIRS, right=["c", "e"])]
IDS = [replace(PAIRS, ids=ids) for ids in ([(0, 1), (2, 3)], [(0, 2), (1, 3)])]
CLASSES = tasks.ClassificationTask(["a", "b"], np.array([0, 1]))
LABELED = [
    CLASSES,
    replace(CLASSES, sentences=["a", "c"]),
    replace(CLASSES, labels=np.array([1, 1])),
    replace(CLASSES, groups=np.array([1, 1])),
]


@pytest.mark.parametrize("versions", [TEXTS + IDS, LABELED], ids=["pairs", "classes"])
def test_what_values_are_made_of_is_in_the_key(versions, monkeypatch) -> None:
    keys = []
    for task in versions:
        monkeypatch.setattr(tasks, "load", lambda *_, task=task: task)
        if isinstance(task, tasks.PairTask):
            keys += [each.key for each in scores.rated("X")]
        else:
            keys += [scores.classified("MR", "", n).key for n in (2, 3)]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("trainer", [True, False, True]),
        ("gensim", [False, True, False]),
        ("scikit-learn", [False, False, True]),
        ("spacy", [True, True, True]),
    ],
)
def test_another_version_of_what_made_the_values_is_another_entry(
    what, expected, monkeypatch
) -> None:
    monkeypatch.setattr(tasks, "load", lambda *_: CLASSES)
    entries = []
    for number in ("1", "2"):
        for module in (study, scores):
            monkeypatch.setattr(module, "version", {what: number}.get)
        monkeypatch.setattr(study.trainer, "VERSION", what == "trainer" and number)
        none = study.Training(LINES, Settings(), ())
        own = [none, none._replace(gensim="C-BOW"), none._replace(groups=("g",))]
        sets = [scores.classified("MR", "g")]
        entries.append([study.cache_entry(each, sets).folder for each in own])
    assert [one != other for one, other in zip(*entries, strict=True)] == expected
