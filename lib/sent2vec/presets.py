"""The settings of the paper's own models: Table 5, and appendix B for L1."""

from __future__ import annotations

from typing import Any

from lib.run.parameters import one_of
from lib.sent2vec.settings import Settings

# Of all rows; a row of words only drops nothing.
COMMON = {"lr": 0.2, "negatives": 10, "dropout_k": 0}
BIGRAMS = {"word_ngrams": 2, "bucket": 4_000_000}  # the latter not from the table: it is the authors' for Wikipedia
L1 = {"l1": 0.0005}
BOOKS = {"dim": 700, "min_count": 5}
WIKI = {"min_count": 8, "min_target_count": 20, "epochs": 9}
TWITTER = {"dim": 700, "min_count": 20, "min_target_count": 20, "epochs": 3, "subsample": 1e-6}

PRESETS: dict[str, dict[str, Any]] = {
    "books-unigrams": BOOKS | {"min_target_count": 8, "epochs": 13, "subsample": 1e-5},
    "books-bigrams": BOOKS | BIGRAMS | {"min_target_count": 5, "epochs": 12, "subsample": 5e-6, "dropout_k": 7},
    "wiki-unigrams": WIKI | {"dim": 600, "subsample": 1e-5},
    "wiki-bigrams": WIKI | BIGRAMS | {"dim": 700, "subsample": 5e-6, "dropout_k": 4},
    "twitter-unigrams": TWITTER,
    "twitter-bigrams": TWITTER | BIGRAMS | {"dropout_k": 3},
}
PRESETS |= {f"{name}-l1": PRESETS[name] | L1 for name in ("books-bigrams", "wiki-bigrams")}


def settings(name: str, **changes: Any) -> Settings:
    """The settings of a row of Table 5, some changed: ``settings("wiki-bigrams", threads=16, variant="paper")``.

    Names are ``books-``, ``wiki-`` and ``twitter-`` with ``unigrams`` or ``bigrams``, and ``books-bigrams-l1`` and
    ``wiki-bigrams-l1``. What the table leaves open is as in `Settings`. Raises InputError for any other name.
    """
    return Settings(**COMMON | PRESETS[one_of("preset", name, PRESETS)] | changes)
