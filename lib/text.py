"""Sentences and words: segmentation, tokenization, word probabilities, fingerprints of text.

A tokenizer is a function from a sentence to its list of tokens. Which one belongs to which embedder follows
appendix A of the N2O paper.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any


def squeeze(text: str) -> str:
    """The text with every run of white space made one blank, and none at its ends."""
    return " ".join(text.split())


def mend(sentence: str) -> str:
    """The sentence with each lone surrogate, which no encoding can write, made the replacement character U+FFFD."""
    try:
        sentence.encode()
    except UnicodeEncodeError:
        return sentence.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return sentence


def fingerprint(sentences: Iterable[str]) -> str:
    """32 hexadecimal digits that stand for these sentences in this order.

    Each sentence is hashed with its length before it, so that moving a word from the end of one sentence to
    the start of the next changes the fingerprint.
    """
    digest = hashlib.blake2b(digest_size=16)
    for sentence in sentences:
        data = sentence.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _english() -> Any:
    import spacy  # heavy: two seconds

    return spacy.blank("en")


@lru_cache(maxsize=1)
def segmenter() -> Any:
    """spaCy's rule-based segmenter for English."""
    import spacy

    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.max_length = 10**9  # the limit protects parsers, and there is none here
    return nlp


def segment(text: str) -> list[str]:
    """Split a text into sentences (spaCy's rule-based sentencizer), white space squeezed.

    The sentencizer leaves the opening quotation mark of a sentence at the end of the one before; it is
    moved to where it belongs.
    """
    sentences: list[str] = []
    opening = ""
    for span in segmenter()(text).sents:
        sentence = opening + squeeze(span.text)
        opening = '"' if sentence.endswith(' "') else ""
        sentence = sentence.removesuffix(' "')
        if sentence:
            sentences.append(sentence)
    return sentences


def word_tokens(sentence: str) -> list[str]:
    """spaCy's English tokens, white space left out."""
    return [token.text for token in _english().tokenizer(mend(sentence)) if not token.is_space]


def lower_word_tokens(sentence: str) -> list[str]:
    """spaCy's English tokens in lower case, for vectors of an uncased vocabulary."""
    return [token.lower() for token in word_tokens(sentence)]


@lru_cache(maxsize=1 << 16)
def content_types(sentence: str) -> frozenset[str]:
    """The distinct lower-cased tokens that hold a letter or digit: a sentence without its punctuation."""
    return frozenset(token for token in lower_word_tokens(sentence) if any(map(str.isalnum, token)))


def gensim_tokens(sentence: str) -> list[str]:
    """gensim's tokens (runs of letters) in lower case, which the N2O paper uses for tf-idf."""
    from gensim.utils import tokenize

    return list(tokenize(sentence, lowercase=True))


@lru_cache(maxsize=1)
def word_probabilities() -> Mapping[str, float]:
    """p(w) of English words, from the large list of the `wordfreq` package; they sum to just below 1."""
    from wordfreq import get_frequency_dict

    return MappingProxyType(get_frequency_dict("en", wordlist="large"))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared types over all types of two sentences, in [0, 1]; 0 when neither has any."""
    return len(left & right) / max(1, len(left | right))
