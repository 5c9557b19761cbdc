"""The words of sentences with their vectors and weights.

Also what embedders that compose word vectors have in common, and several sets of word
vectors side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lib.base.errors import InputError
from lib.corpora import text
from lib.embedders.base import Embedder, Tokenizer, prefix_state, unprefix_state
from lib.embedders.trained import WordTraining


class KnownWords(NamedTuple):
    """The words of some sentences that have a vector.

    Attributes
    ----------
    vectors : float32[v, d]
        Of the distinct words.
    ids, weights : int64[t] and float32[t]
        The row of each word in `vectors`, and its weight; one sentence after the other.
    starts : int64[n + 1]
        Sentence i has ``ids[starts[i]:starts[i + 1]]``.
    """

    vectors: np.ndarray
    ids: np.ndarray
    weights: np.ndarray
    starts: np.ndarray

    @property
    def known(self) -> np.ndarray:
        """int64[n]: how many words of each sentence have a vector."""
        return np.diff(self.starts)

    def vectors_of(self, sentence: int) -> np.ndarray:
        """float32[t, d]: the vectors of the words of one sentence."""
        start, end = self.starts[sentence : sentence + 2]
        return self.vectors[self.ids[start:end]]

    def _pooled(
        self, rows: np.ndarray, mode: str, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """float32[n, d]: rows pooled over the words of each sentence.

        There is a row for each distinct word. A sentence without words has zeros.
        """
        from torch import from_numpy, nn

        bags = map(from_numpy, (self.ids, rows, self.starts))
        options = {"mode": mode, "include_last_offset": True}
        if weights is not None:
            options["per_sample_weights"] = from_numpy(weights)
        return nn.functional.embedding_bag(*bags, **options).numpy()

    def sums(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """float32[n, d]: sums of rows times weights over each sentence's words.

        There is a row for each distinct word.
        """
        if find_spec("torch") is None:  # in a browser, where sentences are few
            shape = len(self.known), len(rows)
            return sp.csr_array((weights, self.ids, self.starts), shape=shape) @ rows
        return self._pooled(rows, "sum", weights)

    def maxima(self, rows: np.ndarray) -> np.ndarray:
        """float32[n, d]: maxima of rows over each sentence's words.

        There is a row for each distinct word. A sentence without words has zeros.
        """
        return self._pooled(rows, "max")

    def means(self) -> np.ndarray:
        """float32[n, d]: means of weight times vector over each sentence's words.

        A sentence without a word that has a vector has zeros.
        """
        lengths = np.repeat(self.known, self.known).astype(np.float32)
        return self.sums(self.vectors, self.weights / lengths)


def max_over_time(lstm: Any, sentences: Sequence[np.ndarray]) -> np.ndarray:
    """float32[n, dim]: the maximum of an LSTM's states over each sentence's words.

    A sentence is float32[t, d].
    """
    import torch
    from torch.nn.utils.rnn import pack_sequence, pad_packed_sequence

    words = pack_sequence(
        [torch.from_numpy(vectors) for vectors in sentences], enforce_sorted=False
    )
    # TF32 would move entries by about 1e-3.
    with (
        torch.inference_mode(),
        torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False),
    ):
        states, _ = lstm(words.to(lstm.weight_ih_l0.device))
        # padded: [time, sentence, dim]
        padded, _ = pad_packed_sequence(states, padding_value=-torch.inf)
        return padded.amax(dim=0).cpu().numpy()


class WordComposition(Embedder):
    """An embedder that composes a sentence's vector from those of its words.

    Parameters
    ----------
    name : str
    vectors : mapping, gensim's KeyedVectors or trained.WordTraining
        From words to float32[d] (a dict will do), or what `fit` trains.
    tokenize : callable
        From a sentence to its tokens.
    """

    version = 3
    batch_size = 8192
    parameters: tuple[str, ...] = ("tokenize", "source")

    def __init__(
        self,
        name: str,
        vectors: Mapping[str, np.ndarray] | WordTraining,
        tokenize: Tokenizer = text.word_tokens,
    ) -> None:
        keyed: Any = vectors
        if hasattr(keyed, "index_to_key"):  # gensim's
            vectors = dict(zip(keyed.index_to_key, keyed.vectors, strict=True))
        self.name = name
        self.tokenize = tokenize
        self.source = vectors
        self.vectors: Mapping[str, np.ndarray] = {}
        if isinstance(vectors, WordTraining):
            self.needs_fit = True
        elif isinstance(vectors, Mapping) and vectors:
            self.vectors = vectors
        else:
            given = "empty" if isinstance(vectors, Mapping) else type(vectors).__name__
            raise InputError(
                f"{name}: vectors is {given}; give a mapping from words to vectors"
            )

    @property
    def word_dim(self) -> int:
        """Dimensions of a word's vector."""
        return len(next(iter(self.vectors.values())))

    def _words(self, sentences: Sequence[str]) -> KnownWords:
        """The words with a vector and a weight above 0."""
        tokens = [self.tokenize(sentence) for sentence in sentences]
        flat = list(chain.from_iterable(tokens))
        by_word = {word: self.vectors.get(word) for word in dict.fromkeys(flat)}
        known = [word for word, vector in by_word.items() if vector is not None]
        weights = self._weights(known)
        types = [
            word for word, weight in zip(known, weights, strict=True) if weight > 0
        ]
        weights = weights[weights > 0]
        rows = {word: row for row, word in enumerate(types)}
        ids = np.array([rows.get(word, -1) for word in flat], np.int64)
        is_used = ids >= 0
        used_before = np.concatenate([[0], np.cumsum(is_used)])
        starts = used_before[np.cumsum([0, *map(len, tokens)])]
        ids = ids[is_used]
        vectors = np.array([by_word[word] for word in types], np.float32)
        vectors = vectors.reshape(-1, self.word_dim)
        return KnownWords(vectors, ids, weights[ids].astype(np.float32), starts)

    def _weights(self, words: Sequence[str]) -> np.ndarray:
        """float64, a weight for each of some words."""
        return np.ones(len(words))

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        if isinstance(self.source, WordTraining):
            self.vectors = self.source.train(sentences, show_progress_bar)

    def restore(self, state: dict[str, np.ndarray], fitted_on: str) -> Embedder:
        if isinstance(self.source, WordTraining):  # which keeps the vectors
            self.vectors = self.source.trained(fitted_on)
        return super().restore(state, fitted_on)


class Concatenation(Embedder):
    """The concatenated vectors of several embedders, float32[n, sum of dimensions].

    Parameters
    ----------
    name : str
    parts : sequence of Embedder
        With dense vectors, at least two.
    """

    def __init__(self, name: str, parts: Sequence[Embedder]) -> None:
        self.name = name
        self.parts = parts
        self.needs_fit = any(part.needs_fit for part in parts)

    @property
    def settings(self) -> dict[str, Any]:
        parts = []
        for part in self.parts:
            parts.append({"name": part.name, "version": part.version} | part.settings)
        return {"parts": parts}

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        for part in self.parts:
            part.fit(sentences, show_progress_bar)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return np.hstack([part.encode(sentences) for part in self.parts])

    def state(self) -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for i, part in enumerate(self.parts):
            arrays |= prefix_state(str(i), part)
        return arrays

    def restore(self, state: dict[str, np.ndarray], fitted_on: str) -> Embedder:
        for i, part in enumerate(self.parts):
            part.restore(unprefix_state(str(i), state), fitted_on)
        return super().restore(state, fitted_on)
