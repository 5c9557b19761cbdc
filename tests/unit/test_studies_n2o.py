"""Study 1: kinds of embedders, changed sentences, and verdicts on lists whose answer is known."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from lib import corpora, embedders, n2o, similarity, stats
from lib.catalog import published
from lib.corpora import bible
from lib.studies import n2o as study
from lib.studies import paraphrases

NAMES = list(embedders.GROUPS["installed"])


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("minilm-cls", "minilm-avg", True),
        ("w2v-corpus", "fasttext-corpus-sub", True),
        ("glove-6b-50d", "glove-6b-50d+sif", True),
        ("glove-6b-300d", "glove-840b-300d", False),
        ("sent2vec-corpus-uni", "w2v-corpus", False),
    ],
)
def test_near_copies_share_method_and_text(a, b, expected) -> None:
    assert study.near_copies(a, b) is study.near_copies(b, a) is expected


def test_no_stand_in_is_trained_where_the_papers_own_embedders_are_here() -> None:
    present = [*study.SIZES, *study.SUBWORDS]
    assert study.of_halves(corpora.load("lee"), np.arange(3), 2, present) == {}


def test_order_blind_embedders_are_those_that_do_not_see_a_permutation() -> None:
    sentences = ["Mary gave the book to John .", "The dog bit the man , and the man the dog ."] * 3
    permuted = [" ".join(reversed(sentence.split())) for sentence in sentences]
    for name in ("bow", "glove-6b-50d", "glove-6b-50d+usif", "glove-6b-50d+random-lstm-128d", "wordllama"):
        embedder = embedders.load(name).fit(sentences)
        cosines = similarity.similarities(embedder.encode(sentences), embedder.encode(permuted))
        assert (np.abs(1 - cosines).max() < 1e-6) == study.is_order_blind(name)


@pytest.fixture(scope="module")
def versions():
    web = corpora.load("bible-gospels:web")
    return web, *paraphrases.versions(web, 12, seed=3)


def test_changed_verses_are_what_their_names_say(versions) -> None:
    web, verses, changed = versions
    counts = Counter(word for sentence in web.sentences for word in paraphrases.WORD.findall(sentence))
    for place, sentence in enumerate(web.sentences[i] for i in verses):
        for shuffled in changed["shuffled"]:
            assert sorted(shuffled[place].split()) == sorted(sentence.split())
        words, others = (paraphrases.WORD.findall(text) for text in (sentence, changed["replaced"][0][place]))
        frequencies = np.array([[counts[word], counts[other]] for word, other in zip(words, others, strict=True)])
        assert words != others
        assert (frequencies.max(axis=1) <= 2 * frequencies.min(axis=1)).all()
        (replaced,) = changed["one word replaced"]
        assert sum(a != b for a, b in zip(words, paraphrases.WORD.findall(replaced[place]), strict=True)) == 1


def test_translations_are_of_the_same_verse(versions) -> None:
    web, verses, changed = versions
    others = [name for name in bible.TRANSLATIONS if name != bible.REFERENCE]
    for name, sentences in zip(others, changed["translated"], strict=True):
        corpus = corpora.load(f"bible-gospels:{name}")
        group = dict(zip(corpus.sentences, corpus.groups.tolist(), strict=True))
        assert [group[sentence] for sentence in sentences] == web.groups[verses].tolist()


def _judged(ids) -> pd.DataFrame:
    halves = [name for name in study.STAND_INS.values() if "half" in name]
    rng = np.random.default_rng(1)
    queries = len(next(iter(ids.values())))
    more = {name: _lists(rng, queries) for name in halves}
    repeated = {
        reading: pd.DataFrame(rng.random((queries, len(ids) + len(more))), columns=[*ids, *more]) for reading in "ab"
    }
    ledger = stats.Ledger("01_n2o", "default")
    study.judge(study.Evidence(ids, more, repeated, np.arange(queries), stats.Sampling(1, 60), ledger))
    assert ledger.pending() == ["n2o-bag-of-words-order permuted", "n2o-bag-of-words-order substituted"]
    return ledger.table().set_index("id")


def _lists(rng, queries: int) -> np.ndarray:
    return np.array([rng.choice(1000, 10, replace=False) for _ in range(queries)])


def test_lists_drawn_at_random_do_not_hold_against_chance() -> None:
    rng = np.random.default_rng(0)
    table = _judged({name: _lists(rng, 60) for name in NAMES})
    assert table.loc["n2o-output-range", "verdict"] == "holds"
    assert table.loc["n2o-chance-level", "ours"].startswith("tail: 0 (0 to 0) holds")
    assert table.loc["n2o-chance-level", "verdict"] != "holds (analogue)"
    assert table.loc["n2o-averaging-raises-n2o", "verdict"] != "holds (analogue)"


def test_the_only_average_may_be_a_near_copy_of_another_embedder() -> None:
    rng = np.random.default_rng(0)
    chosen = [name for name in NAMES if name not in ("wordllama", "bow", "use-multilingual-q8")]
    table = _judged({name: _lists(rng, 60) for name in chosen})
    assert table.loc["n2o-tfidf-low-n2o", "ours"].count("no near copies: ") == 2


def test_an_average_that_agrees_with_all_others_raises_n2o() -> None:
    rng = np.random.default_rng(0)
    common = _lists(rng, 60)
    ids = {name: common if name != "minilm-cls" else _lists(rng, 60) for name in NAMES}
    table = _judged(ids)
    assert table.loc["n2o-averaging-raises-n2o", "verdict"] == "holds (analogue)"
    assert n2o.matrix(ids).loc["minilm-avg", "tfidf"] == 1


def test_with_all_weights_of_the_paper_only_tuning_is_left_untested() -> None:
    rng = np.random.default_rng(0)
    paper = list(published.load("n2o_table1")["embedder"])
    table = _judged({name: _lists(rng, 60) for name in dict.fromkeys([*paper, *NAMES])})
    assert list(table.index[table["verdict"] == "not testable here"]) == ["n2o-finetuning-does-not-help"]
    assert table.loc["n2o-elmo-capacity-and-data", "verdict"] == "undecided"
