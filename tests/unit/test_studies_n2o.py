"""Study 1: stand-ins for embedders of the paper, and changed sentences."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from lib import corpora
from lib.corpora import bible
from lib.studies import n2o as study
from lib.studies import paraphrases


def test_no_stand_in_is_trained_where_the_papers_own_embedders_are_here() -> None:
    present = [*study.SIZES, *study.SUBWORDS]
    assert study.of_halves(corpora.load("lee"), np.arange(3), 2, present) == {}


def test_halves_of_a_text_of_one_document_are_every_other_sentence(tmp_path) -> None:
    (tmp_path / "own.txt").write_text(
        "\n".join(f"Sun warms stone {i} and stone {i} warms sun." for i in range(200))
    )
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
    counts = Counter(
        word
        for sentence in web.sentences
        for word in paraphrases.WORD.findall(sentence)
    )
    for place, sentence in enumerate(web.sentences[i] for i in verses):
        for shuffled in changed["shuffled"]:
            assert sorted(shuffled[place].split()) == sorted(sentence.split())
        words, others = (
            paraphrases.WORD.findall(text)
            for text in (sentence, changed["replaced"][0][place])
        )
        frequencies = np.array(
            [
                [counts[word], counts[other]]
                for word, other in zip(words, others, strict=True)
            ]
        )
        assert words != others
        assert (frequencies.max(axis=1) <= 2 * frequencies.min(axis=1)).all()
        (replaced,) = changed["one word replaced"]
        assert (
            sum(
                a != b
                for a, b in zip(
                    words, paraphrases.WORD.findall(replaced[place]), strict=True
                )
            )
            == 1
        )


def test_translations_are_of_the_same_verse(versions) -> None:
    web, verses, changed = versions
    others = [name for name in bible.TRANSLATIONS if name != bible.REFERENCE]
    for name, sentences in zip(others, changed["translated"], strict=True):
        corpus = corpora.load(f"bible-gospels:{name}")
        group = dict(zip(corpus.sentences, corpus.groups.tolist(), strict=True))
        assert [group[sentence] for sentence in sentences] == web.groups[
            verses
        ].tolist()
