"""What Sent2Vec reads, and what its words count.

"Unsupervised Learning of Sentence Embeddings using Compositional n-Gram Features",
section 5 and figure 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from lib.corpora import text
from lib.sent2vec import Sent2Vec
from lib.sent2vec.text import END_OF_LINE
from lib.vectors import Embeddings

BANDS = ("rare", "middle", "frequent")
SIF_A = 1e-3  # of Arora et al.
Encode = Callable[[Sequence[str]], Embeddings]


def tokenized(sentences: Sequence[str]) -> list[str]:
    """Sentences as Sent2Vec reads them: lower-cased tokens, spaces between."""
    return [_tokens(sentence) for sentence in sentences]


@lru_cache(maxsize=200_000)  # every model encodes the same sentences
def _tokens(sentence: str) -> str:
    return " ".join(text.lower_word_tokens(sentence))


def word_weights(model: Sent2Vec) -> pd.DataFrame:
    """What each word counts in a mean (figure 1).

    Returns
    -------
    DataFrame with columns word, row (of the input matrix), frequency (share of all
    tokens), norm (of the word's vector), zeros (share of its components that are 0),
    sif (a / (a + frequency)) and band (0 to 2: thirds of the range of log frequency,
    rare to frequent)
    """
    dictionary = model.dictionary
    rows = np.array(
        [i for i in range(1, dictionary.n_words) if dictionary.words[i] != END_OF_LINE]
    )
    frequency = dictionary.counts[rows] / dictionary.tokens
    return pd.DataFrame(
        {
            "word": [dictionary.words[i].decode(errors="replace") for i in rows],
            "row": rows,
            "frequency": frequency,
            "norm": np.linalg.norm(model.input_matrix[rows], axis=1),
            "zeros": (model.input_matrix[rows] == 0).mean(axis=1),
            "sif": SIF_A / (SIF_A + frequency),
            "band": pd.cut(np.log(frequency), len(BANDS), labels=False),
        }
    )


def encoder(model: Sent2Vec) -> Encode:
    """A model as a function from sentences to embeddings, float32[n, dim]."""
    return lambda sentences: model.encode(tokenized(sentences))
