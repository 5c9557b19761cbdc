"""Probing tasks: SentEval's files, recipes by hand, and independent splits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from audit import probing
from audit.probing import Probe, recipes
from lib.corpora import Corpus, text
from tests.refusals import refused
from tests.topics import corpus_of


def pseudo_words(count: int) -> list[str]:
    """So many different words of six letters."""
    syllables = ["".join(pair) for pair in product("bdfgklmnprst", "aeiou")]
    return [
        "".join(parts) for parts in product(syllables[::7], syllables, syllables[::3])
    ][:count]


def random_corpus(n: int, groups: bool = False) -> Corpus:
    """Sentences of 5 to 20 frequent and rare words; groups have three sentences."""
    rng = np.random.default_rng(0)
    words = pseudo_words(300)
    odds = 1 / np.arange(10, 310)
    sentences = []
    for length in rng.integers(5, 21, n).tolist():
        drawn = rng.choice(words, length, p=odds / odds.sum())
        sentences.append(" ".join(drawn).capitalize() + ".")
    return corpus_of(sentences, np.arange(n) // 3 if groups else None)


def check(probe: Probe) -> None:
    """What every made probe satisfies: balance, and no sentence in two splits."""
    words = []
    for split in probe.splits:
        counts = np.bincount(split.labels, minlength=len(probe.classes))
        assert counts.min() == counts.max() > 0
        words += [tuple(text.lower_words(sentence)) for sentence in split.sentences]
    assert len(set(words)) == len(words)


# -- SentEval's files ------------------------------------------------------------------

FILE = """\
tr\t10\tThe first of them .
tr\t9\tAnother one , " quoted " .
tr\t10\t100\tMore columns may stand before the last .
tr\t9\tIl était une fois .
va\t9\tIn the middle .
te\t10\tAt the end .
te\t9\tThe very end .
"""


@pytest.fixture
def senteval(data_folder):
    """A function that writes the file of TreeDepth where data are looked for."""
    folder = data_folder / "senteval" / "probing"
    folder.mkdir(parents=True)

    return (folder / "tree_depth.txt").write_text


def test_a_file_is_read_as_it_stands(senteval) -> None:
    senteval(FILE)
    probe = probing.read("TreeDepth")
    assert probe.classes == ["9", "10"]  # by number
    train, dev, test = probe.splits
    lines = [line.rsplit("\t", 1)[-1] for line in FILE.splitlines()]
    assert train.sentences + dev.sentences + test.sentences == lines
    labels = [split.labels.tolist() for split in probe.splits]
    assert labels == [[1, 0, 1, 0], [0], [1, 0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("va\t9\tIn the middle .\n", ""), "has lines of tr, te with the labels 9, 10"),
        (
            ("tr\t9\tA", "tr 9 A"),
            "line 2: is not a line of a task; give tr, va or te, a label",
        ),
        (("In the middle .", " "), "line 5: is not a line of a task"),
        (("te\t9", "te\t11"), "two labels or more, each in two lines or more of tr"),
        (("\t9\t", "\t10\t"), "with the labels 10; give"),
    ],
)
def test_a_broken_file_is_named_with_the_line(change, message, senteval) -> None:
    senteval(FILE.replace(*change))
    with refused(message):
        probing.read("TreeDepth")


# -- what is made ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["SentLen", "WC"])
def test_a_group_stands_in_one_split_and_once_in_what_is_asked(name) -> None:
    corpus = random_corpus(900, groups=True)
    group = dict(zip(corpus.sentences, corpus.groups.tolist(), strict=True))
    probe = probing.make(name, corpus, [160, 40, 40])
    check(probe)
    drawn = [[group[each] for each in split.sentences] for split in probe.splits]
    train, dev, test = map(set, drawn)
    assert len(train | dev | test) == len(train) + len(dev) + len(test)
    assert (len(dev), len(test)) == (len(drawn[1]), len(drawn[2]))


@pytest.mark.parametrize("name", ["SentLen", "WC", "BShift"])
def test_the_seed_decides(name) -> None:
    corpus = random_corpus(900)
    first, again, other = (
        probing.make(name, corpus, [60, 15, 15], seed).splits for seed in (3, 3, 4)
    )
    check(probing.make(name, corpus, [1, 1, 1]))  # rounded up to equal classes
    for one, same, changed in zip(first, again, other, strict=True):
        assert one.sentences == same.sentences != changed.sentences
        assert one.labels.tolist() == same.labels.tolist()


@pytest.mark.parametrize(
    ("name", "sentences", "message"),
    [
        ("SOMO", [], "name: SOMO cannot be made here; give one of SentLen, WC"),
        (
            "SentLen",
            ["One sentence of five words."],
            "too few different sentence lengths for SentLen's 6",
        ),
        ("WC", ["Four words are few.", ""], "has no sentence of 5 words or more"),
        ("WC", ["Only one sentence is not enough."], "size: 300 is too much for WC"),
        ("BShift", ["Only one sentence is not enough."], "is too much for BShift"),
    ],
)
def test_bad_input_is_answered_by_one_sentence(name, sentences, message) -> None:
    with refused(message):
        probing.make(name, corpus_of(sentences), [200, 50, 50])


# -- recipes: words --------------------------------------------------------------------


def test_lengths_fall_into_bins_of_their_own(monkeypatch) -> None:
    monkeypatch.setattr(recipes, "BINS", 2)
    words = pseudo_words(11)
    sentences = [
        " ".join([*words[:length], last])
        for length in (4, 5, 8, 9)
        for last in pseudo_words(40)[11:]
    ]
    probe = probing.make("SentLen", corpus_of(sentences), [20, 4, 4])
    assert probe.classes == ["5-8", "9-10"]
    for split in probe.splits:
        long = [len(sentence.split()) >= 9 for sentence in split.sentences]
        assert split.labels.tolist() == long


@pytest.fixture
def words(monkeypatch):
    """A function that sets the number of words of WC."""

    def choose(number: int) -> None:
        monkeypatch.setattr(recipes, "MOST_WORDS", number)
        monkeypatch.setattr(recipes, "SENTENCES_A_WORD", 1)

    return choose


def test_a_sentence_has_its_word_once_and_no_other(words) -> None:
    words(5)
    corpus = random_corpus(900)
    probe = probing.make("WC", corpus, [80, 20, 20])
    assert len(probe.classes) == len(set(probe.classes)) == 5
    for split in probe.splits:
        for sentence, label in zip(split.sentences, split.labels, strict=True):
            words_of_it = text.lower_words(sentence)
            there = [word for word in words_of_it if word in probe.classes]
            assert there == [probe.classes[label]]


def test_the_words_are_the_rarest_neighbors_by_frequency_that_suffice(words) -> None:
    words(2)
    fillers = iter(pseudo_words(300))
    sentences = []
    for word, count in {"often": 60, "seldom": 30, "rarely": 20, "once": 2}.items():
        for _ in range(count):
            sentences.append(f"{word} a b {next(fillers)} c")
    probe = probing.make("WC", corpus_of(sentences), [8, 2, 2])
    assert probe.classes == ["seldom", "rarely"]


@pytest.mark.parametrize(
    ("sentence", "possible"),
    [
        (
            "He went to Rome now",
            {"He to went Rome now", "He went Rome to now", "He went to now Rome"},
        ),
        (
            "Go, then  come",
            {"Go, come  then"},
        ),  # white space stays; what a comma parts is not adjacent
        ("I saw (the man), twice", None),
        ("We verily verily", None),  # the same word
        ("They don't", None),  # glued to each other
        ("Well-known men come", {"Well-known come men"}),
        ('He "went to" Rome.', None),  # double quotes
        ("He went. Then left", None),  # the second sentence's beginning
        ("Two words", None),
    ],
)
def test_two_adjacent_words_are_swapped(sentence, possible) -> None:
    found = {recipes.shift(sentence, draw) for draw in np.linspace(0, 0.999, 20)}
    assert found == (possible or {None})


def test_half_of_the_sentences_have_two_adjacent_words_swapped() -> None:
    corpus = random_corpus(300)
    before = {}
    for sentence in corpus.sentences:
        words_of_it = text.lower_words(sentence)
        before[tuple(sorted(words_of_it))] = words_of_it
    probe = probing.make("BShift", corpus, [100, 20, 20])
    check(probe)
    for split in probe.splits:
        for sentence, label in zip(split.sentences, split.labels, strict=True):
            after = text.lower_words(sentence)
            pairs = zip(before[tuple(sorted(after))], after, strict=True)
            moved = [place for place, (old, new) in enumerate(pairs) if old != new]
            if probe.classes[label] == "I":  # inverted, as SentEval calls it
                assert moved == [moved[0], moved[0] + 1]
            else:
                assert moved == []
