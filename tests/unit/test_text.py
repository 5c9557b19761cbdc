"""Segmentation, tokenization, fingerprints."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from lib import text

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
