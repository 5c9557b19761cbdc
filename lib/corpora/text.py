"""Words: tokenization, probabilities, word overlap; and fingerprints of text.

A tokenizer is a function from a sentence to its list of tokens. Which one belongs to
which embedder follows appendix A of the N2O paper.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from lib.base.errors import InputError
from lib.corpora import reading


def squeeze(text: str) -> str:
    """The text with every run of white space made one blank, and none at its ends."""
    return " ".join(text.split())


# Categories of characters that do not show: white space, controls, marks of direction,
# joiners, variation selectors; and the letters that are blank.
_HIDDEN = {"Zs", "Zl", "Zp", "Cc", "Cf", "Mn", "Me"}
_BLANK = "\u115f\u1160\u2800\u3164\uffa0"


def shows(text: str) -> bool:
    """Whether any character of a text can be seen."""
    return any(
        unicodedata.category(each) not in _HIDDEN and each not in _BLANK
        for each in text
    )


_SPACE_LACKS = re.compile(r"(?<=[a-z])([,;?!])(?=[A-Za-z])")
_SPACE_TOO_MANY = re.compile(r"(?<=\w) (?=[,;:?!](?: |$))")
_LETTERS = re.compile(r"(?:(?!\d)\w)+")  # gensim.utils.PAT_ALPHABETIC


def spaced(text: str) -> str:
    """The text with a space after each comma, semicolon, ? or ! in it, none before."""
    return _SPACE_TOO_MANY.sub("", _SPACE_LACKS.sub(r"\1 ", text))


def fingerprint(sentences: Iterable[str]) -> str:
    """32 hexadecimal digits that stand for these sentences in this order.

    Each sentence is hashed with its length before it, so that moving a word from the
    end of one sentence to the start of the next changes the fingerprint.
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


@lru_cache(maxsize=1 << 18)  # words come back by the thousand
def _tokens_of_piece(piece: str) -> tuple[str, ...]:
    return tuple(token.text for token in _english().tokenizer(piece))


def word_tokens(sentence: str) -> list[str]:
    """spaCy's English tokens, white space left out.

    Each piece between white space is tokenized on its own. spaCy does the same, but for
    strings of punctuation that resemble an emoticon with a blank in it.
    """
    return [token for piece in sentence.split() for token in _tokens_of_piece(piece)]


def lower_word_tokens(sentence: str) -> list[str]:
    """spaCy's English tokens in lower case, for vectors of an uncased vocabulary."""
    return [token.lower() for token in word_tokens(sentence)]


def whitespace_tokens(sentence: str) -> list[str]:
    """The pieces between white space, as in fastText, words with their punctuation."""
    return sentence.split()


def cased_words(sentence: str) -> list[str]:
    """spaCy's English tokens without punctuation: those with a letter or digit."""
    return [token for token in word_tokens(sentence) if any(map(str.isalnum, token))]


def lower_words(sentence: str) -> list[str]:
    """`cased_words` in lower case."""
    return [word.lower() for word in cased_words(sentence)]


def treebank_tokens(sentence: str) -> list[str]:
    """NLTK's Penn Treebank tokens of one sentence.

    ``nltk.word_tokenize`` splits its text into sentences first, for which it needs
    downloaded data; on a single sentence the two differ only where a full stop stands
    inside it, or typographic quotation marks do.
    """
    from nltk.tokenize import TreebankWordTokenizer

    return TreebankWordTokenizer().tokenize(sentence)


# Em and en dash, horizontal bar, ellipsis and acute accent.
_PLAIN = str.maketrans(
    {"\u2014": "-", "\u2013": "-", "\u2015": "-", "\u2026": "...", "\u00b4": "'"}
)
_RUN_OF_PUNCTUATION = re.compile(r'([-~!";?+,()\\/*\[\]{}|_])\1*')


def gpt_words(sentence: str) -> list[str]:
    """spaCy's words in lower case, in the characters that GPT was trained on.

    Punctuation is set apart. GPT's authors (Radford et al. 2018) and the N2O paper
    (appendix A) prepare text in this way.
    """
    import ftfy

    plain = ftfy.fix_text(sentence).translate(_PLAIN)
    spaced = _RUN_OF_PUNCTUATION.sub(r" \g<0> ", plain)
    return [word.lower() for word in word_tokens(spaced)]


@lru_cache(maxsize=1 << 16)
def content_types(sentence: str) -> frozenset[str]:
    """The distinct lower-cased tokens that hold a letter or digit, no punctuation."""
    return frozenset(lower_words(sentence))


def gensim_tokens(sentence: str) -> list[str]:
    """gensim's tokens, runs of letters in lower case, as in the N2O paper's tf-idf."""
    return _LETTERS.findall(sentence.lower())


@lru_cache(maxsize=1)
def word_probabilities() -> Mapping[str, float]:
    """p(w) of English words, from the large list of the `wordfreq` package.

    The probabilities sum to just below 1.
    """
    from wordfreq import get_frequency_dict

    return get_frequency_dict("en", wordlist="large")


def read_probabilities(file: Path) -> dict[str, float]:
    """p(w) from a file with a word and its count on each line, the word first.

    Each count is divided by the sum of all counts. Raises InputError for a file that
    cannot be read as text, and for a line in another form or with a word of an earlier
    one.
    """
    counts: dict[str, float] = {}
    for place, line in reading.lines(file):
        word, _, count = line.rpartition(" ")
        if not word or not re.fullmatch("[0-9]{1,18}", count):
            raise InputError(
                f"{place}: is {line[:40]!r}; give a word, a space and its count"
            )
        if word in counts:
            raise InputError(
                f"{place}: {line[:40]!r} repeats the word of an earlier line; "
                "give each word once"
            )
        counts[word] = float(count)
    total = sum(counts.values())
    if not total:
        raise InputError(
            f"{file}: has no counts above 0; give a word, a "
            "space and its count on each line"
        )
    return {word: count / total for word, count in counts.items()}


def relative_frequencies(
    sentences: Iterable[str], tokenize: Callable[[str], list[str]]
) -> dict[str, float]:
    """p(w) of the tokens of a text, estimated from its counts; most frequent first."""
    counts = Counter(token for sentence in sentences for token in tokenize(sentence))
    return {word: count / counts.total() for word, count in counts.most_common()}


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Shared types over all types of two sentences, in [0, 1]; 0 if neither has any."""
    return len(left & right) / max(1, len(left | right))
