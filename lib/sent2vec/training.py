"""Training Sent2Vec: one pass counts words, one numbers them, then come epochs in threads without locks (Hogwild)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from lib.run import paths, progress
from lib.run.errors import InputError
from lib.sent2vec import kernels, matrices
from lib.sent2vec.checkpoints import Checkpoint
from lib.sent2vec.contexts import Recipe
from lib.sent2vec.corpus_ids import CorpusIds, Text
from lib.sent2vec.dictionary import Dictionary
from lib.sent2vec.settings import Settings
from lib.sent2vec.tables import targets_of

STEPS = 200  # about as many entries has a history
ROUND = 256  # blocks for each thread between two chances of a checkpoint
SECONDS_BETWEEN_CHECKPOINTS = 600.0
# A mean loss of as many times what chance has, log 2 for each word scored, comes from weights that only grow.
DIVERGED = 10.0


class Step(NamedTuple):
    """A point in the history of a training.

    Attributes
    ----------
    epoch : from 1
    words : words trained on so far, over all epochs
    lr : learning rate
    loss : the paper's objective for a target and its negatives, mean over the targets since the step before; NaN if
        there were none
    seconds : that training has taken, without the two passes before it; differs from run to run
    """

    epoch: int
    words: int
    lr: float
    loss: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Trained:
    """What a training made.

    Attributes
    ----------
    dictionary : Dictionary
    input_matrix : float32[n_words + n-gram rows + 1, dim]; the last row is never trained, as in the program's files
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
    checkpoint: Path | None = None,
    show_progress_bar: bool = False,
    log: Callable[[Step], None] | None = None,
    seconds_between_checkpoints: float = SECONDS_BETWEEN_CHECKPOINTS,
) -> Trained:
    """Train on a text. With one thread the result depends on text and settings only, to the last bit.

    Parameters
    ----------
    source : sentences, or the path of a file with one a line, which may be compressed by gzip
    settings : Settings
    checkpoint : a file that the training is written to from time to time and at its end. If it is there, training goes
        on from it; it must come from the same text and settings (the number of threads may differ). It is as large as
        both matrices, and it stays: delete it when the model is saved.
    show_progress_bar : bool
    log : called with each new entry of the history
    seconds_between_checkpoints : float

    Raises
    ------
    InputError
        For a text that no model can be trained on, for a checkpoint of another training, and when the training
        diverges; the last checkpoint is kept then.
    """
    text = Text(source)
    lines = text.lines("count words", show_progress_bar)
    dictionary = Dictionary.build(lines, settings.min_count, settings.min_target_count, settings.max_vocabulary)
    with CorpusIds(text.lines("number words", show_progress_bar), dictionary, paths.CACHE) as corpus:
        if not len(corpus.words):
            raise InputError("sentences: none has two words that occur min_count times; give more text, or lower it")
        vars(dictionary).pop("index", None)  # some 100 MB for a million words; it comes back when it is needed
        training = _Training(dictionary, corpus, settings)
        file = Checkpoint(checkpoint, settings, corpus.digest) if checkpoint else None
        with file.alone() if file else nullcontext():
            training.restore(file)
            training.run(file, seconds_between_checkpoints, show_progress_bar, log)
    return training.result()


class _Training:
    """A training at some block: all of its state, and how it goes on."""

    def __init__(self, dictionary: Dictionary, corpus: CorpusIds, settings: Settings) -> None:
        self.dictionary, self.corpus, self.settings = dictionary, corpus, settings
        self.targets, self.recipe = targets_of(dictionary, settings), _recipe(dictionary, settings)
        rows = dictionary.n_words + settings.ngram_rows + 1
        inputs = matrices.padded(rows, settings.dim)
        self.model = kernels.Model(inputs, matrices.padded(dictionary.n_words, settings.dim))
        self.blocks, self.words = len(corpus.words) * settings.epochs, int(corpus.words.sum()) * settings.epochs
        self.done, self.words_done, self.seconds = 0, 0, 0.0
        self.report = np.zeros(2)  # the sum of the loss and the number of targets since the last step
        self.history: list[Step] = []

    def restore(self, file: Checkpoint | None) -> None:
        """Go to where a checkpoint stands, or to the beginning."""
        if file is None or not file.exists():
            matrices.randomize(self.model.inputs, self.settings.dim, self.settings.seed)
            return
        state = file.read(self.model)
        self.done, self.words_done, self.seconds = state["blocks"], state["words"], state["seconds"]
        self.report[:], self.history = state["report"], [Step(*step) for step in state["history"]]

    def result(self) -> Trained:
        inputs, outputs = (matrices.packed(matrix, self.settings.dim) for matrix in self.model)
        return Trained(self.dictionary, inputs, outputs, self.history)

    # -- going on -------------------------------------------------------------------------------

    def run(self, file: Checkpoint | None, interval: float, show: bool, log: Callable[[Step], None] | None) -> None:
        """Train to the end, with a checkpoint each `interval` seconds and after the last block."""
        rooms, written = self._rooms(), time.monotonic()
        with (
            ThreadPoolExecutor(self.settings.threads) as pool,
            progress.bar(self.words, "train", "words", self.words_done, show) as bar,
        ):
            while self.done < self.blocks:
                start = time.monotonic() - self.seconds
                for job, failed, report in pool.map(lambda job: self._learn(rooms, job), self._round()):
                    self._note(job, failed, report, bar)
                    self.seconds = time.monotonic() - start
                    self._log(bar, log)
                if self.done == self.blocks or time.monotonic() - written >= interval:
                    self._check(all(matrices.is_finite(matrix) for matrix in self.model), self.words_done)
                    self._write(file)
                    written = time.monotonic()

    def _round(self) -> Iterator[_Job]:
        """The blocks until the next chance of a checkpoint."""
        before = self.words_done
        for number in range(self.done, min(self.done + ROUND * self.settings.threads, self.blocks)):
            epoch, block = divmod(number, len(self.corpus.words))
            if self.settings.variant == "paper":
                block = int(_order(self.settings.seed, epoch, len(self.corpus.words))[block])
            yield _Job(number, block, before)
            before += int(self.corpus.words[block])

    def _rooms(self) -> SimpleQueue[kernels.Room]:
        """A room for each thread."""
        rooms: SimpleQueue[kernels.Room] = SimpleQueue()
        width = self.model.inputs.shape[1]
        for _ in range(self.settings.threads):
            room = kernels.furnish(self.corpus.longest, self.settings.negatives, width, self.recipe)
            self._call(np.empty(0, np.int32), (0.0, 0.0), 0, room)  # compiles, which is not time spent training
            rooms.put(room)
        return rooms

    def _learn(self, rooms: SimpleQueue[kernels.Room], job: _Job) -> tuple[_Job, int, np.ndarray]:
        """Train on a block, in a thread."""
        room, lines = rooms.get(), self.corpus.read(job.block)
        room.report[:] = 0
        rate = self._lr(job.before), self.settings.lr / self.words
        try:
            return job, self._call(lines, rate, job.number, room), room.report.copy()
        finally:
            rooms.put(room)

    def _call(self, lines: np.ndarray, rate: tuple[float, float], stream: int, room: kernels.Room) -> int:
        l1, seed = float(self.settings.l1), self.settings.seed
        return kernels.learn_block(lines, rate, l1, self.model, self.recipe, self.targets, seed, stream, room)

    def _lr(self, words: int) -> float:
        return self.settings.lr * (1 - words / self.words)

    # -- what comes of it -----------------------------------------------------------------------

    def _note(self, job: _Job, failed: int, report: np.ndarray, bar: tqdm) -> None:
        """Count a block. Blocks come in order, however many threads there are."""
        worst = DIVERGED * np.log(2) * (1 + self.settings.negatives)
        self._check(failed < 0 and report[0] <= worst * report[1], job.before + max(failed, 0))
        self.done, words = job.number + 1, int(self.corpus.words[job.block])
        self.words_done += words
        self.report += report
        bar.update(words)

    def _log(self, bar: tqdm, log: Callable[[Step], None] | None) -> None:
        """Add to the history if it is time."""
        if self.done % max(1, self.blocks // STEPS) and self.done < self.blocks:
            return
        epoch = (self.done - 1) // len(self.corpus.words) + 1
        loss = float(self.report[0] / self.report[1]) if self.report[1] else float("nan")
        step = Step(epoch, self.words_done, self._lr(self.words_done), loss, self.seconds)
        self.history.append(step)
        self.report[:] = 0
        bar.set_description_str(f"train (lr {step.lr:.4f}, loss {loss:.3f})", refresh=False)
        if log:
            log(step)

    def _check(self, fine: bool, words: int) -> None:
        if not fine:
            epoch = min(words * self.settings.epochs // self.words + 1, self.settings.epochs)
            raise InputError(
                f"lr: training diverged in epoch {epoch} of {self.settings.epochs}, after {words:,} of {self.words:,} "
                f"words; give a lower one than {self.settings.lr:g} (a checkpoint made before is kept)"
            )

    def _write(self, file: Checkpoint | None) -> None:
        if file:
            state = {"blocks": self.done, "words": self.words_done, "seconds": self.seconds}
            file.write(state | {"report": self.report.tolist(), "history": self.history}, self.model)


class _Job(NamedTuple):
    """A block to train on: its number over all epochs, its place in the text, and the words trained on before it."""

    number: int
    block: int
    before: int


def _recipe(dictionary: Dictionary, settings: Settings) -> Recipe:
    return Recipe(
        word_ngrams=settings.word_ngrams,
        n_words=dictionary.n_words,
        bucket=settings.ngram_rows,
        placeholder=settings.variant == "reference",
        dropout_k=settings.dropout_k,
        dropout_probability=float(settings.dropout_probability),
    )


@lru_cache(maxsize=2)
def _order(seed: int, epoch: int, blocks: int) -> np.ndarray:
    """Variant "paper": the blocks in the order of an epoch."""
    return np.random.default_rng([seed, 2, epoch]).permutation(blocks)
