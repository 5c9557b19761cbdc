"""Study 7, figure 1: accuracy over the number of dimensions, when nothing else changes.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019), section 3, "Size matters".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from lib.corpora import Corpus
from lib.run.errors import InputError
from lib.stats import Interval, Sampling
from lib.studies.orders import UNMEASURED, Found, defined, joined
from lib.studies.transfer import SIMPLE, Results, Task, encoder

TRAINED, TURNED = "word2vec, trained at each size", "the smallest, turned"
PROJECTED, CONCATENATED = "GloVe, random projections", "GloVe, poolings and sets side by side"


@dataclass(frozen=True, eq=False)
class Line:
    """Embedders of one kind at several sizes.

    Attributes
    ----------
    sizes : list of int
    encoders : list of list
        What encodes, for each size and seed.
    names : str[sizes, seeds]
        Of the results.
    """

    kind: str
    sizes: Sequence[int]
    encoders: Sequence[Sequence[Callable]]

    @property
    def names(self) -> np.ndarray:
        """str[sizes, seeds]: what the results of each are called."""
        return np.array([[f"{self.kind} {d} {i}" for i in range(len(self.encoders[0]))] for d in self.sizes])


def lines(sizes: Sequence[int], corpus: Corpus, sentences: int, epochs: int, seeds: int) -> dict[str, Line]:
    """Four ways to larger vectors, by kind; word2vec learns from so many sentences of the corpus (0 for all).

    Averages of GloVe are put beside their maxima and minima, and then beside those of word2vec (Rücklé et al. 2018);
    a random projection takes the maximum over words (Wieting and Kiela 2019).

    Raises InputError for fewer than four sizes, or an odd one after the first, which projections do not have.
    """
    if len(sizes) < 4 or any(size % 2 for size in sizes[1:]):
        raise InputError(f"sizes: {sizes} is not accepted; give four or more, even after the first")
    drawn = np.random.default_rng(0).permutation(len(corpus))[: sentences or None]
    text = [corpus.sentences[i] for i in np.sort(drawn).tolist()]
    each = range(1, seeds + 1)
    trained = [[encoder(f"w2v-corpus-{d}d", text, epochs=epochs, seed=s) for s in each] for d in sizes]
    projected = [[encoder(f"glove-6b-50d+borep-{d}d", corpus, seed=s) for s in each] for d in sizes[1:]]
    room = [[turned(encode, sizes[-1], s) for s, encode in zip(each, trained[0], strict=True)]]
    beside = {50: "glove-6b-50d", 150: "glove-6b-50d+power-means", 450: "glove-6b-50d+w2v-corpus+power-means"}
    found = [
        Line(TRAINED, sizes, trained),
        Line(TURNED, sizes[-1:], room),
        Line(PROJECTED, sizes[1:], projected),
        Line(CONCATENATED, list(beside), [[encoder(name, corpus)] for name in beside.values()]),
    ]
    return {line.kind: line for line in found}


def size_jobs(of_lines: Mapping[str, Line], chosen: Mapping, mlp: Mapping) -> dict[str, tuple]:
    """Jobs of `evaluate`; the perceptron for the smallest and the largest of those that are trained."""
    found = {}
    for kind, line in of_lines.items():
        for size, names, encoders in zip(line.sizes, line.names, line.encoders, strict=True):
            ends = kind == TRAINED and size in (line.sizes[0], line.sizes[-1])
            conditions = {"chosen": chosen} | ({"mlp": mlp} if ends else {})
            found |= {name: (encode, conditions) for name, encode in zip(names, encoders, strict=True)}
    return found


def by_size(results: Results, condition: str, names: np.ndarray) -> np.ndarray:
    """float32[n, sizes, seeds] of embedders whose names are an array [sizes, seeds]."""
    return results.columns([condition], names.ravel())[:, 0].reshape(-1, *names.shape)


def _over_seeds(results: Results, statistic: Callable, columns: np.ndarray, sampling: Sampling, **options: Any):
    """The interval over sentences and, where there are several, seeds, which are the statistic's last axis."""
    if columns.shape[-1] > 1:
        return results.interval(statistic, columns, sampling, seeds=True, **options)
    return results.interval(lambda a: statistic(a)[..., 0], columns, sampling, **options)


def curve(results: Results, line: Line, sampling: Sampling) -> pd.DataFrame:
    """Mean accuracy at each size with its interval over sentences and seeds, indexed by size."""
    columns = by_size(results, "chosen", line.names)
    found = _over_seeds(results, lambda a: a.mean(axis=0), columns, sampling)
    return pd.DataFrame(dict(zip(("value", "low", "high"), found, strict=True)), index=list(line.sizes))


def growth(results: Results, line: Line, sampling: Sampling) -> tuple[Interval, Interval, Interval]:
    """Rise, slope contrast (lower half of sizes less upper half) and bends (minus each second difference) by size."""
    columns = by_size(results, "chosen", line.names)
    steps = np.diff(line.sizes)[:, None]

    def rise(a: np.ndarray) -> np.ndarray:
        return a.mean(axis=0)[-1] - a.mean(axis=0)[0]

    def slopes(a: np.ndarray) -> np.ndarray:
        return np.diff(a.mean(axis=0), axis=0) / steps

    def contrast(a: np.ndarray) -> np.ndarray:
        lower, upper = np.array_split(slopes(a), 2)
        return lower.mean(axis=0) - upper.mean(axis=0)

    def bends(a: np.ndarray) -> np.ndarray:
        return -np.diff(slopes(a), axis=0)

    found = [_over_seeds(results, of, columns, sampling) for of in (rise, contrast)]
    return *found, _over_seeds(results, bends, columns, sampling, holm=True)


def of_sizes(results: Results, of_lines: Mapping[str, Line], labelled: Mapping[str, Task], sampling: Sampling) -> Found:
    """The claims on figure 1, and on what size does for a linear classifier and for a perceptron."""
    trained = of_lines[TRAINED]
    rise, contrast, bends = growth(results, trained, sampling)
    claim, works = "pitfalls-size-w2v-concave", "pitfalls-size-three-works"
    found = {(claim, "rise"): rise, (claim, "concave"): contrast, (claim, "bends"): bends}
    for part, kind in (("concatenation", CONCATENATED), ("projection", PROJECTED)):
        found[works, part] = joined(growth(results, of_lines[kind], sampling)[:2])
    found |= _separability(results, trained, of_lines[TURNED], labelled, sampling)
    columns = np.stack([by_size(results, how, trained.names[[0, -1]]) for how in ("chosen", "mlp")], axis=1)

    def interaction(a: np.ndarray) -> np.ndarray:
        gains = a.mean(axis=0)[:, 1] - a.mean(axis=0)[:, 0]
        return gains[0] - gains[1]

    favored = _over_seeds(results, interaction, columns, sampling)
    lead = _over_seeds(results, lambda a: a.mean(axis=0)[1] - a.mean(axis=0)[0], columns, sampling)
    if np.max(lead.high) < 0:  # a perceptron that is behind everywhere is not trained enough to tell
        favored = Interval(favored.estimate, -np.inf, np.inf)
    return found | {("pitfalls-lr-favors-large", ""): favored}


def _separability(results: Results, line: Line, room: Line, labelled: Mapping[str, Task], sampling: Sampling) -> Found:
    """Training and test accuracy by size, and the share of the rise that mere room keeps."""
    ends = by_size(results, "chosen", np.stack([line.names[0], room.names[0], line.names[-1]]))
    training = [[_fitted(encode, labelled) for encode in line.encoders[i]] for i in (0, -1)]
    both = np.concatenate([ends, np.array(training).transpose(2, 0, 1)], axis=1)

    def rises(a: np.ndarray) -> np.ndarray:
        means = a.mean(axis=0)
        return np.stack([means[4] - means[3], means[2] - means[0]])

    def kept(a: np.ndarray) -> float:
        small, turned, large = a.mean(axis=(0, 2))
        return float((turned - small) / (large - small)) if large > small else np.nan

    claim = "pitfalls-size-separability"
    rise = _over_seeds(results, rises, both, sampling)
    of_test = Interval(*(bound[1] for bound in rise))
    nothing = Interval(0.0, 0.0, 0.0)
    room = defined(results.interval(kept, ends, sampling) if of_test.low > 0 else nothing, of_test)
    return {(claim, "rises"): rise, (claim, "room"): room}


def _fitted(encode: Callable, labelled: Mapping[str, Task]) -> np.ndarray:
    """Which tested sentences an unpenalized linear classifier labels right that was trained on them, float32[n]."""
    from sklearn.linear_model import RidgeClassifier

    found = []
    for task in labelled.values():
        vectors, labels = np.asarray(encode(task.sentences), np.float64)[task.tested], task.labels[task.tested]
        found.append(RidgeClassifier(alpha=1e-8).fit(vectors, labels).predict(vectors) == labels)
    return np.concatenate(found).astype(np.float32)


def at_equal_size(results: Results, sizes: Mapping[str, int], line: Line, sampling: Sampling) -> pd.DataFrame:
    """Accuracy of encoders less that of averages of exactly their size: embedder, size, value, low, high."""
    rows = []
    for name, size in sizes.items():
        if size in line.sizes and not name.startswith(SIMPLE):
            own = results.columns(["chosen"], [name])
            columns = np.concatenate([own, by_size(results, "chosen", line.names[[line.sizes.index(size)]])], axis=2)
            found = _over_seeds(results, lambda a: a.mean(axis=0)[0, :1] - a.mean(axis=0)[0, 1:], columns, sampling)
            rows.append((name, size, *found))
    return pd.DataFrame(rows, columns=["embedder", "size", "value", "low", "high"])


def turned(encode: Callable, size: int, seed: int) -> Callable[[Sequence[str]], np.ndarray]:
    """The embeddings times a random matrix: more dimensions, of the same rank, and nothing else."""

    def encoded(sentences: Sequence[str]) -> np.ndarray:
        vectors = np.asarray(encode(sentences))
        matrix = np.random.default_rng(seed).normal(size=(vectors.shape[1], size)) / np.sqrt(size)
        return (vectors @ matrix).astype(np.float32)

    return encoded


def of_equal_size(equal: pd.DataFrame) -> Found:
    """The claim on encoders and averages of one size, from `at_equal_size`."""
    kinds = {part: equal[equal["embedder"].str.startswith(part.lower())] for part in ("USE", "Sent2Vec")}
    return {
        ("pitfalls-equal-size", part): Interval(*rows[["value", "low", "high"]].to_numpy().T)
        if len(rows)
        else UNMEASURED
        for part, rows in kinds.items()
    }
