"""What a training of Sent2Vec is made with, checked before anything is read."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import Literal

from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of
from lib.run.processor import cores

VARIANTS = ("reference", "paper")


@dataclass(frozen=True)
class Settings:
    """The settings of a training; docs/sent2vec.md compares them with the program's and with the paper's Table 5.

    Raises InputError if a value cannot be used.

    Attributes
    ----------
    dim : components of a vector
    epochs : passes over the text
    lr : learning rate at the beginning; it falls linearly to 0
    word_ngrams : longest n-gram, in words; 1 for words only
    bucket : rows that n-grams are hashed to, if there are n-grams
    dropout_k : for variant "reference" words of a sentence whose n-grams are dropped, drawn for each target
        (two words keep theirs); for "paper" n-grams dropped, drawn for each sentence
    negatives : negatives drawn for each target
    subsample : t of the paper's q_p (section 2.1); the smaller, the fewer of the frequent words are targets
    min_count : a word that the text has less often is left out
    min_target_count : a word that the text has less often is no target
    l1 : τ of the paper's appendix B; 0 for none
    threads : with more than one the result differs from run to run
    seed : of everything random
    variant : where program and paper differ, which of them is followed
    max_vocabulary : words and labels at most, the most frequent; -1 for all
    subsample_context : C-BOW's first trick (section 2.3): words that subsampling leaves out leave the context, too
    window : C-BOW's second: the context reaches 1 to `window` words to each side, drawn for each target; 0 for the
        whole sentence
    dropout_probability : in place of `dropout_k`, each word (variant "paper": each n-gram) drops with this probability
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
    variant: Literal["reference", "paper"] = "reference"
    max_vocabulary: int = -1
    subsample_context: bool = False
    window: int = 0
    dropout_probability: float = 0.0

    def __post_init__(self) -> None:
        self._check_types()
        self._check_ranges()
        one_of("variant", self.variant, VARIANTS)
        if self.word_ngrams > 1 and self.bucket == 0:
            raise InputError("bucket: 0 rows cannot hold n-grams; give at least 1, such as 2000000, or word_ngrams=1")

    @property
    def ngram_rows(self) -> int:
        """Rows of the input matrix for n-grams: `bucket`, or 0 for a model of words only."""
        return self.bucket if self.word_ngrams > 1 else 0

    def _check_types(self) -> None:
        kinds = {"int": (Integral, "a whole number"), "float": (Real, "a number"), "bool": (bool, "True or False")}
        for field in fields(self):
            value, (kind, shown) = getattr(self, field.name), kinds.get(field.type, (str, "a name"))
            if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
                raise InputError(f"{field.name}: {value!r} is not accepted; give {shown}")

    def _check_ranges(self) -> None:
        in_range("dim", self.dim, 1, 100_000)
        in_range("epochs", self.epochs, 1, 1_000_000)
        in_range("lr", self.lr, 1e-9, 1e9, "it falls from there to 0")
        in_range("word_ngrams", self.word_ngrams, 1, 16, "the longest n-gram, in words")
        in_range("bucket", self.bucket, 0, 2**31 - 1)
        in_range("dropout_k", self.dropout_k, 0, 1_000_000)
        in_range("negatives", self.negatives, 1, 1000)
        in_range("subsample", self.subsample, 1e-12, 1e6, "1 makes every word a target")
        in_range("min_count", self.min_count, 1, 2**62)
        in_range("min_target_count", self.min_target_count, 0, 2**62)
        in_range("l1", self.l1, 0, 1e6, "0 for none; the paper has 0.0005")
        in_range("threads", self.threads, 1, cores(), f"this process may use {cores()} cores")
        in_range("seed", self.seed, 0, 2**63 - 1)
        in_range("max_vocabulary", self.max_vocabulary, -1, 2**31 - 1, "-1 for all words")
        in_range("window", self.window, 0, 1_000_000, "0 for the whole sentence")
        in_range("dropout_probability", self.dropout_probability, 0.0, 1.0)
