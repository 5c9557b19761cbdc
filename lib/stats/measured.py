"""Scores of embedders on items that a bootstrap resamples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pandas as pd

from lib.base.errors import InputError
from lib.base.parameters import one_of
from lib.stats.intervals import Interval, Sampling, bootstrap, clusters

DEALS = 3  # of the units into random halves

Axes = Mapping[str, Sequence[str]]


@dataclass(frozen=True, eq=False)
class Measured:
    """Scores of embedders on items that a bootstrap resamples.

    Made by `means`, `correlations` or `joined`. All embedders meet the same items, so
    that every difference of two scores is a paired one.

    Attributes
    ----------
    score : callable
        From how often each item counts, int64[items], to the scores: float64 with one
        axis for each of `axes`.
    axes : dict
        The names along each axis, in the order of the axes: ``{"condition": ["raw",
        "z"], "embedder": ["bow", ...]}``. An axis "seed", the trainings of each
        embedder, comes last: intervals cover other trainings as well.
    units : int64[items, 2]
        What a resample draws, numbered from 0: the two documents that a pair consists
        of, or one unit twice.
    sampling : Sampling
    within : (float, float), optional
        The range of the items' values, as for `bootstrap`, if the scores are means.
    """

    score: Callable[[np.ndarray], np.ndarray]
    axes: dict[str, list[str]]
    units: np.ndarray
    sampling: Sampling
    within: tuple[float, float] | None = None

    @classmethod
    def means(
        cls,
        values: np.ndarray,
        axes: Axes,
        sampling: Sampling,
        clusters: np.ndarray | None = None,
        within: tuple[float, float] | None = None,
    ) -> Measured:
        """The scores are means over the items.

        Parameters
        ----------
        values : float[items, ...]
            One axis for each of `axes` after the first.
        axes : mapping
        sampling : Sampling
        clusters : int[items] or int[items, 2], optional
            Equal for items that are not independent; of pairs of documents, both
            documents. By default every item is independent of all others.
        within : (float, float), optional
            The range of the values: see `bootstrap`. Scores that are computed of these,
            such as differences, have none.

        Raises
        ------
        InputError
            Axes that do not have the values' shape.
        """
        columns, shape = _columns(values, axes)

        def score(counts):
            means = _weighted(counts, columns) / counts.sum()
            return means.reshape(shape)

        units = _numbered(len(columns), clusters)
        return cls(score, _lists(axes), units, sampling, within)

    @classmethod
    def correlations(
        cls,
        values: np.ndarray,
        gold: np.ndarray,
        axes: Axes,
        sampling: Sampling,
        clusters: np.ndarray | None = None,
    ) -> Measured:
        """Pearson's correlations of the items' values with their gold scores.

        `gold` is float[items]. The rest as for `means`. A correlation with values that
        are all alike is NaN.
        """
        columns, shape = _columns(values, axes)

        def score(counts):
            weights = counts / counts.sum()
            centered = columns - _weighted(weights, columns)
            ratings = gold - weights @ gold
            covariance = _weighted(weights * ratings, centered)
            variances = _weighted(weights, centered**2)
            lengths = np.sqrt(variances * (weights @ ratings**2))
            chosen = counts > 0
            varies = np.ptp(columns[chosen], axis=0) > 0
            if np.ptp(gold[chosen]) == 0:
                varies[:] = False
            found = np.full(len(lengths), np.nan)
            np.divide(covariance, lengths, out=found, where=varies)
            return found.reshape(shape)

        return cls(score, _lists(axes), _numbered(len(columns), clusters), sampling)

    @classmethod
    def joined(cls, parts: Mapping[str, Measured], axis: str) -> Measured:
        """The same embedders on several sets, the names of a new first axis.

        Items of all sets are drawn alike. Raises InputError for parts whose axes
        differ.
        """
        sets = list(parts.values())
        first = sets[0]
        if any(part.axes != first.axes for part in sets):
            raise InputError(
                f"{axis}: the parts have different axes; "
                "give the same embedders and conditions in each"
            )
        borders = np.cumsum([len(part.units) for part in sets])[:-1]
        units = []
        used = 0
        for part in sets:
            units.append(part.units + used)
            used += part.units.max() + 1

        def score(counts):
            of_sets = np.split(counts, borders)
            scores = [part.score(own) for part, own in zip(sets, of_sets, strict=True)]
            return np.stack(scores)

        axes = {axis: list(parts)} | first.axes
        return cls(score, axes, np.concatenate(units), first.sampling)

    def mean(self, axis: str) -> Measured:
        """The means over an axis, such as that of the sets; the axis is dropped."""
        place = self._place(axis)
        others = {name: names for name, names in self.axes.items() if name != axis}
        return self._made(lambda scores: scores.mean(axis=place), others)

    def only(self, axis: str, names: str | Sequence[str]) -> Measured:
        """Some of the names of an axis, in the order given.

        With a single name, a str, the axis is dropped.
        """
        place = self._place(axis)
        if isinstance(names, str):
            return self.only(axis, [names]).mean(axis)
        rows = self._rows(axis, names)
        kept = self.axes | {axis: list(names)}
        return self._made(lambda scores: np.take(scores, rows, axis=place), kept)

    def ordered(self, *axes: str) -> Measured:
        """The same scores with their axes in another order."""
        places = [self._place(axis) for axis in axes]
        in_order = {axis: self.axes[axis] for axis in axes}
        return self._made(lambda scores: scores.transpose(places), in_order)

    def differences(
        self, pairs: Sequence[tuple[str, str]], axis: str = "embedder"
    ) -> Measured:
        """By how much the first name of each pair scores higher than the second.

        The names along the axis become "first - second".
        """
        place = self._place(axis)
        rows = self._rows(axis, [name for pair in pairs for name in pair])

        def difference(scores):
            higher = np.take(scores, rows[::2], axis=place)
            return higher - np.take(scores, rows[1::2], axis=place)

        names = [f"{first} - {second}" for first, second in pairs]
        return self._made(difference, self.axes | {axis: names})

    def gains(self, baseline: str, axis: str = "embedder") -> Measured:
        """The relative gain of each name of an axis over `baseline`."""
        place = self._place(axis)
        row = self._rows(axis, [baseline])

        def gain(scores):
            return scores / np.take(scores, row, axis=place) - 1

        return self._made(gain, self.axes)

    def estimate(self) -> np.ndarray:
        """The scores on all items as they are, the mean over seeds."""
        once = np.ones(len(self.units), np.int64)
        scores = self.score(once)
        return scores.mean(axis=-1) if "seed" in self.axes else scores

    def interval(
        self,
        statistic: Callable[[np.ndarray], np.ndarray] | None = None,
        method: str = "normal",
        holm: bool = False,
    ) -> Interval:
        """The interval of a statistic of the scores, by default the scores themselves.

        `statistic` keeps the last axis if that is "seed". `method` and `holm` are those
        of `bootstrap`; percentiles of a family take as many draws as it needs
        (`Sampling.for_family`).
        """

        def value(drawn):
            scores = self.score(self.counts(drawn))
            return scores if statistic is None else statistic(scores)

        seeds = "seed" in self.axes
        sampling = self.sampling
        if holm and method == "percentile":
            found = value(np.arange(self.units.max() + 1))
            members = found[..., 0] if seeds else found
            sampling = sampling.for_family(np.size(members))
        options = {"method": method, "holm": holm, "seeds": seeds}
        if statistic is None:
            options["within"] = self.within
        return self._bootstrap(value, sampling=sampling, **options)

    def contrast(
        self,
        first: str | Sequence[str],
        second: str | Sequence[str],
        axis: str = "embedder",
        method: str = "normal",
        holm: bool = False,
    ) -> Interval:
        """By how much one name of an axis scores higher than another, paired.

        Two names are compared, and the axis is dropped. Two lists are compared name by
        name, and the axis holds the pairs.
        """
        if isinstance(first, str):
            gap = self.differences([(first, second)], axis).mean(axis)
        else:
            gap = self.differences(list(zip(first, second, strict=True)), axis)
        return gap.interval(method=method, holm=holm)

    def halves(
        self,
        statistic: Callable[[np.ndarray, np.ndarray], np.ndarray],
        method: str = "normal",
    ) -> Interval:
        """The interval of ``statistic(a, b)`` of scores on two random halves.

        The halves are of the units, and the interval is the mean over three deals. What
        is chosen on one half is measured on the other: neither half's noise counts as a
        difference.
        """
        rng = np.random.default_rng(self.sampling.seed)
        total = self.units.max() + 1
        deals = [rng.permutation(total) % 2 for _ in range(DEALS)]

        def value(drawn):
            found = []
            for deal in deals:
                in_b = deal[drawn] == 1
                a = self.score(self.counts(drawn[~in_b]))
                b = self.score(self.counts(drawn[in_b]))
                found += [statistic(a, b), statistic(b, a)]
            return np.mean(found, axis=0)

        return self._bootstrap(value, method=method, sampling=self.sampling)

    def table(self, method: str = "normal") -> pd.DataFrame:
        """A row for each score: its names, value, low, high, constant.

        The names are in one column for each axis except "seed".
        """
        axes = {name: names for name, names in self.axes.items() if name != "seed"}
        rows = product(*axes.values())
        table = self.interval(method=method).table(rows, tuple(axes))
        return table.reset_index()

    def _made(self, function: Callable, axes: dict[str, list[str]]) -> Measured:
        """What a function makes of the scores."""

        def score(counts):
            return function(self.score(counts))

        return replace(self, score=score, axes=axes, within=None)

    def counts(self, drawn: np.ndarray) -> np.ndarray:
        """How often each item counts where some units are drawn, int64[items].

        A pair counts as often as both of its units were drawn together.
        """
        times = np.bincount(drawn, minlength=self.units.max() + 1)
        one, other = self.units.T
        return np.where(one == other, times[one], times[one] * times[other])

    def _bootstrap(self, statistic: Callable, **options: object) -> Interval:
        units = np.arange(self.units.max() + 1)
        return bootstrap(statistic, units, **options)

    def _place(self, axis: str) -> int:
        return list(self.axes).index(one_of("axis", axis, self.axes))

    def _rows(self, axis: str, names: Sequence[str]) -> list[int]:
        known = self.axes[axis]
        return [known.index(one_of(axis, name, known)) for name in names]


def _weighted(weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The weighted sum of each column.

    Equal columns have equal sums, which `@` does not guarantee.
    """
    return np.einsum("i,ij->j", weights, columns)


def _columns(values: np.ndarray, axes: Axes) -> tuple[np.ndarray, tuple[int, ...]]:
    """The values as float64[items, columns], and the shape of an item's values."""
    values = np.asarray(values, np.float64)
    shape = tuple(len(names) for names in axes.values())
    if values.shape[1:] != shape:
        raise InputError(
            f"values: have shape {values.shape}; "
            f"give (items, {', '.join(map(str, shape))})"
        )
    return values.reshape(len(values), -1), shape


def _lists(axes: Axes) -> dict[str, list[str]]:
    return {axis: list(names) for axis, names in axes.items()}


def _numbered(items: int, given: np.ndarray | None) -> np.ndarray:
    """int64[items, 2]: the two units of each item, numbered from 0.

    Where there is only one, it is given twice.
    """
    units = np.arange(items)
    if given is not None:
        units = np.asarray(given)
    if units.ndim == 1:
        unit = clusters(units)
        units = np.stack([unit, unit], axis=1)
    _, numbers = np.unique(units, return_inverse=True)
    return numbers.reshape(-1, 2)
