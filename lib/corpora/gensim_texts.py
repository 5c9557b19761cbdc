"""The two English texts that the gensim package ships for its own tests, as sentences with their document's number."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import BinaryIO

from lib.corpora import text
from lib.run import files
from lib.run.errors import InputError


def _gensim_file(name: str) -> Path:
    return Path(str(resources.files("gensim") / "test" / "test_data" / name))


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """One of the package's files; InputError where it is not there or not as it was published."""
    file = _gensim_file(name)
    try:
        with files.opened(file) as stream:
            yield stream
    except (OSError, EOFError, ValueError, SyntaxError) as error:
        raise InputError(f"corpus: {file}: cannot be read ({error}); install gensim again") from error


def lee() -> Iterator[tuple[str, int]]:
    """Lee's background corpus: a news item a line. Raises InputError for a damaged file."""
    with _opened("lee_background.cor") as stream:
        lines = stream.read().decode("latin-1").splitlines()
    for document, line in enumerate(lines):
        for sentence in text.segment(line):
            yield sentence, document


_WIKIPEDIA = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
_MARKUP = re.compile(r"'{2,}|\(\s*[;,]*\s*\)")
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*$")


def wikipedia() -> Iterator[tuple[str, int]]:
    """Sentences of running text: headings, lists, captions and fragments of fewer than four words are left out.

    Raises InputError for a damaged file.
    """
    import bz2

    from gensim.corpora.wikicorpus import extract_pages, filter_wiki

    with _opened(_WIKIPEDIA) as stream, bz2.open(stream) as dump:
        pages = extract_pages(dump, filter_namespaces=("0",))
        articles = (markup for _, markup, _ in pages if not markup.lower().startswith("#redirect"))
        for document, markup in enumerate(articles):
            for sentence in _prose(filter_wiki(markup)):
                yield sentence, document


def _prose(article: str) -> Iterator[str]:
    for line in article.splitlines():
        if not line or not (line[0].isalnum() or line[0] in "'\"("):
            continue
        for sentence in text.segment(_MARKUP.sub("", html.unescape(line))):
            if _SENTENCE_END.search(sentence) and len(sentence.split()) >= 4:
                yield sentence
