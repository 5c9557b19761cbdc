"""A trained Sent2Vec model.

The vector of a sentence is the mean of the vectors of its words and n-grams.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lib.base import files
from lib.base.characters import decoded, mend
from lib.base.compiled import njit
from lib.base.errors import InputError
from lib.sent2vec import binary
from lib.sent2vec.binary import Header, ModelFile
from lib.sent2vec.contexts import input_rows
from lib.sent2vec.settings import Settings
from lib.sent2vec.text import END_OF_LINE, PLACEHOLDER
from lib.sent2vec.training import Step, train

BATCH = 1024  # sentences whose rows are listed at a time


class Sent2Vec:
    """Sentence vectors (Pagliardini, Gupta and Jaggi 2018, section 2).

    They are equal to those of the authors' program.

    Made by `train` or `load`.

    Attributes
    ----------
    header : Header
        The settings that a model file keeps.
    dictionary : Dictionary
        Words and their counts.
    input_matrix : float32[words + bucket + 1, dim]
        The vectors of words, of hashed n-grams, and a row without use.
    output_matrix : float32[words, dim]
        The vectors of words as targets.
    dim : int
        Components of a vector.
    settings : Settings or None
        None for a model from a file.
    history : list of training.Step or None
        None for a model from a file.
    """

    def __init__(
        self,
        file: ModelFile,
        settings: Settings | None = None,
        history: list[Step] | None = None,
        name: str | Path = "model",
    ) -> None:
        self.file = file
        self.settings = settings
        self.history = history
        self._name = name
        self.header, self.dictionary, self.input_matrix, self.output_matrix = file
        self.dim = self.header.dim

    # -- making, reading, writing ------------------------------------------------------

    @classmethod
    def train(
        cls,
        sentences: Sequence[str] | str | Path,
        settings: Settings | None = None,
        show_progress_bar: bool = False,
        **changes: Any,
    ) -> Sent2Vec:
        """Train a model.

        A training of more than ten minutes is kept in the cache from time to time:
        after a kill, the same call goes on.

        Parameters
        ----------
        sentences : sequence of str, or path
            Tokenized sentences (tokens separated by spaces); or a file with one per
            line, which may be compressed by gzip.
        settings : Settings, optional
        show_progress_bar : bool
        **changes
            What differs from `settings`, by name: dim, epochs, lr, word_ngrams, bucket,
            dropout_k, negatives, subsample, min_count, min_target_count, l1, threads,
            seed, variant and whatever else `Settings` has.

        Raises
        ------
        InputError
            For a setting that cannot be used, and for a text that no model can be
            trained on.

        Examples
        --------
        >>> from lib.sent2vec import Sent2Vec
        >>> text = ["the cat and the dog sleep", "a dog sleeps"] * 50
        >>> model = Sent2Vec.train(text, dim=8, min_count=1, epochs=2)
        >>> model.encode(["the dog"]).shape
        (1, 8)
        """
        settings = replace(settings or Settings(), **changes)
        dictionary, input_matrix, output_matrix, history = train(
            sentences, settings, show_progress_bar
        )
        header = Header(
            dim=settings.dim, window=5, epochs=settings.epochs,
            min_count=settings.min_count, negatives=settings.negatives,
            word_ngrams=settings.word_ngrams, loss=2, model=binary.SENT2VEC,
            bucket=settings.ngram_rows, shortest=3, longest=6, update_rate=100,
            subsample=settings.subsample,
        )  # fmt: skip
        return cls(
            ModelFile(header, dictionary, input_matrix, output_matrix),
            settings,
            history,
        )

    @classmethod
    def load(cls, path: str | Path) -> Sent2Vec:
        """The model in a file of the authors' program (``.bin``) or of `save`.

        Its matrices stay on disk.

        Raises InputError for a file that is not such a model or not whole
        (`binary.read`).
        """
        return cls(binary.read(path), name=path)

    def save(self, path: str | Path) -> None:
        """Write the model to a file that `load` and the authors' program read.

        The file is replaced only when the new one is complete, so a killed process
        leaves the old one. Raises InputError if it cannot be written.
        """
        with files.replacing(Path(path)) as stream:
            binary.write(stream, self.file)

    # -- using -------------------------------------------------------------------------

    def word_vectors(self) -> dict[str, np.ndarray]:
        """float32[dim] for each word, the most frequent first.

        The vector of a word is its row of the input matrix, without a copy.
        ``<PLACEHOLDER>`` and ``</s>`` are left out. A word whose bytes are not UTF-8 is
        read as Latin-1.
        """
        vectors: dict[str, np.ndarray] = {}
        for row, word in enumerate(self.dictionary.words[: self.dictionary.n_words]):
            if word not in (PLACEHOLDER, END_OF_LINE):
                vectors.setdefault(decoded(word), self.input_matrix[row])
        return vectors

    def encode(self, sentences: Sequence[str]) -> np.ndarray:
        """float32[n, dim]: the mean over a sentence's words and all its n-grams.

        A token is what stands between white space of ASCII; tokens are neither split
        nor lower-cased. An item is one sentence: a newline in it is white space, and a
        token ``</s>`` is no word. Words outside of the dictionary are left out before
        n-grams are made. A sentence without known words has a zero vector.

        Raises InputError for anything but a sequence of str, and if the model holds NaN
        or infinity.
        """
        if isinstance(sentences, str) or not all(
            isinstance(sentence, str) for sentence in sentences
        ):
            raise InputError(
                "sentences: not a sequence of strings; give a list of strings"
            )
        longest = max(1, self.header.word_ngrams)
        vectors = np.zeros((len(sentences), self.dim), np.float32)
        for start in range(0, len(sentences), BATCH):
            batch = sentences[start : start + BATCH]
            lines = [mend(sentence).encode() for sentence in batch]
            ids, starts = self.dictionary.ids(lines)
            n_words = self.dictionary.n_words
            rows, starts = input_rows(ids, starts, longest, n_words, self.header.bucket)
            _add_means(
                self.input_matrix, rows, starts, vectors[start : start + len(lines)]
            )
        if not np.isfinite(vectors).all():
            raise InputError(
                f"{self._name}: its vectors contain NaN or infinity; "
                "train with a lower lr, or get it again"
            )
        return vectors


@njit(nogil=True)
def _add_means(matrix, rows, starts, vectors):
    """Sums in float32, in the order of the rows, divided by their number.

    The vectors are those of the authors' program to the last bit.
    """
    for line in range(len(vectors)):
        own = rows[starts[line] : starts[line + 1]]
        for row in own:
            for j in range(matrix.shape[1]):
                vectors[line, j] += matrix[row, j]
        scale = np.float32(1.0 / max(1, len(own)))
        for j in range(matrix.shape[1]):
            vectors[line, j] *= scale
