"""Sets of rated pairs, split so that a similarity can be learned on them; beside it the cosine, which learns nothing.

"Pitfalls in the Evaluation of Sentence Embeddings", section 3, figure 2 (STSBench). `lib.similarity` has the measures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import similarity, tasks
from lib.embedders.base import Embeddings, stack
from lib.evaluation import Encode
from lib.exams import RatedPairs
from lib.pitfalls import ucp_table
from lib.pitfalls.transfer_study import Resamples
from lib.run import progress
from lib.run.errors import InputError
from lib.run.parameters import one_of
from lib.run.processes import in_processes
from lib.similarity import Pairs, correlations, similarities
from lib.tasks import PairTask

OFFICIAL = ("STSBenchmark", "SICK-R")  # come with train, dev and test
PARTS = 5  # that items are dealt into, where a set has all pairs of some items
COSINE, LEARNED = "cosine", "learned"
NORMALIZED, CHOSEN = ", normalized", ", chosen"
ALIKE = 1e-9  # similarities that differ by less differ by rounding

Split = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows of train, dev and test


@dataclass(frozen=True, eq=False)
class RatedSet:
    """Rated pairs and their splits.

    Attributes
    ----------
    name : str, as tables show it
    parts : PairTask, as many as the set comes in; each is encoded by one call
    splits : one or more triples of rows, over all parts one after the other; no row is in two tests
    ids : int[n, 2], the items of each pair, where pairs share items; else None
    """

    name: str
    parts: Sequence[PairTask]
    splits: Sequence[Split]
    ids: np.ndarray | None = None

    @property
    def title(self) -> str:
        """The name of the set without its splits, for figures."""
        return self.name.partition(",")[0]

    @cached_property
    def gold(self) -> np.ndarray:
        """The gold scores of all pairs, float64[n]."""
        return np.concatenate([part.score for part in self.parts])

    @property
    def tested(self) -> np.ndarray:
        """The rows that are tested, int64, split after split."""
        return np.concatenate([test for _, _, test in self.splits])

    @cached_property
    def exams(self) -> list[RatedPairs]:
        """The tested pairs of each split, whose resamples draw items where pairs share them."""
        return [self._exam(test) for _, _, test in self.splits]

    def _exam(self, rows: np.ndarray) -> RatedPairs:
        left, right = ([s for part in self.parts for s in getattr(part, side)] for side in ("left", "right"))
        ids = None if self.ids is None else np.unique(self.ids[rows], return_inverse=True)[1].reshape(-1, 2)
        sides = ([side[i] for i in rows] for side in (left, right))
        return RatedPairs(self.name, self.name, *sides, self.gold[rows], ids)

    def encode(self, encode: Encode) -> tuple[Embeddings, Embeddings]:
        """The embeddings of both sides of all pairs."""
        sides = zip(*(ucp_table.sides(encode(ucp_table.texts_of(part)), part) for part in self.parts), strict=True)
        return tuple(stack(side) for side in sides)


def load_all(names: Sequence[str], seed: int = 0) -> tuple[list[RatedSet], dict[str, str]]:
    """Those of some sets of rated pairs that a similarity can be learned on; and the others, each with the reason."""
    found, left_out = [], {}
    for name in names:
        if name in OFFICIAL:
            parts = [tasks.load(name, split) for split in ("train", "dev", "test")]
            ends = np.cumsum([0, *map(len, parts)])
            found.append(RatedSet(name, parts, [tuple(np.arange(a, b) for a, b in pairwise(ends))]))
        elif name == "Lee":
            found.append(by_items(f"Lee, {PARTS} splits by documents", tasks.load(name), seed))
        else:
            left_out[name] = "it has no training split"
    return found, left_out


def by_items(name: str, task: PairTask, seed: int, parts: int = PARTS) -> RatedSet:
    """All pairs of some items, split by items: each of `parts` in turn is for testing, the next for choosing.

    A pair of items of different splits is in none, so that no item that is tested has been trained on.

    Raises InputError for fewer than three items a part, which have too few pairs.
    """
    ids = np.array(task.ids)
    items = int(ids.max()) + 1
    if parts < 3 or items < 3 * parts:
        raise InputError(f"parts: {parts} is not accepted for {items} items; give 3 or more, with 3 items each")
    part = np.random.default_rng(seed).permutation(items) % parts
    splits = []
    for test in range(parts):
        dev = (test + 1) % parts
        kind = np.select([part == test, part == dev], [2, 1], 0)[ids]
        splits.append(tuple(np.flatnonzero((kind == wanted).all(axis=1)) for wanted in (0, 1, 2)))
    return RatedSet(name, [task], splits, ids)


@dataclass(frozen=True, eq=False)
class Ratings:
    """What each embedder says of the tested pairs of a set, under each condition.

    Pearson's and Spearman's correlations are means over splits, for predictions of different splits share no scale.

    Attributes
    ----------
    rated : RatedSet
    predicted : for each condition float64[tested pairs, embedders]; cosines in [-1, 1], else on the gold scale
    embedders : names, in the order of the columns
    chose : for each embedder the share of splits in which dev chose to normalize
    warnings : for each embedder the fits that did not converge
    left_out : embedders from which nothing could be learned, each with the reason
    """

    rated: RatedSet
    predicted: Mapping[str, np.ndarray]
    embedders: list[str]
    chose: pd.Series
    warnings: pd.Series
    left_out: Mapping[str, str]

    def table(self, draws: Resamples) -> pd.DataFrame:
        """A row an embedder and condition: set, embedder, condition, pearson, low, high, spearman, mse.

        The interval is Pearson's. `mse` is on the gold scale, and NaN for cosines, which have another.
        """
        names, gold, tables = list(self.predicted), self.rated.gold[self.rated.tested], []
        low, high = draws.interval(self._resampled(names, draws))
        for i, condition in enumerate(names):
            columns = self.predicted[condition]
            table = pd.DataFrame({"set": self.rated.name, "embedder": self.embedders, "condition": condition})
            table["pearson"], table["spearman"] = (self._scores(condition, one) for one in ("pearson", "spearman"))
            table["low"], table["high"] = low[i], high[i]
            learned = condition.startswith(LEARNED)
            table["mse"] = [similarity.mean_squared_error(c, gold) if learned else np.nan for c in columns.T]
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def differences(self, first: str, second: str, draws: Resamples) -> pd.DataFrame:
        """By how much Pearson's correlation is higher under the first condition, times 100.

        Returns
        -------
        DataFrame indexed by embedder with columns mean (the difference), low, high; pairs are drawn once for both
        """
        both = self._resampled([first, second], draws)
        low, high = draws.interval(both[:, 0] - both[:, 1])
        mean = self._scores(first, "pearson") - self._scores(second, "pearson")
        return 100 * pd.DataFrame({"mean": mean, "low": low, "high": high}, index=self.embedders)

    @property
    def error_of_the_mean(self) -> float:
        """The mean squared error of who predicts, for all pairs, the mean gold score of the training pairs."""
        gold = self.rated.gold
        errors = [(gold[test] - gold[train].mean()) ** 2 for train, _, test in self.rated.splits]
        return float(np.concatenate(errors).mean())

    def _by_split(self, condition: str) -> list[np.ndarray]:
        predicted = self.predicted[one_of("condition", condition, self.predicted)]
        return np.split(predicted, np.cumsum([len(exam) for exam in self.rated.exams])[:-1])

    def _scores(self, condition: str, measure: str) -> np.ndarray:
        """float64[embedders], mean over splits."""
        parts = zip(self._by_split(condition), self.rated.exams, strict=True)
        return np.mean([[correlations(c, exam.gold)[measure] for c in columns.T] for columns, exam in parts], axis=0)

    def _resampled(self, conditions: Sequence[str], draws: Resamples) -> np.ndarray:
        """Pearson's correlation, float64[r, conditions, embedders], in the resamples in which all have one."""
        rng, total = draws.rng, 0.0
        by_split = zip(self.rated.exams, *map(self._by_split, conditions), strict=True)
        for exam, *parts in by_split:
            total = total + exam.scores(np.hstack(parts), exam.draws(rng, draws.repetitions))
        found = total / len(self.rated.splits)
        return found[~np.isnan(found).any(axis=1)].reshape(-1, len(conditions), len(self.embedders))


def evaluate(
    encoders: Mapping[str, Encode],
    rated: RatedSet,
    method: str = "ridge",
    workers: int = 0,
    show_progress_bar: bool = True,
) -> Ratings:
    """The cosine and a learned similarity of every embedder, each as it is and normalized, and the latter as chosen.

    Cosines are normalized over all pairs of the set, as in the paper's footnote 1 (a split of Lee tests ten texts only,
    too few for that); learned similarities by means and deviations of the training pairs. What is chosen is chosen by
    dev.

    Parameters
    ----------
    method, workers : as for `similarity.regress`, `transfer_study.evaluate`

    Raises InputError if nothing can be learned from any of the embedders.
    """
    jobs = ((rated, *rated.encode(encode), method) for encode in encoders.values())
    found: dict[str, _Predicted] = {}
    left_out: dict[str, str] = {}
    with progress.bar(len(encoders), rated.name, unit="embedders", show=show_progress_bar) as bar:
        for name, each in zip(encoders, in_processes(_predict, jobs, workers), strict=True):
            if isinstance(each, str):
                left_out[name] = each
            else:
                found[name] = each
            bar.update(1)
    if not found:
        raise InputError(f"{rated.name}: nothing can be learned from any embedder; {next(iter(left_out.values()))}")
    names = list(found)
    predicted = {key: np.column_stack([found[name].said[key] for name in names]) for key in found[names[0]].said}
    chose, warnings = (pd.Series([getattr(found[name], key) for name in names], names) for key in ("chose", "warnings"))
    return Ratings(rated, predicted, names, chose, warnings, left_out)


class _Predicted(NamedTuple):
    """Of one embedder: for each condition what is said of the tested pairs; else as in `Ratings`."""

    said: dict[str, np.ndarray]
    chose: float
    warnings: int


def _predict(rated: RatedSet, left: Embeddings, right: Embeddings, method: str) -> _Predicted | str:
    """All splits; or why there is nothing to be learned."""
    try:
        cosines = {COSINE: similarities(left, right), COSINE + NORMALIZED: similarities(left, right, "z")}
        splits = [_of_split(rated, rows, left, right, method, cosines) for rows in rated.splits]
    except InputError as error:
        return str(error)
    said = {name: np.concatenate([split.said[name] for split in splits]) for name in splits[0].said}
    return _Predicted(said, float(np.mean([split.chose for split in splits])), sum(split.warnings for split in splits))


def _of_split(
    rated: RatedSet, rows: Split, left: Embeddings, right: Embeddings, method: str, cosines: Mapping[str, np.ndarray]
) -> _Predicted:
    train, dev, test = (Pairs(left[some], right[some], rated.gold[some]) for some in rows)
    plain, normalized = (similarity.regress(train, dev, test, method=method, normalize=(z,)) for z in (False, True))
    better = normalized.dev_pearson > plain.dev_pearson  # of equals the first, as `regress` would
    said = {name: values[rows[-1]] for name, values in cosines.items()} | {
        LEARNED: plain.predicted,
        LEARNED + NORMALIZED: normalized.predicted,
        LEARNED + CHOSEN: (normalized if better else plain).predicted,
    }
    for name, values in said.items():
        if np.ptp(values) < ALIKE:
            raise InputError(f"{name}: the same for all {len(values)} tested pairs")
    return _Predicted(said, float(better), plain.convergence_warnings + normalized.convergence_warnings)
