"""The two English texts that the gensim package ships for its own tests, as sentences with their document's number."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from lib import text


def _gensim_file(name: str) -> Path:
    return Path(str(files("gensim") / "test" / "test_data" / name))


def lee() -> Iterator[tuple[str, int]]:
    """Lee's background corpus: a news item a line."""
    lines = _gensim_file("lee_background.cor").read_text(encoding="latin-1").splitlines()
    for document, line in enumerate(lines):
        for sentence in text.segment(line):
            yield sentence, document


_WIKIPEDIA = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
_MARKUP = re.compile(r"'{2,}|\(\s*[;,]*\s*\)")
_SENTENCE_END = re.compile(r"[.!?][\"')\]]*$")


def wikipedia() -> Iterator[tuple[str, int]]:
    """Sentences of running text: headings, lists, captions and fragments of fewer than four words are left out."""
    import bz2

    from gensim.corpora.wikicorpus import extract_pages, filter_wiki

    with bz2.open(_gensim_file(_WIKIPEDIA)) as dump:
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
