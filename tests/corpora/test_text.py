"""Tokenization, fingerprints, lists of words and counts."""

from __future__ import annotations

import re

import pytest
import spacy
from gensim import utils
from hypothesis import example, given
from hypothesis import strategies as st

from lib import corpora
from lib.base import characters
from lib.corpora import text
from tests.refusals import refused

anything = st.text(max_size=60)


@given(st.lists(anything))
def test_a_fingerprint_depends_on_where_sentences_end(sentences) -> None:
    same = text.fingerprint(sentences)
    assert text.fingerprint([*sentences, ""]) != same
    if len(sentences) > 1:
        assert text.fingerprint(["".join(sentences)]) != same


@given(anything)
@example("a\0b \u202e \u0378 e\u0301")
@example("x" * 40_000)
def test_tokens_are_text_without_white_space(sentence) -> None:
    tokenizers = [text.word_tokens, text.gensim_tokens, text.whitespace_tokens]
    for tokenize in tokenizers:
        assert all(
            token and not re.search(r"\s", token) for token in tokenize(sentence)
        )
    assert all(text.treebank_tokens(sentence))


@given(anything)
def test_gensim_tokens_are_those_of_gensim(sentence) -> None:
    assert text.gensim_tokens(sentence) == list(
        utils.tokenize(sentence, lowercase=True)
    )


def test_lone_surrogates_are_mended_and_nothing_else() -> None:
    assert characters.mend("a\ud800b \U0001f600 é\x00") == "a\ufffdb \U0001f600 é\x00"


def test_tokens_by_hand() -> None:
    assert text.word_tokens("He doesn't  know.") == ["He", "does", "n't", "know", "."]
    assert text.gensim_tokens("He doesn't know 3.") == ["he", "doesn", "t", "know"]
    assert text.content_types("The cat, the CAT!") == {"the", "cat"}
    assert text.whitespace_tokens(" A dog,\tbarks.\n") == ["A", "dog,", "barks."]
    quoted = ["They", "ca", "n't", "``", "stop", "''", "."]
    assert text.treebank_tokens('They can\'t "stop".') == quoted


def test_word_tokens_are_those_of_spacy() -> None:
    tokenizer = spacy.blank("en").tokenizer
    for sentence in corpora.load("wikipedia-sample").sentences[:3000]:
        assert text.word_tokens(sentence) == [
            token.text for token in tokenizer(sentence) if not token.is_space
        ]


def test_counts_become_probabilities(tmp_path) -> None:
    (tmp_path / "counts.txt").write_text("the 3\nNew York 1\n", encoding="utf-8")
    assert text.read_probabilities(tmp_path / "counts.txt") == {
        "the": 0.75,
        "New York": 0.25,
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"the 3\nof\n",
            "counts.txt, line 2: is 'of'; give a word, a space",
        ),
        (b"the 3\nthe 4\n", "line 2: 'the 4' repeats the word of an earlier line"),
        (b"the 0\n", "has no counts above 0"),
    ],
)
def test_a_file_without_counts_is_refused(tmp_path, content, message) -> None:
    (tmp_path / "counts.txt").write_bytes(content)
    with refused(message):
        text.read_probabilities(tmp_path / "counts.txt")
