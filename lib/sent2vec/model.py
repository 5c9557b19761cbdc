"""A trained Sent2Vec model: the vector of a sentence is the mean of those of its words and n-grams."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from lib.corpora import text
from lib.run import files, progress
from lib.run.compiled import njit
from lib.run.errors import InputError
from lib.run.parameters import one_of
from lib.sent2vec import binary
from lib.sent2vec.binary import Header, ModelFile
from lib.sent2vec.dictionary import END_OF_LINE, PLACEHOLDER, Dictionary
from lib.sent2vec.ngrams import input_rows
from lib.sent2vec.settings import Settings
from lib.sent2vec.training import Step, train

BATCH = 1024
INT32_MOST = 2**31 - 1
# A line ends with its newline, or with a token "</s>", which takes one blank behind it along.
LINE_END = re.compile(rb"\n|(?<![^ \n\r\t\v\f\0])</s>(?:[ \r\t\v\f\0]|(?=\n)|\Z)")


class Sent2Vec:
    """Vectors of sentences (Pagliardini, Gupta and Jaggi 2018, section 2), as the authors' program gives them.

    Made by `train` or `load`.

    Attributes
    ----------
    header : Header, the settings that a model file keeps
    dictionary : Dictionary, words and their counts
    input_matrix : float32[words + bucket + 1, dim], the vectors of words, of hashed n-grams, and a row without use
    output_matrix : float32[words, dim], the vectors of words as targets
    settings : Settings, or None for a model from a file
    history : list of training.Step; None for a model from a file
    """

    def __init__(self, file: ModelFile, settings: Settings | None = None, history: list[Step] | None = None) -> None:
        self.file, self.settings, self.history = file, settings, history
        self._origin = "model"  # what errors call it

    # -- making, reading, writing ---------------------------------------------------------------

    @classmethod
    def train(
        cls,
        sentences: Sequence[str] | str | Path,
        settings: Settings | None = None,
        checkpoint: str | Path | None = None,
        show_progress_bar: bool = False,
        log: Callable[[Step], None] | None = None,
        **changes: Any,
    ) -> Sent2Vec:
        """Train a model.

        Parameters
        ----------
        sentences : a sequence of sentences, tokenized (tokens parted by blanks); or the path of a file with one a
            line, which may be compressed by gzip
        settings : Settings; None for their defaults
        checkpoint : a file to which the training is saved from time to time, and from which it goes on; None for none
        show_progress_bar : bool
        log : called with each new entry of the history (`training.Step`)
        changes : what differs from `settings`, by name: dim, epochs, lr, word_ngrams, bucket, dropout_k, negatives,
            subsample, min_count, min_target_count, l1, threads, seed, variant and whatever else `Settings` has

        Raises
        ------
        InputError
            For an unknown setting or one that cannot be used, and for a text that no model can be trained on.
        """
        for name in changes:
            one_of("setting", name, [field.name for field in fields(Settings)])
        chosen = replace(settings or Settings(), **changes)
        place = None if checkpoint is None else Path(checkpoint)
        trained = train(sentences, chosen, place, show_progress_bar, log)
        file = ModelFile(_header(chosen), trained.dictionary, trained.input_matrix, trained.output_matrix)
        return cls(file, chosen, trained.history)

    @classmethod
    def load(cls, path: str | Path) -> Sent2Vec:
        """The model in a file of the authors' program (``.bin``), or of `save`; its matrices stay on disk.

        Raises InputError for a file that is not such a model or not whole (`binary.read`).
        """
        model = cls(binary.read(path))
        model._origin = str(path)
        return model

    def save(self, path: str | Path) -> None:
        """Write the model to a file that `load` and the authors' program read.

        The file appears at once when it is whole: a process that is killed leaves the old one.
        """
        binary.write(path, self.file)

    # -- what it holds --------------------------------------------------------------------------

    @property
    def header(self) -> Header:
        """The settings that a model file keeps."""
        return self.file.header

    @property
    def dictionary(self) -> Dictionary:
        """Words and their counts."""
        return self.file.dictionary

    @property
    def input_matrix(self) -> np.ndarray:
        """float32[words + bucket + 1, dim]."""
        return self.file.input_matrix

    @property
    def output_matrix(self) -> np.ndarray:
        """float32[words, dim]."""
        return self.file.output_matrix

    @property
    def dim(self) -> int:
        """Components of a vector."""
        return self.header.dim

    def word_vectors(self) -> dict[str, np.ndarray]:
        """float32[dim] for each word, the most frequent first: its row of the input matrix, without a copy.

        ``<PLACEHOLDER>`` and ``</s>`` are left out. A word whose bytes are not UTF-8 is read as Latin-1.
        """
        rows = np.asarray(self.input_matrix)
        vectors: dict[str, np.ndarray] = {}
        for row, word in enumerate(self.dictionary.words[: self.dictionary.n_words]):
            if word not in (PLACEHOLDER, END_OF_LINE):
                vectors.setdefault(_decoded(word), rows[row])
        return vectors

    # -- encoding -------------------------------------------------------------------------------

    def encode(self, sentences: Sequence[str], batch_size: int = BATCH, show_progress_bar: bool = False) -> np.ndarray:
        """float32[n, dim]: the mean of the vectors of a sentence's words and of all its n-grams.

        A token is what stands between white space of ASCII; tokens are neither split nor lower-cased. An item is one
        sentence: a newline in it is white space, and a token ``</s>`` is no word. Words outside of the dictionary are
        left out before n-grams are made. A sentence without known words has a zero vector.

        Raises InputError for anything but a sequence of str, and if the model holds NaN or infinity.
        """
        if isinstance(sentences, str) or not all(isinstance(sentence, str) for sentence in sentences):
            raise InputError("sentences: give a list of strings")
        vectors = np.zeros((len(sentences), self.dim), np.float32)
        with progress.bar(len(sentences), "encode", show=show_progress_bar) as bar:
            for start in range(0, len(sentences), batch_size):
                batch = [text.mend(sentence).encode() for sentence in sentences[start : start + batch_size]]
                self._encode_lines(batch, vectors[start : start + len(batch)])
                bar.update(len(batch))
        return vectors

    def sentence_vectors_text(self, lines: str | bytes) -> str:
        """What the program's ``print-sentence-vectors`` prints for a text: a line of numbers for each line.

        As there, a token ``</s>`` ends a line too, and what stands behind the last newline is a line.
        """
        data = lines.encode() if isinstance(lines, str) else lines
        return "".join(self._printed(BytesIO(data)))

    def write_vectors(self, lines: str | Path, path: str | Path) -> None:
        """The same from a file to a file, however long; the latter appears when it is whole.

        Raises InputError if the one cannot be read or the other not be written.
        """
        try:
            with Path(lines).open("rb") as source, files.replacing(Path(path)) as target:
                target.writelines(block.encode() for block in self._printed(source))
        except OSError as error:
            raise InputError(f"{error.filename}: {error.strerror}; give a text, and a file in a folder") from error

    def _printed(self, lines: Iterable[bytes]) -> Iterator[str]:
        remaining, layout = iter(lines), "%.5g " * self.dim + "\n"
        while batch := b"".join(islice(remaining, BATCH)):
            sentences = LINE_END.split(batch)
            # nothing stands behind the last end of a line
            sentences = sentences if sentences[-1] else sentences[:-1]
            vectors = np.zeros((len(sentences), self.dim), np.float32)
            self._encode_lines(sentences, vectors)
            yield "".join(layout % tuple(vector) for vector in vectors.tolist())

    def _encode_lines(self, lines: Sequence[bytes], vectors: np.ndarray) -> None:
        """Add to `vectors`, float32[n, dim] of zeros, those of the lines."""
        ids, starts = self.dictionary.ids_of_lines(lines)
        longest = max(1, min(self.header.word_ngrams, np.diff(starts).max(initial=1)))
        rows, row_starts = input_rows(ids, starts, longest, self.dictionary.n_words, self.header.bucket)
        _add_means(self.input_matrix, rows, row_starts, vectors)
        if not np.isfinite(vectors).all():
            raise InputError(
                f"{self._origin}: its vectors hold NaN or infinity; get the file again, or train with a lower lr"
            )


@njit(nogil=True)
def _add_means(matrix, rows, starts, vectors):
    """Sums in float32 and in the order of the rows, over their number: the program's vectors to the last bit."""
    for line in range(len(vectors)):
        own = rows[starts[line] : starts[line + 1]]
        for row in own:
            for j in range(matrix.shape[1]):
                vectors[line, j] += matrix[row, j]
        scale = np.float32(1.0 / max(1, len(own)))
        for j in range(matrix.shape[1]):
            vectors[line, j] *= scale


def _header(settings: Settings) -> Header:
    return Header(
        dim=settings.dim, window=5, epochs=settings.epochs, min_count=min(settings.min_count, INT32_MOST),
        negatives=settings.negatives, word_ngrams=settings.word_ngrams, loss=2, model=binary.SENT2VEC,
        bucket=settings.ngram_rows, shortest=3, longest=6, update_rate=100, subsample=settings.subsample,
    )  # fmt: skip


def _decoded(word: bytes) -> str:
    try:
        return word.decode()
    except UnicodeDecodeError:
        return word.decode("latin-1")
