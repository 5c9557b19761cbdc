"""Study 7, figure 1: accuracy over the number of dimensions, when nothing else changes.

"Pitfalls in the Evaluation of Sentence Embeddings" (Eger, Rücklé and Gurevych, 2019), section 3, "Size matters".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from lib.corpora import Corpus
from lib.run.errors import InputError
from lib.stats import Interval
from lib.studies.orders import UNMEASURED, Found, defined, frame, joined
from lib.studies.transfer import SIMPLE, Results, Splits, encoder, sentences

TRAINED, TURNED = "word2vec, trained at each size", "the smallest, turned"
PROJECTED, CONCATENATED = "GloVe, random projections", "GloVe, poolings and sets side by side"


@dataclass(frozen=True, eq=False)
class Line:
    """Embedders of one kind at several sizes.

    Attributes
    ----------
    kind : str
        Which way to larger vectors this is, such as `TRAINED`.
    sizes : list of int
    encoders : list of list
        What encodes, for each size and seed.
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


def _over_seeds(
    results: Results, conditions: Sequence[str], names: np.ndarray, statistic: Callable, **options: Any
) -> Interval:
    """Of a statistic of mean accuracies [conditions, ..., seeds]; over seeds, its last axis, too, if there are several.

    The names of the embedders are an array [..., seeds].
    """
    scores, seeds = results.mean(conditions, names), names.shape[-1] > 1
    return scores.interval(statistic if seeds else lambda a: statistic(a)[..., 0], seeds=seeds, **options)


def curve(results: Results, line: Line) -> pd.DataFrame:
    """Mean accuracy at each size with its interval over sentences and seeds, indexed by size."""
    found = _over_seeds(results, ["chosen"], line.names, lambda a: a[0])
    return frame(found, size=line.sizes).set_index("size")


def growth(results: Results, line: Line) -> tuple[Interval, Interval, Interval]:
    """Rise, slope contrast (lower half of sizes less upper half) and bends (minus each second difference) by size."""
    steps = np.diff(line.sizes)[:, None]
    of = partial(_over_seeds, results, ["chosen"], line.names)

    def contrast(a: np.ndarray) -> np.ndarray:
        lower, upper = np.array_split(np.diff(a[0], axis=0) / steps, 2)
        return lower.mean(axis=0) - upper.mean(axis=0)

    def bends(a: np.ndarray) -> np.ndarray:
        return -np.diff(np.diff(a[0], axis=0) / steps, axis=0)

    return of(lambda a: a[0, -1] - a[0, 0]), of(contrast), of(bends, holm=True)


def of_sizes(results: Results, of_lines: Mapping[str, Line], labelled: Mapping[str, Splits]) -> Found:
    """The claims on figure 1, and on what size does for a linear classifier and for a perceptron."""
    trained = of_lines[TRAINED]
    rise, contrast, bends = growth(results, trained)
    claim, works = "pitfalls-size-w2v-concave", "pitfalls-size-three-works"
    found = {(claim, "rise"): rise, (claim, "concave"): contrast, (claim, "bends"): bends}
    for part, kind in (("concatenation", CONCATENATED), ("projection", PROJECTED)):
        found[works, part] = joined(growth(results, of_lines[kind])[:2])
    found |= _separability(results, trained, of_lines[TURNED], labelled)
    of = partial(_over_seeds, results, ["chosen", "mlp"], trained.names[[0, -1]])
    favored = of(lambda a: (a[0, 1] - a[0, 0]) - (a[1, 1] - a[1, 0]))
    lead = of(lambda a: a[1] - a[0])
    if np.max(lead.high) < 0:  # a perceptron that is behind everywhere is not trained enough to tell
        favored = Interval(favored.estimate, -np.inf, np.inf)
    return found | {("pitfalls-lr-favors-large", ""): favored}


def _separability(results: Results, line: Line, room: Line, labelled: Mapping[str, Splits]) -> Found:
    """Training and test accuracy by size, and the share of the rise that mere room keeps."""
    encoders = zip(line.names[[0, -1]].flat, [*line.encoders[0], *line.encoders[-1]], strict=True)
    fitted = {("fitted", name): _fitted(encode, labelled) for name, encode in encoders}
    results = replace(results, correct={**results.correct, **fitted})

    def kept(a: np.ndarray) -> float:
        small, turned, large = a[0].mean(axis=1)
        return float((turned - small) / (large - small)) if large > small else np.nan

    claim, nothing = "pitfalls-size-separability", Interval(0.0, 0.0, 0.0)
    rise = _over_seeds(results, ["fitted", "chosen"], line.names[[0, -1]], lambda a: a[:, 1] - a[:, 0])
    of_test = Interval(*(bound[1] for bound in rise))
    ends = results.mean(["chosen"], np.stack([line.names[0], room.names[0], line.names[-1]]))
    room = defined(ends.interval(kept) if of_test.low > 0 else nothing, of_test)
    return {(claim, "rises"): rise, (claim, "room"): room}


def _fitted(encode: Callable, labelled: Mapping[str, Splits]) -> np.ndarray:
    """Which tested sentences an unpenalized linear classifier labels right that was trained on them, bool[n]."""
    from sklearn.linear_model import RidgeClassifier

    found = []
    for splits in labelled.values():
        labels = splits[-1].labels
        vectors = np.asarray(encode(sentences(splits)), np.float64)[-len(labels) :]
        found.append(RidgeClassifier(alpha=1e-8).fit(vectors, labels).predict(vectors) == labels)
    return np.concatenate(found)


def at_equal_size(results: Results, sizes: Mapping[str, int], line: Line) -> pd.DataFrame:
    """Accuracy of encoders less that of averages of exactly their size: embedder, size, value, low, high."""
    rows = []
    for name, size in sizes.items():
        if size in line.sizes and not name.startswith(SIMPLE):
            names = np.array([name, *line.names[line.sizes.index(size)]])
            rows.append((name, size, *_over_seeds(results, ["chosen"], names, lambda a: a[0, :1] - a[0, 1:])))
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
    found = {}
    for part in ("USE", "Sent2Vec"):
        rows = equal.loc[equal["embedder"].str.startswith(part.lower()), ["value", "low", "high"]]
        found["pitfalls-equal-size", part] = Interval(*rows.to_numpy().T) if len(rows) else UNMEASURED
    return found
