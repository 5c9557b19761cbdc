"""Verses of public-domain English Bible translations, aligned by meaning.

A verse number is BBCCCVVV: book, chapter, verse. The translations come from the
``pythonbible-*`` packages.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from lib.corpora import text

# The numbers that books begin with, and the one after the last.
GENESIS = 1_000_000
MATTHEW = 40_000_000
ROMANS = 45_000_000
END = 67_000_000
PSALMS = 19

# The verses of a corpus: the first, the one after the last, and the step from one
# number to the next.
PARTS = {
    "bible-gospels": (MATTHEW, ROMANS, 1),
    "bible-gospels-fifth": (MATTHEW, ROMANS, 5),
    "bible-nt": (MATTHEW, END, 1),
    "bible": (GENESIS, END, 1),
}

# The order in which a corpus lists them; World English comes first since the others are
# aligned to it.
TRANSLATIONS = (
    "web",  # World English Bible
    "wmth",  # Weymouth New Testament
    "ylt",  # Young's Literal Translation
    "dr",  # Douay-Rheims
    "mont",  # Montgomery New Testament
)
REFERENCE = "web"
UNALIGNED = -1

_RTF_CODE = re.compile(r"\\(?:ul[01])?\s?")
# A Psalm's title, which the packages leave at the end of the verse before it.
_PSALM_TITLE = re.compile(r"\s*(?:BOOK [IV]+ )?Psalm \d+\b.*$")
# Verse numbers that the packages leave in the text, and a ruled line after one.
_VERSE_NUMBER = re.compile(r';?\b\d{1,2} (?="?[A-Z])')
_RULE = re.compile(r"\s*>? -{3,}.*$")
# Placeholders for verses that a translation does not have.
_FILLERS = {"", "[]", "missing fehlt/missing", "dummy verses inserted by amos"}


# The package of the Montgomery translation has lost every apostrophe, and the space
# after James and John in italics.
_JAMES_OR_JOHN = re.compile(r"\b(James|John)(?!s?\b)")
_POSSESSIVE = re.compile(r"\b([A-Za-z]+)'s\b")
_NAMES = (
    "Aaron Abraham Adam Balaam Caesar Chloe Christ David Elizabeth God Herod Israel "
    "Jacob John Joseph Korah Lord Matthew Paul Peter Pharaoh Philemon Philip Sarah "
    "Simon Solomon Timothy Uriah Zebedee"
)
_POSSESSIVE_NAME = re.compile(rf"\b({_NAMES.replace(' ', '|')})s\b")


class Verse(NamedTuple):
    """One verse of one translation.

    `meaning` is the World English number of the same verse, -1 if unknown.
    """

    translation: str
    number: int
    text: str
    meaning: int


@lru_cache(maxsize=1)
def verses(first: int, last: int, step: int = 1) -> list[Verse]:
    """Verses with first <= number < last, in order, one translation after another.

    With a step of 5, only verses 5, 10, 15 ... of each World English chapter, in every
    translation that has them.
    """
    chosen = []
    english = _texts(REFERENCE, first, last)
    for translation in TRANSLATIONS:
        texts = (
            english if translation == REFERENCE else _texts(translation, first, last)
        )
        if translation == "mont":
            for number, verse in texts.items():
                texts[number] = _montgomery(verse, english.get(number, ""))
        meanings = _aligned(texts, english)
        for number, verse in texts.items():
            meaning = meanings[number]
            if meaning % step == 0:
                chosen.append(Verse(translation, number, verse, meaning))
    return chosen


def files() -> list[Path]:
    """The files of the packages that hold the translations."""
    return [
        Path(find_spec(_module(translation)).origin)  # type: ignore[union-attr, arg-type]
        for translation in TRANSLATIONS
    ]


def _module(translation: str) -> str:
    return f"pythonbible_{translation}.plain_text_readers_bible"


def _texts(translation: str, first: int, last: int) -> dict[int, str]:
    """Verse number -> cleaned text, without verses that the translation does not have.

    The packages count a backslash of the text as two characters, so every verse after
    one would be cut in the wrong place (all of the Douay-Rheims New Testament).
    Doubling the backslashes fixes that.
    """
    content = import_module(_module(translation)).bible
    whole = content.scripture_content.replace("\\", "\\\\")
    ends = content.verse_end_indices
    texts = {}
    for number, start in content.verse_start_indices.items():
        if first <= number < last:
            verse = _clean(whole[start : ends[number]])
            if verse not in _FILLERS:
                texts[number] = verse
    return texts


def _clean(verse: str) -> str:
    """The verse without RTF codes, verse numbers and Psalm titles.

    White space is squeezed, and corrected around punctuation. A grave accent becomes an
    apostrophe.
    """
    plain = _RTF_CODE.sub(" ", verse.replace("\\\\", "\\")).replace("`", "'")
    for left_over in (_PSALM_TITLE, _RULE, _VERSE_NUMBER):
        plain = left_over.sub("", text.squeeze(plain))
    return text.spaced(plain)


def _montgomery(verse: str, english: str) -> str:
    """The verse with the spaces and apostrophes that its package has lost.

    A word is a possessive if it is one in the same verse of the World English Bible, or
    is a name.
    """
    spaced = _JAMES_OR_JOHN.sub(r"\1 ", verse).replace("  ", " ")
    for owner in set(_POSSESSIVE.findall(english)):
        spaced = re.sub(rf"\b{owner}s\b", f"{owner}'s", spaced)
    return _POSSESSIVE_NAME.sub(r"\1's", spaced)


# -- alignment -------------------------------------------------------------------------
# A number does not always name the same verse: the Douay-Rheims counts by the Vulgate,
# and a few chapters of the others have slipped. So verses are aligned by their words.

WINDOW = 3  # verses on each side that must agree on where they belong
LEAST_OVERLAP = 0.2  # mean Jaccard overlap; unrelated verses have about 0.1
WITHIN_CHAPTER = (0, 1, -1, 2, -2, 3, -3)
BY_A_PSALM = tuple(psalm + verse for psalm in (1000, -1000) for verse in WITHIN_CHAPTER)
_WORD = re.compile(r"[a-z]+")


def _aligned(texts: dict[int, str], english: dict[int, str]) -> dict[int, int]:
    """World English number of each verse, -1 where no place fits.

    A verse may be shifted by up to three verses within its chapter, a Psalm by one
    Psalm as well. The shift whose word overlap is highest over the verse and its six
    neighbors is taken.
    """
    english_types = _word_types(english)
    overlaps = []
    for number, types in _word_types(texts).items():
        by_shift = {}
        for shift in _shifts(number):
            there = english_types.get(number + shift, frozenset())
            by_shift[shift] = text.jaccard(types, there)
        overlaps.append(by_shift)
    places = {}
    for i, number in enumerate(texts):
        window = overlaps[max(0, i - WINDOW) : i + WINDOW + 1]
        mean = {}
        for shift in overlaps[i]:
            mean[shift] = sum(verse.get(shift, 0.0) for verse in window) / len(window)
        best = max(mean, key=mean.__getitem__)
        fits = mean[best] >= LEAST_OVERLAP and overlaps[i][best] > 0
        places[number] = number + best if fits else UNALIGNED
    return places


def _word_types(texts: dict[int, str]) -> dict[int, frozenset[str]]:
    return {
        number: frozenset(_WORD.findall(verse.lower()))
        for number, verse in texts.items()
    }


def _shifts(number: int) -> tuple[int, ...]:
    return WITHIN_CHAPTER + (BY_A_PSALM if number // 1_000_000 == PSALMS else ())
