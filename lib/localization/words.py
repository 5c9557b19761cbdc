"""The paper's bag of words (section 3.2.4): counts of tokens, punctuation among them."""

from __future__ import annotations

from collections.abc import Sequence

import scipy.sparse as sp

from lib.corpora import text


def treebank_lower(sentence: str) -> list[str]:
    """Penn Treebank tokens in lower case."""
    return [token.lower() for token in text.treebank_tokens(sentence)]


def bag_of_words(sentences: Sequence[str]) -> sp.csr_array:
    """float32[n, vocabulary], how often each token occurs in each sentence.

    The vocabulary is that of all sentences. Nothing leaks from that: a column that is zero in all of a fold's training
    sentences gets a weight of zero.
    """
    from lib.embedders.sparse import BagOfWords

    return BagOfWords(treebank_lower).fit_encode(sentences)
