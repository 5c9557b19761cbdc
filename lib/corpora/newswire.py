"""News from Reuters-21578 and English Gigaword, read from the files as published.

What counts as a sentence of newswire
-------------------------------------
The wire carries tables beside prose: earnings (``Shr 34 cts vs 19 cts``), prices,
rates, shipping lists. The sentences of a newswire are expected to be prose. So a
paragraph, and in a table each row, is segmented by itself, and of the pieces those are
kept that have four words or more and end in a full stop, a question mark or an
exclamation mark (quotation marks, brackets and ``>`` may follow). Rows end in none of
them. Little else is lost: the line that announces a table (``as follows:``), a sentence
whose writer forgot the full stop, an interjection.

A news item's lede is the sentence that opens its body. An item that opens with a table
has no lede, though it may have sentences, since its first one would be a footnote.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from lib import catalog
from lib.base.errors import InputError
from lib.corpora import reading
from lib.corpora.segmentation import Passage

LEAST_WORDS = 4
_END = re.compile(r"[.!?][\"')\]>]*$")


def is_sentence(piece: str) -> bool:
    """Whether a segment is a sentence, not a row of a table or a fragment."""
    return _END.search(piece) is not None and len(piece.split()) >= LEAST_WORDS


def _document(paragraphs: list[str]) -> Iterator[Passage]:
    """The passages of a document; at least one, so that an empty one counts, too."""
    kept = [paragraph for paragraph in paragraphs if paragraph.strip()]
    for i, paragraph in enumerate(kept or [""]):
        yield Passage(paragraph, opens=i == 0)


# -- Reuters-21578 ---------------------------------------------------------------------

_BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)
# The wire had seven bits: whatever else a body holds (&#127;, the one byte above 127, a
# carriage return spelled ^M) is noise on the line, and took the place of a character
# that a blank stands in for.
_NOISE = re.compile(r"&#\d+;|\^M|[^\n -~]")
_SIGN_OFF = re.compile(r"(?:\breuter|\n\s*more)(?:\.{3})?\s*\Z", re.IGNORECASE)
# Paragraphs and the rows of tables are indented; lines that go on are not.
_NEW_PARAGRAPH = re.compile(r"\n(?=\s)")


def reuters_files() -> list[Path]:
    """The files reut2-*.sgm, in order.

    Raises InputError if they are missing, with how to get them.
    """
    folder = catalog.file("corpora/reuters21578")
    files = sorted(folder.glob("reut2-*.sgm"))
    if not files:
        needed = "needs files reut2-000.sgm ... reut2-021.sgm"
        raise InputError(
            f"corpus: 'reuters' {needed}, and {folder} has "
            "none; make data ASSET=reuters21578"
        )
    return files


def reuters(file: Path) -> Iterator[Passage]:
    """The paragraphs of a file's news items, without title, date line and sign-off.

    Items without a body are left out.
    """
    for item in reading.elements(file, "REUTERS", "latin-1"):
        body = _BODY.search(item)
        if body:
            plain = html.unescape(_NOISE.sub(" ", body.group(1)))
            without_sign_off = _SIGN_OFF.sub("", plain)
            yield from _document(_NEW_PARAGRAPH.split(without_sign_off))


# -- English Gigaword ------------------------------------------------------------------

_STORY = re.compile(r"<DOC [^>]*\btype=\"story\"")
_PARAGRAPH = re.compile(r"<P>(.*?)</P>", re.DOTALL)


def gigaword_files(year: str) -> list[Path]:
    """The files ``<source>_eng/<source>_eng_YYYYMM.gz`` of a year, by source and month.

    Raises InputError for a year without files, and if all are missing, with how to get
    them.
    """
    folder = catalog.file("corpora/gigaword/data")
    every = sorted(folder.glob("*_eng/*_eng_??????.gz"))
    of_year = [file for file in every if file.stem[-6:-2] == year]
    if not of_year:
        years = (
            ", ".join(sorted({file.stem[-6:-2] for file in every}))
            or "none: give the data folder of LDC2011T07"
        )
        raise InputError(
            f"corpus: 'gigaword:{year}': {folder} has no file "
            f"of that year; accepted: {years}"
        )
    return of_year


def gigaword(file: Path) -> Iterator[Passage]:
    """The paragraphs of a file's stories, without headline and date line.

    Other types of documents are left out.
    """
    # A byte that is not UTF-8 becomes U+FFFD.
    for document in reading.elements(file, "DOC", "utf-8", errors="replace"):
        if _STORY.match(document):
            yield from _document(
                [html.unescape(part) for part in _PARAGRAPH.findall(document)]
            )
