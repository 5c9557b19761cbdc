"""What embedders answer in exams: scores with intervals, averages, and differences.

All embedders sit the same exams, and resamples are drawn once for all, so that differences have intervals of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lib import stats
from lib.embedders.base import Embedder
from lib.exams import Exam, RatedPairs, pearson
from lib.run import progress
from lib.run.errors import InputError
from lib.run.parameters import one_of

FITTED_ON = ("set", "sides")
STS = "STS 2012-2015"


@dataclass(eq=False)
class Results:
    """What embedders have answered.

    Attributes
    ----------
    exams : list of Exam
    answers : for each exam in turn float64[items, embedders]
    names : list of str, the embedders in the columns' order
    """

    exams: list[Exam]
    answers: list[np.ndarray]
    names: list[str]

    def groups(self) -> dict[str, Results]:
        """The results by task; the years of STS, over whose files the paper averages, are one group."""
        labels = [STS if exam.task.startswith("STS1") else exam.task for exam in self.exams]
        places = {label: [i for i, other in enumerate(labels) if other == label] for label in labels}
        return {label: self._only(some) for label, some in places.items()}

    def _only(self, places: list[int]) -> Results:
        return Results([self.exams[i] for i in places], [self.answers[i] for i in places], self.names)

    def table(self) -> pd.DataFrame:
        """Scores: rows embedders, columns exams."""
        columns = {
            exam.name: exam.scores(found, np.ones((1, len(exam))))[0]
            for exam, found in zip(self.exams, self.answers, strict=True)
        }
        return pd.DataFrame(columns, index=self.names)

    def resampled(self, rng: np.random.Generator, repetitions: int) -> np.ndarray:
        """float64[repetitions, embedders, exams]: the scores of each resample, one drawing for all embedders.

        Resamples that leave nothing to correlate (a few pairs, over and over) do not count: there may be fewer.
        Raises InputError if none is left.
        """
        both = zip(self.exams, self.answers, strict=True)
        drawn = np.stack([exam.scores(found, exam.draws(rng, repetitions)) for exam, found in both], axis=2)
        usable = np.isfinite(drawn).all(axis=(1, 2))
        if not usable.any():
            raise InputError("repetitions: no resample has two different scores; give sets with more pairs")
        return drawn[usable]

    def averages(self) -> pd.DataFrame:
        """The three averages over the files of each task of rated pairs.

        Returns
        -------
        DataFrame with columns embedder, task, files, pairs, mean_of_files (every file counts once, as in the paper),
        weighted (by its pairs), pooled (one correlation over all pairs of the task)
        """
        rows = []
        for task in dict.fromkeys(exam.task for exam in self.exams if isinstance(exam, RatedPairs)):
            part = self._only([i for i, exam in enumerate(self.exams) if exam.task == task])
            gold, files = np.concatenate([exam.gold for exam in part.exams]), part.table()
            pooled = pearson(np.concatenate(part.answers), gold, np.ones((1, len(gold))))[0]
            sizes = [len(exam) for exam in part.exams]
            averages = files.mean(axis=1), np.average(files, axis=1, weights=sizes), pooled
            named = zip(self.names, *averages, strict=True)
            rows += [(name, task, len(sizes), len(gold), *values) for name, *values in named]
        labels = ["embedder", "task", "files", "pairs", "mean_of_files", "weighted", "pooled"]
        return pd.DataFrame(rows, columns=labels)


def sit(
    embedders: Mapping[str, Embedder],
    exams: Sequence[Exam],
    fitted_on: str | Sequence[str] = "set",
    show_progress_bar: bool = True,
) -> Results:
    """Have embedders answer exams.

    Parameters
    ----------
    embedders : by the names that tables show
    fitted_on : what they learn from text they learn from each exam's own sentences ("set": the paper's use, and a
        transductive one), from the left and the right sides of its pairs each for itself ("sides"), or from these
        sentences
    """
    if isinstance(fitted_on, str):
        one_of("fitted_on", fitted_on, FITTED_ON)
    columns: list[list[np.ndarray]] = [[] for _ in exams]
    for embedder in progress.track(list(embedders.values()), "exams", unit="embedders", show=show_progress_bar):
        for column, exam in zip(columns, exams, strict=True):
            column.append(exam.answers(embedder, fitted_on))
    return Results(list(exams), [np.column_stack(column) for column in columns], list(embedders))


def together(parts: Sequence[Results]) -> Results:
    """Results of the same exams, one beside the other."""
    answers = [np.hstack(columns) for columns in zip(*(part.answers for part in parts), strict=True)]
    return Results(parts[0].exams, answers, [name for part in parts for name in part.names])


def summary(results: Results, rng: np.random.Generator, repetitions: int, confidence: float) -> pd.DataFrame:
    """Scores with intervals, a row for each embedder and exam: embedder, exam, measure, items, score, low, high."""
    low, high = stats.percentiles(results.resampled(rng, repetitions), confidence)
    table = results.table().to_numpy()
    rows = [
        (name, exam.name, exam.measure, len(exam), table[i, j], low[i, j], high[i, j])
        for j, exam in enumerate(results.exams)
        for i, name in enumerate(results.names)
    ]
    return pd.DataFrame(rows, columns=["embedder", "exam", "measure", "items", "score", "low", "high"])


def group_means(results: Results, rng: np.random.Generator, repetitions: int, confidence: float) -> pd.DataFrame:
    """The mean score over the exams of each group (`Results.groups`): columns embedder, group, mean, low, high."""
    return _by_group(results, lambda scores: scores, rng, repetitions, confidence)


def group_differences(
    results: Results, base: str, rng: np.random.Generator, repetitions: int, confidence: float, relative: bool = False
) -> pd.DataFrame:
    """How much higher than `base` each embedder scores on the mean over the exams of each group; as `group_means`.

    Both are resampled together, so that the interval is one of the difference. With `relative`, differences are shares
    of the base's mean score.
    """
    place = results.names.index(one_of("base", base, results.names))

    def compare(scores: np.ndarray) -> np.ndarray:
        own = scores[:, [place]]
        return scores / own - 1 if relative else scores - own

    return _by_group(results, compare, rng, repetitions, confidence)


def _by_group(
    results: Results,
    derive: Callable[[np.ndarray], np.ndarray],
    rng: np.random.Generator,
    repetitions: int,
    confidence: float,
) -> pd.DataFrame:
    """What is derived from mean scores, float[r, embedders], with its interval."""
    parts = []
    for label, group in results.groups().items():
        found = derive(group.table().to_numpy().mean(axis=1)[None])[0]
        drawn = derive(group.resampled(rng, repetitions).mean(axis=2))
        low, high = stats.percentiles(drawn, confidence)
        columns = {"embedder": group.names, "group": label, "mean": found, "low": low, "high": high}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)
