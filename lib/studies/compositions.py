"""Compositions of word vectors, and their scores (section 4 of uSIF's paper)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from lib import embedders
from lib.base import progress
from lib.base.errors import InputError
from lib.corpora import text
from lib.embedders.base import Embedder
from lib.embedders.composition import SIF, USIF, Average
from lib.stats import Sampling
from lib.studies import scores
from lib.studies.scores import ItemSet


@dataclass(frozen=True)
class Composer:
    """Word vectors, frequencies and a tokenizer, and what is composed of them.

    Attributes
    ----------
    name : str
        Of the vectors.
    vectors : mapping word -> float32[d]
    probabilities : mapping word -> p(w)
    tokenize : callable
        From a sentence to its words, in the vectors' case and without punctuation.
    n : int
        uSIF's steps.
    """

    name: str
    vectors: Mapping[str, np.ndarray]
    probabilities: Mapping[str, float]
    tokenize: Callable[[str], list[str]]
    n: int = 11

    @classmethod
    def from_registry(
        cls, name: str, probabilities: Mapping[str, float], n: int
    ) -> Composer:
        """The word vectors of that name in the registry.

        InputError unless these are published word vectors.
        """
        embedder = embedders.load(name)
        if not isinstance(embedder, Average) or embedder.needs_fit:
            raise InputError(
                f"vector_names: {name!r} has no published word vectors; "
                "give one such as glove-6b-50d"
            )
        cased = embedder.tokenize("A") == ["A"]
        tokenize = text.cased_words if cased else text.lower_words
        return cls(name, embedder.vectors, probabilities, tokenize, n)

    def mean(self) -> Average:
        """The plain mean."""
        return Average("mean", self.vectors, self.tokenize)

    def sif(self, **options: Any) -> SIF:
        """SIF with a = 1e-3, as its authors have it; options are those of its class."""
        return SIF(self.vectors, self.probabilities, tokenize=self.tokenize, **options)

    def usif(self, **options: Any) -> USIF:
        """uSIF; options are those of its class."""
        return USIF(
            self.vectors,
            self.probabilities,
            n=self.n,
            tokenize=self.tokenize,
            **options,
        )

    def usif_at(self, a: float, m: int = 5) -> SIF:
        """uSIF with another a, up to a factor of 2.

        This is SIF at a/2, normalized, with components removed by share.
        """
        return self.sif(a=a / 2, m=m, normalize="divide", removal="share")


def evaluate(
    compositions: Mapping[str, Mapping[str, Embedder]],
    sets: Sequence[ItemSet],
    sampling: Sampling,
) -> pd.DataFrame:
    """Score compositions of word vectors.

    Parameters
    ----------
    compositions : mapping
        By the name of the vectors, the same compositions of each, by name.
    sets : sequence of ItemSet
    sampling : Sampling

    Returns
    -------
    DataFrame
        Draws, with the levels group and set (`scores.by_group` averages over sets),
        what, the compositions, and vectors.
    """
    first, *_ = compositions.values()
    values = []
    for item_set in progress.track(list(sets), "score", "sets"):
        of_set = {
            (what, vectors): item_set.values(composed[what])
            for what, (vectors, composed) in product(first, compositions.items())
        }
        values.append(pd.DataFrame(of_set).rename_axis(columns=["what", "vectors"]))
    return scores.draws(sets, values, sampling)
