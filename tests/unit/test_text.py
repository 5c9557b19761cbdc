"""Segmentation, tokenization, fingerprints."""

from __future__ import annotations

import spacy
from hypothesis import example, given
from hypothesis import strategies as st

from lib import corpora
from lib.corpora import text

anything = st.text(st.characters(), max_size=60)  # lone surrogates and NUL included


def test_an_opening_quotation_mark_goes_with_its_sentence() -> None:
    assert text.segment('It rained. "We stayed," he said. "We read."') == [
        "It rained.",
        '"We stayed," he said.',
        '"We read."',
    ]


@given(st.lists(anything))
def test_a_fingerprint_depends_on_where_sentences_end(sentences) -> None:
    same = text.fingerprint(list(sentences))
    assert text.fingerprint(sentences) == same
    assert text.fingerprint([*sentences, ""]) != same
    if sentences:
        assert text.fingerprint(["".join(sentences)]) != same or len(sentences) == 1


@given(anything)
@example("\ud800 and a word")
def test_tokenizers_take_any_text(sentence) -> None:
    for tokenize in (text.word_tokens, text.lower_word_tokens, text.gensim_tokens):
        assert all(isinstance(token, str) and token for token in tokenize(sentence))


def test_lone_surrogates_are_mended_and_nothing_else() -> None:
    assert text.mend("a\ud800b \U0001f600 é\x00") == "a\ufffdb \U0001f600 é\x00"


def test_tokens_by_hand() -> None:
    assert text.word_tokens("He doesn't  know.") == ["He", "does", "n't", "know", "."]
    assert text.gensim_tokens("He doesn't know 3.") == ["he", "doesn", "t", "know"]
    assert text.content_types("The cat, the CAT!") == {"the", "cat"}


def test_word_probabilities_are_probabilities() -> None:
    probabilities = text.word_probabilities()
    assert probabilities["the"] == max(probabilities.values())
    assert 0.9 < sum(probabilities.values()) <= 1


def test_word_tokens_are_those_of_spacy() -> None:
    tokenizer = spacy.blank("en").tokenizer
    for sentence in corpora.load("wikipedia-sample").sentences[:3000]:
        assert text.word_tokens(sentence) == [token.text for token in tokenizer(sentence) if not token.is_space]


def test_word_tokens_do_not_depend_on_what_was_tokenized_before(monkeypatch) -> None:
    monkeypatch.setattr(text._TokensOfPieces, "LIMIT", 2)
    tokens = ["Do", "n't", "stop", ",", "e.g.", "at", "5", "p.m.", "!"]
    for _ in range(2):
        assert text.word_tokens("Don't stop, e.g. at 5p.m.!") == tokens


def test_tokenizers_by_hand() -> None:
    assert text.whitespace_tokens(" A dog,\tbarks.\n") == ["A", "dog,", "barks."]
    assert text.treebank_tokens('They can\'t "stop".') == ["They", "ca", "n't", "``", "stop", "''", "."]
