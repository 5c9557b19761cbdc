"""Parses of sentences, by the parser of spaCy's English model of middle size.

Only data of its package are read: nothing of it is imported.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from lib import catalog
from lib.base import files, paths, progress
from lib.base.cache import CacheEntry
from lib.corpora import text

if TYPE_CHECKING:
    from spacy.tokens import Doc

ASSET = "spacy-md"
UNUSED = ("senter", "attribute_ruler", "lemmatizer", "ner")
BATCH = 256  # sentences at a time
FILE = "parses.spacy"


@lru_cache(maxsize=1)  # each task asks for them
def parsed(sentences: tuple[str, ...]) -> list[Doc]:
    """The parse of each sentence: words with tags, heads and what they are to them.

    Parses are kept in the cache. InputError if the model is missing or damaged.
    """
    import spacy
    from spacy.tokens import DocBin

    places = catalog.locate(ASSET)
    catalog.check(ASSET)
    key = {
        "text": text.fingerprint(sentences),
        "model": [files.sha256(place) for place in places],
        "spacy": spacy.__version__,
    }
    entry = CacheEntry(paths.CACHE / "parses", ASSET, key)

    def parse() -> dict:
        folder = places[0].parent.parent
        pipeline = spacy.load(folder, exclude=UNUSED)
        kept = DocBin(attrs=["TAG", "DEP", "HEAD"])
        tracked = progress.track(sentences, "parse", "sentences")
        for doc in pipeline.pipe(tracked, batch_size=BATCH):
            kept.add(doc)
        with entry.writing(FILE) as stream:
            stream.write(kept.to_bytes())
        return {}

    entry.made(parse, "parsing")
    kept = DocBin().from_disk(entry.folder / FILE)
    return list(kept.get_docs(spacy.blank("en").vocab))
