"""The N2O paper: stand-ins for embedders of the paper, and changed sentences."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from audit import n2o as study
from lib import corpora, stats
from lib.corpora import bible
from lib.studies import paraphrases


def test_no_stand_in_is_trained_where_the_papers_own_embedders_are_here() -> None:
    present = [*study.SIZES, *study.SUBWORDS]
    assert study.of_halves(corpora.load("lee"), np.arange(3), 2, present) == {}


def test_a_family_is_corrected_unless_all_lie_on_one_side(rng) -> None:
    overlaps = study.Overlaps({}, {}, np.arange(40), stats.Sampling(0, 200))
    above = rng.normal([[1], [1.5]], 1, size=(2, 40))
    np.testing.assert_array_equal(overlaps.each(above), overlaps.interval(above))
    mixed = above * [[0.1], [-1]]
    corrected = overlaps.interval(mixed - 0.1, holm=True)
    expected = [side + 0.1 for side in corrected]
    np.testing.assert_array_equal(overlaps.each(mixed, 0.1), expected)


def test_halves_of_a_text_of_one_document_are_every_other_sentence(tmp_path) -> None:
    lines = [f"Sun warms stone {i} and stone {i} warms sun." for i in range(200)]
    (tmp_path / "own.txt").write_text("\n".join(lines))
    corpus = corpora.load(f"lines:{tmp_path / 'own.txt'}")
    found = study.of_halves(corpus, np.arange(3), 2, ["w2v-corpus"])
    assert sorted(found) == study.halves(["w2v-corpus"])
    assert {ids.shape for ids in found.values()} == {(3, 2)}


@pytest.fixture(scope="module")
def versions():
    web = corpora.load("bible-gospels:web")
    return web, *paraphrases.versions(web, 12, seed=3)


def test_changed_verses_are_what_their_names_say(versions) -> None:
    web, verses, changed = versions
    words_of = paraphrases.WORD.findall
    counts = Counter(word for sentence in web.sentences for word in words_of(sentence))
    for place, sentence in enumerate(web.sentences[i] for i in verses):
        for shuffled in changed["shuffled"]:
            assert sorted(shuffled[place].split()) == sorted(sentence.split())
        words = words_of(sentence)
        others = words_of(changed["replaced"][0][place])
        one = words_of(changed["one word replaced"][0][place])
        assert words != others
        assert sum(map(str.__ne__, words, one)) == 1
        for word, other in zip(words, others, strict=True):
            few, many = sorted([counts[word], counts[other]])
            assert many <= 2 * few


def test_translations_are_of_the_same_verse(versions) -> None:
    web, verses, changed = versions
    others = [name for name in bible.TRANSLATIONS if name != bible.REFERENCE]
    for name, sentences in zip(others, changed["translated"], strict=True):
        corpus = corpora.load(f"bible-gospels:{name}")
        group = dict(zip(corpus.sentences, corpus.groups.tolist(), strict=True))
        found = [group[sentence] for sentence in sentences]
        assert found == web.groups[verses].tolist()
