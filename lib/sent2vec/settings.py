"""The settings of a Sent2Vec training, and those of the paper's models.

Settings are checked before anything is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import cpu_count

from lib.base.parameters import in_range, one_of

TABLE_5 = Path(__file__).with_name("sent2vec_table5.csv")  # of the paper
# Where both ends are whole numbers, the value must be one.
RANGES = {
    "dim": (1, 100_000),
    "epochs": (1, 1_000_000),
    "lr": (1e-9, 1e9),
    "word_ngrams": (1, 16),
    "bucket": (1, 2**31 - 1),
    "dropout_k": (0, 1_000_000),
    "negatives": (1, 1000),
    "subsample": (1e-12, 1e6),
    "min_count": (1, 2**31 - 1),
    "min_target_count": (0, 2**31 - 1),
    "l1": (0.0, 1e6),
    "threads": (1, 10_000),
    "seed": (0, 2**63 - 1),
    "max_vocabulary": (-1, 2**31 - 1),
    "window": (0, 1_000_000),
    "dropout_probability": (0.0, 1.0),
}


@dataclass(frozen=True)
class Settings:
    """The settings of a training.

    docs/sent2vec.md compares them with the program's and with the paper's Table 5.

    Raises InputError if a value cannot be used.

    Attributes
    ----------
    dim : int
        Components of a vector.
    epochs : int
        Passes over the text.
    lr : float
        Learning rate at the beginning; it falls linearly to 0.
    word_ngrams : int
        Longest n-gram, in words; 1 for words only.
    bucket : int
        Rows that n-grams are hashed to, if there are n-grams.
    dropout_k : int
        For variant "reference" words of a sentence whose n-grams are dropped, drawn for
        each target (two words keep theirs); for "paper" n-grams dropped, drawn for each
        sentence.
    negatives : int
        Negatives drawn for each target.
    subsample : float
        t of the paper's q_p (section 2.1); the smaller, the fewer of the frequent words
        are targets. 1 makes every word a target.
    min_count : int
        Words that occur less often are left out.
    min_target_count : int
        Words that occur less often are not targets.
    l1 : float
        τ of the paper's appendix B; 0 for none.
    threads : int
        At most; never more than the machine has cores. With more than one, results
        differ from run to run.
    seed : int
        Of everything random.
    variant : {"reference", "paper"}
        Which to follow where the program and the paper differ.
    max_vocabulary : int
        Words at most, the most frequent, ``<PLACEHOLDER>`` and ``</s>`` among them; -1
        for all.
    subsample_context : bool
        C-BOW's first trick (section 2.3): words that subsampling leaves out leave the
        context, too.
    window : int
        C-BOW's second: the context reaches 1 to `window` words to each side, drawn for
        each target; 0 for the whole sentence.
    dropout_probability : float
        In place of `dropout_k`, each word (variant "paper": each n-gram) drops with
        this probability.
    """

    dim: int = 100
    epochs: int = 5
    lr: float = 0.2
    word_ngrams: int = 1
    bucket: int = 2_000_000
    dropout_k: int = 2
    negatives: int = 10
    subsample: float = 1e-4
    min_count: int = 5
    min_target_count: int = 5
    l1: float = 0.0
    threads: int = 1
    seed: int = 0
    variant: str = "reference"
    max_vocabulary: int = -1
    subsample_context: bool = False
    window: int = 0
    dropout_probability: float = 0.0

    def __post_init__(self) -> None:
        for name, (low, high) in RANGES.items():
            in_range(name, getattr(self, name), low, high)
        one_of("variant", self.variant, ("reference", "paper"))

    @property
    def workers(self) -> int:
        """Threads that a training on this machine uses."""
        return min(self.threads, cpu_count())

    @property
    def ngram_rows(self) -> int:
        """Rows of the input matrix for n-grams: `bucket`, or 0 if words only."""
        return self.bucket if self.word_ngrams > 1 else 0


# -- presets: the rows of the paper's Table 5, and appendix B for L1 -------------------

PRESETS = (
    "books-unigrams",
    "books-bigrams",
    "books-bigrams-l1",
    "wiki-unigrams",
    "wiki-bigrams",
    "wiki-bigrams-l1",
    "twitter-unigrams",
    "twitter-bigrams",
)
# Parts of their names in the table.
CORPORA = {"books": "book corpus", "wiki": "wiki", "twitter": "twitter"}
NGRAMS = {"unigrams": "uni.", "bigrams": "uni. + bi."}
COLUMNS = {
    "dim": "dim",
    "epochs": "epochs",
    "lr": "learning_rate",
    "dropout_k": "bigrams_dropped",
    "negatives": "negatives",
    "subsample": "subsampling",
    "min_count": "min_word_count",
    "min_target_count": "min_target_word_count",
}
# `bucket` is not in the table: it is the authors' for Wikipedia.
BIGRAMS = {"word_ngrams": 2, "bucket": 4_000_000}


def preset(name: str, **changes: Any) -> Settings:
    """The settings of a row of Table 5, with some changed.

    For example, ``preset("wiki-bigrams", threads=16, variant="paper")``.

    Names are ``books-``, ``wiki-`` and ``twitter-`` with ``unigrams`` or ``bigrams``,
    and ``books-bigrams-l1`` and ``wiki-bigrams-l1``. What the table leaves open is as
    in `Settings`. Raises InputError for any other name.
    """
    corpus, ngrams, *l1 = one_of("preset", name, PRESETS).split("-")
    table = pd.read_csv(TABLE_5, index_col="model").fillna(0)
    row = table.loc[f"Sent2Vec {CORPORA[corpus]} {NGRAMS[ngrams]}"]
    values: dict[str, Any] = {}
    for field, column in COLUMNS.items():
        kind = type(getattr(Settings, field))
        values[field] = kind(row[column])
    if ngrams == "bigrams":
        values |= BIGRAMS
    if l1:
        values["l1"] = 0.0005
    return Settings(**(values | changes))
