"""Probing tasks: SentEval's files, recipes by hand, and independent splits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from audit import probing
from audit.probing import Probe, grammar, parser, recipes
from lib import catalog
from lib.base.errors import InputError
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
        ("TopConst", [], "name: TopConst cannot be made here; give one of SentLen"),
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


# -- recipes: grammar ------------------------------------------------------------------

SENTENCES = [
    "Yesterday the old farmer sold the apples at the market.",
    "In the morning, his brother buys the horses from them.",
    "The young singers know the song about the sea.",
    "The river was high, and John waited for the boat.",
]


@pytest.fixture
def of_any_frequency(monkeypatch) -> None:
    """Lets words of a few sentences be asked for; skips where there is no parser."""
    try:
        catalog.locate(parser.ASSET)
    except InputError as error:
        pytest.skip(str(error))
    monkeypatch.setattr(grammar, "FEWEST", 1)
    monkeypatch.setattr(grammar, "MOST", 1)
    monkeypatch.setattr(grammar, "FREQUENCIES", (1, 99))


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("Tense", ["PAST sold", "PRES buys", "PRES know", "PAST was"]),
        ("SubjNum", ["NN farmer", "NN brother", "NNS singers", "NN river"]),
        ("ObjNum", ["NNS apples", "NNS horses", "NN song"]),
    ],
)
def test_a_word_of_the_main_clause_is_asked_for(
    name, answers, of_any_frequency
) -> None:
    source = recipes.source(corpus_of(SENTENCES), 0)
    ((found, classes),) = grammar.RECIPES[name](source, [], np.random.default_rng(0))
    found = found.sort_index()
    named = [classes[label] for label in found["label"]]
    assert [" ".join(pair) for pair in zip(named, found["target"], strict=True)] == (
        answers
    )


def test_depth_and_clauses_are_those_of_the_parse(of_any_frequency) -> None:
    sentences = [
        *SENTENCES,
        "He might be a prince but there was something to consider.",
    ]
    source = recipes.source(corpus_of(sentences), 0)
    parsed = grammar._parsed(source)
    assert parsed["doc"].map(grammar.depth).tolist() == [4, 4, 5, 5, 5]
    found = list(map(grammar.inverted, parsed["doc"], parsed["root"]))
    assert found[:3] == [None] * 3
    # The second is Conneau et al.'s own example.
    assert found[3:] == [
        ("John waited for the boat, and the river was high.", -1),
        ("There was something to consider but he might be a prince.", 0),
    ]


def test_a_word_is_replaced_by_one_that_its_neighbors_know(of_any_frequency) -> None:
    nouns = {"house", "horse", "river", "garden"}
    sentences = [f"Every day they saw the {noun} near our {word}." for noun in nouns
                 for word in ("village", "school")]  # fmt: skip
    source = recipes.source(corpus_of(sentences), 0)
    ((found, classes),) = grammar.odd_man_out(source, [], np.random.default_rng(0))
    assert sorted(np.bincount(found["label"])) == [4, 4]
    for row in found.itertuples():
        before, after = (set(text.lower_words(each)) for each in
                         (sentences[row.Index], row.sentence))  # fmt: skip
        assert (before == after) == (classes[row.label] == "O")
        assert row.target in after
        assert before ^ after <= nouns | {"village", "school"}


def test_depths_are_equally_frequent_at_each_length(monkeypatch) -> None:
    table = pd.DataFrame({"length": [6] * 9 + [7] * 9, "order": range(18)})
    depths = [4] * 6 + [5] * 3 + [4] * 2 + [5] * 7
    monkeypatch.setattr(grammar, "_parsed", lambda _: table.assign(doc=depths))
    monkeypatch.setattr(grammar, "depth", lambda doc: doc)
    ((found, classes),) = grammar.tree_depth(table, [], np.random.default_rng(0))
    assert classes == ["4", "5"]
    counts = found.groupby(["length", "label"]).size()
    assert counts.tolist() == [3, 3, 2, 2]


def test_no_target_word_is_in_two_splits() -> None:
    target = np.arange(400) % 23
    same = {name: np.arange(400) for name in ("sentence", "cluster", "order")}
    table = pd.DataFrame({"target": target, "label": target % 2, **same})
    splits = probing.draw(table, [40, 10, 50], np.random.default_rng(0))
    for split, rows in zip(splits, [40, 10, 50], strict=True):
        assert np.bincount(split["label"]).tolist() == [rows, rows]
    targets = [set(split["target"]) for split in splits]
    assert sum(map(len, targets)) == len(set.union(*targets))
