"""News from two archives: Reuters-21578 and English Gigaword, read from the files as they were published.

What counts as a sentence of newswire
-------------------------------------
The wire carries tables beside prose: earnings (``Shr 34 cts vs 19 cts``), prices, rates, shipping lists. Who asks
for the sentences of a newswire expects prose. So a paragraph, and in a table each row, is segmented by itself, and
of what comes out that is kept which has four words or more and ends in a full stop, a question mark or an exclamation
mark (quotation marks, brackets and ``>`` may follow). Rows end in none of them. What is lost with them is little: the
line that announces a table (``as follows:``), a sentence whose writer forgot the full stop, an interjection.

A news item's lede is the sentence that opens its body. An item that opens with a table has no lede, though it may
have sentences, since its first one would be a footnote.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from lib.corpora import reading
from lib.corpora.segmentation import Passage
from lib.run.errors import InputError

LEAST_WORDS = 4
_END = re.compile(r"[.!?][\"')\]>]*$")


def is_sentence(unit: str) -> bool:
    """Whether what the segmenter cut out is a sentence rather than a row of a table or a fragment."""
    return _END.search(unit) is not None and len(unit.split()) >= LEAST_WORDS


def _document(paragraphs: list[str]) -> Iterator[Passage]:
    """The passages of one document; at least one, so that a document without text counts too."""
    for i, paragraph in enumerate(paragraphs or [""]):
        yield Passage(paragraph, opens=i == 0)


# -- Reuters-21578 ------------------------------------------------------------------------------

_BODY = re.compile(r"<BODY>(.*?)</BODY>", re.DOTALL)
# The wire had seven bits: whatever else a body holds (&#127;, the one byte above 127, a carriage return spelled ^M)
# is noise on the line, and took the place of a character that a blank stands in for.
_NOISE = re.compile(r"&#\d+;|\^M|[^\n -~]")
_SIGN_OFF = re.compile(r"(?:\breuter|\n\s*more)(?:\.{3})?\s*\Z", re.IGNORECASE)
# Paragraphs and the rows of tables are indented; lines that go on are not.
_NEW_PARAGRAPH = re.compile(r"\n(?=\s)")


def reuters_files(folder: Path) -> list[Path]:
    """The files reut2-*.sgm of a folder, in order; InputError if there is none."""
    found = sorted(folder.glob("reut2-*.sgm"))
    if not found:
        raise InputError(f"corpus: 'reuters' needs files reut2-000.sgm ... reut2-021.sgm, and {folder} holds none")
    return found


def reuters(file: Path) -> Iterator[Passage]:
    """The paragraphs of a file's news items, without title, date line and sign-off; items without a body left out."""
    for item in reading.elements(file, "REUTERS", "latin-1"):
        if body := _BODY.search(item):
            plain = _SIGN_OFF.sub("", html.unescape(_NOISE.sub(" ", body.group(1))))
            yield from _document([part for part in _NEW_PARAGRAPH.split(plain) if part.strip()])


# -- English Gigaword ---------------------------------------------------------------------------

_STORY = re.compile(r"<DOC [^>]*\btype=\"story\"")
_PARAGRAPH = re.compile(r"<P>(.*?)</P>", re.DOTALL)
_YEAR = re.compile(r"_(\d{4})\d\d\.gz$")


def gigaword_files(folder: Path, year: str) -> list[Path]:
    """The files ``<source>_eng/<source>_eng_YYYYMM.gz`` of one year, by source and month.

    Raises InputError for a folder without any, and for a year that it does not have.
    """
    every = sorted(folder.glob("*_eng/*_eng_??????.gz"))
    years = sorted({match.group(1) for file in every if (match := _YEAR.search(file.name))})
    if not years:
        raise InputError(
            f"corpus: 'gigaword:{year}' needs files such as afp_eng/afp_eng_{year}01.gz, and {folder} holds none; "
            "give it the data folder of LDC2011T07"
        )
    if year not in years:
        raise InputError(f"corpus: 'gigaword:{year}': {folder} has no file of that year; accepted: {', '.join(years)}")
    return [file for file in every if _YEAR.search(file.name).group(1) == year]


def gigaword(file: Path) -> Iterator[Passage]:
    """The paragraphs of a file's stories, without headline and date line; other types of documents left out."""
    # A byte that is not UTF-8 is not the reader's to mend: it becomes U+FFFD.
    for document in reading.elements(file, "DOC", "utf-8", errors="replace"):
        if _STORY.match(document):
            parts = (html.unescape(part) for part in _PARAGRAPH.findall(document))
            yield from _document([part for part in parts if part.strip()])
