"""Training Sent2Vec, in threads without locks (Hogwild).

One pass counts words, one numbers them, then come the epochs.

Every ten minutes the training is kept in the cache, whole or not at all; the same
training, run again, goes on from there. When it is done, that is deleted.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

import numpy as np

from lib.base import files, paths, progress
from lib.base.cache import CacheEntry
from lib.base.errors import InputError
from lib.sent2vec.contexts import Method, workspace_for
from lib.sent2vec.kernels import Model, learn_block
from lib.sent2vec.matrices import packed, padded, randomize
from lib.sent2vec.settings import Settings
from lib.sent2vec.text import CorpusIds, Dictionary, Text

# Of the checkpoint and of everything that decides which numbers a training arrives at.
VERSION = 2
STEPS = 200  # about as many entries has a history
ROUND = 256  # blocks for each thread between two chances of a checkpoint
SECONDS_BETWEEN_CHECKPOINTS = 600.0
# Chance has a loss of log 2 for each word scored. A mean loss this many times higher
# means that the weights only grow.
DIVERGED = 10.0
# At most so many negatives are in the table, as in the program; fewer for a small
# vocabulary.
TABLE = 10_000_000
PER_WORD = 1000  # for each word
TABLES = 5  # are kept for the next trainings on the same text, at 40 MB or less


class Diverged(InputError):
    """A training whose weights only grow: the learning rate is too high."""


class Step(NamedTuple):
    """A point in the history of a training.

    Attributes
    ----------
    epoch : int
        From 1.
    words : int
        Words trained on so far, over all epochs.
    lr : float
        Learning rate.
    loss : float
        The paper's objective for a target and its negatives, mean over the targets
        since the step before; NaN if there were none.
    seconds : float
        That training has taken, without the two passes before it; differs from run to
        run.
    """

    epoch: int
    words: int
    lr: float
    loss: float
    seconds: float


class Trained(NamedTuple):
    """What a training made.

    Attributes
    ----------
    dictionary : Dictionary
    input_matrix : float32[n_words + n-gram rows + 1, dim]
        The last row is never trained, as in the program's files.
    output_matrix : float32[n_words, dim]
    history : list of Step
    """

    dictionary: Dictionary
    input_matrix: np.ndarray
    output_matrix: np.ndarray
    history: list[Step]


def train(
    source: Sequence[str] | str | Path,
    settings: Settings,
    show_progress_bar: bool = False,
) -> Trained:
    """Train on a text; with one thread, text and settings decide every bit.

    Parameters
    ----------
    source : sequence of str, or path
        Sentences; or a file with one a line, which may be compressed by gzip.
    settings : Settings
    show_progress_bar : bool

    Raises
    ------
    InputError
        For a text that no model can be trained on, for a full disk, and when the
        training diverges.
    """
    text = Text(source)
    blocks = text.blocks("count words", show_progress_bar)
    dictionary = Dictionary.build(blocks, settings.min_count, settings.max_vocabulary)
    with files.writing(paths.CACHE):
        paths.CACHE.mkdir(parents=True, exist_ok=True)
        # The file has no name where the system allows that: it is gone when this
        # process is, however it ends.
        with TemporaryFile(dir=paths.CACHE) as file:
            blocks = text.blocks("number words", show_progress_bar)
            corpus = CorpusIds(blocks, dictionary, file)
            if not len(corpus.words):
                raise InputError(
                    "sentences: none has two words that occur min_count times; "
                    "give more text"
                )
            training = _Training(dictionary, corpus, settings)
            training.run(show_progress_bar)
    inputs = packed(training.model.inputs, settings.dim)
    outputs = packed(training.model.outputs, settings.dim)
    return Trained(dictionary, inputs, outputs, training.history)


class _Training:
    """The state of a training after some block, and the steps that follow."""

    def __init__(
        self, dictionary: Dictionary, corpus: CorpusIds, settings: Settings
    ) -> None:
        self.corpus = corpus
        self.settings = settings
        self.method = method_of(dictionary, settings)
        rows = dictionary.n_words + settings.ngram_rows + 1
        inputs = padded(rows, settings.dim)
        outputs = padded(dictionary.n_words, settings.dim)
        self.model = Model(inputs, outputs)
        self.order = _order(len(corpus.words), settings)
        # The words of the blocks before each.
        self.before = np.concatenate([[0], np.cumsum(corpus.words[self.order])])
        self.words = int(self.before[-1])
        self.done = 0
        self.seconds = 0.0
        # The sum of the loss and the number of targets since the last step.
        self.report = np.zeros(2)
        self.history: list[Step] = []
        key = {
            "version": VERSION,
            "settings": str(replace(settings, threads=1)),
            "text": corpus.digest,
        }
        self.folder = CacheEntry(paths.CACHE / "trainings", "sent2vec", key).folder
        self.checkpoint = self.folder / "checkpoint"

    def run(self, show: bool) -> None:
        """Train to the end, from the checkpoint if there is one."""
        self._restore()
        # This compiles, which is not time spent training.
        self._learn(0, np.empty(0, np.int32))
        kept = time.monotonic()
        blocks = len(self.order)
        highest = DIVERGED * np.log(2) * (1 + self.settings.negatives)
        with (
            ThreadPoolExecutor(self.settings.workers) as pool,
            progress.bar(
                self.words, "train", "words", int(self.before[self.done]), show
            ) as bar,
        ):
            while self.done < blocks:
                start = time.monotonic() - self.seconds
                last = min(self.done + ROUND * self.settings.workers, blocks)
                following = range(self.done, last)
                outcomes = pool.map(self._learn, following)
                for number, (failed, report) in zip(following, outcomes, strict=True):
                    self.seconds = time.monotonic() - start
                    if failed >= 0 or report[0] > highest * report[1]:
                        shutil.rmtree(self.folder, ignore_errors=True)
                        words = self.before[number] + max(failed, 0)
                        raise Diverged(
                            f"lr: training diverged after {words:,} of {self.words:,} "
                            f"words; give a lower one than {self.settings.lr:g}"
                        )
                    self.done = number + 1
                    self.report += report
                    bar.update(int(self.before[self.done]) - bar.n)
                    if self.done % max(1, blocks // STEPS) == 0 or self.done == blocks:
                        self._add_step()
                        lr, loss = self.history[-1][2:4]
                        bar.set_description_str(
                            f"train (lr {lr:.4f}, loss {loss:.3f})", refresh=False
                        )
                if (
                    time.monotonic() - kept >= SECONDS_BETWEEN_CHECKPOINTS
                    and self.done < blocks
                ):
                    self._keep()
                    kept = time.monotonic()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _learn(
        self, number: int, lines: np.ndarray | None = None
    ) -> tuple[int, np.ndarray]:
        """Train on a block, in a thread; returns what `learn_block` does, and a report.

        The report is the sum of the loss and the number of targets.
        """
        if lines is None:
            lines = self.corpus.read(self.order[number])
        width = self.model.inputs.shape[1]
        workspace = workspace_for(
            self.corpus.longest, self.settings.negatives, width, self.method
        )
        rate = self._lr(number), self.settings.lr / self.words
        failed = learn_block(
            lines, rate, self.model, self.method, self.settings.seed, number, workspace
        )
        return failed, workspace.report

    def _lr(self, blocks: int) -> float:
        """The learning rate after so many blocks."""
        return self.settings.lr * (1 - int(self.before[blocks]) / self.words)

    def _add_step(self) -> None:
        loss = (
            float(self.report[0] / self.report[1]) if self.report[1] else float("nan")
        )
        epoch = (self.done - 1) // len(self.corpus.words) + 1
        words = int(self.before[self.done])
        step = Step(epoch, words, self._lr(self.done), loss, self.seconds)
        self.history.append(step)
        self.report[:] = 0

    # -- checkpoints -------------------------------------------------------------------

    def _restore(self) -> None:
        """Resume from the checkpoint, or start from random weights."""
        try:
            with self.checkpoint.open("rb") as stream:
                state = json.loads(stream.readline())
                for matrix in self.model:
                    stream.readinto(matrix)
        except FileNotFoundError:
            randomize(self.model.inputs, self.settings.dim, self.settings.seed)
            return
        self.done = state["done"]
        self.seconds = state["seconds"]
        self.report[:] = state["report"]
        self.history = [Step(*step) for step in state["history"]]

    def _keep(self) -> None:
        """Write the checkpoint.

        The same training in another process may write or delete it at the same time.
        """
        state = {
            "done": self.done,
            "seconds": self.seconds,
            "report": self.report.tolist(),
            "history": self.history,
        }
        with suppress(FileNotFoundError):
            self.folder.mkdir(parents=True, exist_ok=True)
            with files.replacing(self.checkpoint) as stream:
                stream.write(json.dumps(state).encode() + b"\n")
                for matrix in self.model:
                    stream.write(matrix.data)


def _order(blocks: int, settings: Settings) -> np.ndarray:
    """int64[epochs * blocks]: the blocks in the order of training.

    In variant "paper" the order is random in each epoch.
    """
    if settings.variant == "reference":
        return np.tile(np.arange(blocks), settings.epochs)
    orders = []
    for epoch in range(settings.epochs):
        rng = np.random.default_rng([settings.seed, 2, epoch])
        orders.append(rng.permutation(blocks))
    return np.concatenate(orders)


# -- what words are drawn by -----------------------------------------------------------


def method_of(dictionary: Dictionary, settings: Settings) -> Method:
    """How to choose contexts and targets; InputError if no word may be a target."""
    counts = dictionary.counts[: dictionary.n_words]
    eligible = dictionary.is_word & (counts >= settings.min_target_count)
    if not eligible.any():
        raise InputError(
            f"min_target_count: no word occurs {settings.min_target_count} times or "
            "more, the most frequent one "
            f"{counts[dictionary.is_word].max()} times; lower it"
        )
    return Method(
        word_ngrams=settings.word_ngrams,
        bucket=settings.ngram_rows,
        dropout_k=settings.dropout_k,
        dropout_probability=float(settings.dropout_probability),
        subsample_context=settings.subsample_context,
        window=settings.window,
        l1=np.float32(settings.l1),
        n_words=dictionary.n_words,
        reference=settings.variant == "reference",
        keep=keep_probabilities(dictionary, settings),
        eligible=eligible,
        negatives=negatives_table(dictionary, settings),
    )


def keep_probabilities(dictionary: Dictionary, settings: Settings) -> np.ndarray:
    """float32[n_words]: q_p of section 2.1, sqrt(t / f) + t / f.

    A value above 1 means always. In a word's frequency f its count is divided by all
    tokens of the text, which are also ends of lines, labels and words left out
    ("reference"), or by the words of the dictionary that the text has ("paper").
    """
    counts = dictionary.counts[: dictionary.n_words]
    whole = (
        dictionary.tokens
        if settings.variant == "reference"
        else counts[dictionary.is_word].sum()
    )
    frequencies = counts.astype(np.float32) / np.float32(whole)
    with np.errstate(divide="ignore"):
        ratio = settings.subsample / frequencies.astype(np.float64)
    return np.where(counts > 0, np.sqrt(ratio) + ratio, 0.0).astype(np.float32)


def negatives_table(dictionary: Dictionary, settings: Settings) -> np.ndarray:
    """int32, shuffled: each word as often as the square root of its count.

    The square root is rounded up. ``</s>`` is among the words in variant "reference",
    the placeholder in none.
    """
    roots = np.sqrt(dictionary.counts[: dictionary.n_words].astype(np.float32))
    if settings.variant == "paper":
        roots[~dictionary.is_word] = 0
    size = min(TABLE, PER_WORD * len(roots))
    copies = np.ceil(roots * np.float32(size) / roots.sum()).astype(np.int64)
    return _shuffled(copies.tobytes(), settings.seed)


@lru_cache(maxsize=TABLES)
def _shuffled(copies: bytes, seed: int) -> np.ndarray:
    repeats = np.frombuffer(copies, np.int64)
    table = np.repeat(np.arange(len(repeats), dtype=np.int32), repeats)
    np.random.default_rng([seed, 1]).shuffle(table)
    return table
