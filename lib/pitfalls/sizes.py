"""Figure 1: scores over the size of embeddings, when nothing else changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from lib import embedders, evaluation, stats
from lib.evaluation import Encode
from lib.exams import RatedPairs
from lib.pitfalls import transfer_study
from lib.pitfalls.transfer_study import Resamples, Study
from lib.pitfalls.transfer_tasks import TransferTask
from lib.pitfalls.ucp_table import sides, texts_of
from lib.run import progress
from lib.run.errors import InputError
from lib.similarity import correlations, similarities
from lib.transfer.classifiers import Logistic

# Three in the place of seven, for there are many sizes to fit.
PENALTIES = (10.0, 1.0, 0.1)
CONDITION = "logistic"


class Candidate(NamedTuple):
    """One place of Figure 1.

    Attributes
    ----------
    kind : str, the line that it is on; an embedder of one size is a line of its own
    size : int, dimensions
    encode : a function from sentences to embeddings
    normalize : bool, whether each dimension is z-normalized, by training data
    """

    kind: str
    size: int
    encode: Encode
    normalize: bool = False


def trained(name: str, sizes: Sequence[int], text: Sequence[str], epochs: int) -> dict[int, Encode]:
    """Averages of word vectors of several sizes, trained on the same text: ``w2v-corpus-25d`` and so on."""
    each = progress.track(list(sizes), f"train {name}", unit="sizes")
    return {size: evaluation.encoder(embedders.load(f"{name}-{size}d", epochs=epochs), text) for size in each}


def enlarged(name: str, sizes: Sequence[int], text: Sequence[str], seed: int = 1, **options: int) -> dict[int, Encode]:
    """Word vectors made larger as Wieting and Kiela (2019) do: times a random matrix, the maximum over words (BOREP).

    Parameters
    ----------
    name : an embedder that averages word vectors
    sizes : even numbers of dimensions
    text : what word vectors that need training are trained on
    options : of the embedder, such as epochs
    """
    from lib.embedders.random_encoders import BOREP

    def larger(size: int) -> embedders.Embedder:
        words = embedders.load(name, **options)
        vectors = words.training or words.vectors
        return BOREP(vectors, size, seed=seed, tokenize=words.tokenize, name=f"{name}+borep-{size}d")

    return {size: evaluation.encoder(larger(size), text) for size in sizes}


def turned(encode: Encode, size: int, seed: int = 1) -> Encode:
    """The embeddings times a random matrix of independent Gaussian numbers: more dimensions, and nothing else.

    A linear classifier finds in them what it finds in those that they are made of, but for its penalty.
    """

    def encoded(sentences: Sequence[str]) -> np.ndarray:
        vectors = encode(sentences)
        matrix = np.random.default_rng(seed).normal(size=(vectors.shape[1], size))
        return (vectors @ (matrix / np.sqrt(size))).astype(np.float32)

    return encoded


class Scores(NamedTuple):
    """Scores of candidates.

    Attributes
    ----------
    table : DataFrame with columns kind, size, normalized, value (accuracy, mean over tasks), low, high (its interval),
        ucp, ucp_low, ucp_high (Pearson's correlation on a set of rated pairs), warnings (fits that have not converged),
        and each task's accuracy
    resampled : float64[repetitions, candidates], value when test sentences are drawn anew, the same for all candidates
    """

    table: pd.DataFrame
    resampled: np.ndarray


def scores(
    candidates: Sequence[Candidate],
    labelled: Mapping[str, TransferTask],
    rated: RatedPairs,
    folds: int,
    draws: Resamples,
    penalties: Sequence[float] = PENALTIES,
    workers: int = 0,
) -> Scores:
    """Logistic regression on each task, its penalty chosen on a tenth of the training data; and UCP.

    Parameters
    ----------
    labelled : the tasks by name (`transfer_tasks.load_all`)
    folds : of cross-validation, where a task has no official splits
    draws : resamples, whose seed is also that of folds and of validation sets
    workers : processes; 0 for one a core. Results do not depend on it.

    Raises InputError if there is no candidate.
    """
    if not candidates:
        raise InputError("candidates: there are none; give at least one")
    names = {f"{one.kind} {one.size}": one for one in candidates}
    studies = {how: _study(names, how, labelled, folds, draws.seed, penalties, workers) for how in (False, True)}
    rows, resampled = [], []
    for name, one in names.items():
        study = studies[one.normalize]
        place = study.embedders.index(name)
        accuracies = study.accuracies(CONDITION).loc[name]
        resampled.append(study.resampled([CONDITION], draws)[:, 0, place])
        low, high = draws.interval(resampled[-1])
        row = {"kind": one.kind, "size": one.size, "normalized": one.normalize}
        row |= {"value": float(accuracies.mean()), "low": float(low), "high": float(high)}
        row |= _ucp(one, rated, draws)
        row |= {"warnings": sum(study.results[name, task, CONDITION].convergence_warnings for task in labelled)}
        rows.append(row | accuracies.to_dict())
    return Scores(pd.DataFrame(rows), np.column_stack(resampled))


def _study(
    names: Mapping[str, Candidate],
    normalize: bool,
    labelled: Mapping[str, TransferTask],
    folds: int,
    seed: int,
    penalties: Sequence[float],
    workers: int,
) -> Study:
    """The candidates that are to be normalized, or those that are not, on all tasks."""
    options = {"normalize": (normalize,), "inner_folds": 1, "classifier": Logistic(penalties)}
    encoders = {name: one.encode for name, one in names.items() if one.normalize == normalize}
    if not encoders:
        return Study(labelled, {}, {})
    return transfer_study.evaluate(encoders, labelled, {CONDITION: options}, folds, seed, workers)


def _ucp(one: Candidate, rated: RatedPairs, draws: Resamples) -> dict[str, float]:
    both = sides(one.encode(texts_of(rated)), rated)
    cosines = similarities(*both, normalize="z" if one.normalize else None)
    resampled = rated.scores(cosines[:, None], rated.draws(draws.rng, draws.repetitions))[:, 0]
    low, high = draws.interval(resampled[~np.isnan(resampled)])
    return {"ucp": correlations(cosines, rated.gold)["pearson"], "ucp_low": float(low), "ucp_high": float(high)}


def at_equal_size(scores: Scores, line: str, names: Sequence[str], confidence: float = 0.95) -> pd.DataFrame:
    """Embedders of one size beside a line of Figure 1 at that size, read off between its own sizes.

    The line is taken as straight over the logarithm of the size between its places; beyond its ends as level.

    Returns
    -------
    DataFrame with columns encoder, size, accuracy, line (its accuracy at that size), difference, low, high (in
    accuracy; the interval is over test sentences, the same for both)
    """
    table = scores.table
    along = table[table["kind"] == line].sort_values("size")
    rows = []
    for i, one in table[table["kind"].isin(names)].iterrows():
        weights = _weights(np.log(along["size"].to_numpy()), np.log(one["size"]))
        there = float(weights @ along["value"].to_numpy())
        low, high = stats.percentiles(scores.resampled[:, i] - scores.resampled[:, along.index] @ weights, confidence)
        rows.append((one["kind"], one["size"], one["value"], there, one["value"] - there, low, high))
    columns = ["encoder", "size", "accuracy", "line", "difference", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def _weights(places: np.ndarray, at: float) -> np.ndarray:
    """What each of some rising places counts for a straight line between them at another place."""
    return np.array([np.interp(at, places, unit) for unit in np.eye(len(places))])


def check_sizes(sizes: Sequence[int]) -> None:
    """Raise InputError unless there are two sizes or more, each after the first even (for BOREP)."""
    if len(sizes) < 2 or any(size % 2 for size in sizes[1:]):
        raise InputError(f"sizes: {sizes} is not accepted; give two or more, even after the first")


def lines(
    averages: Mapping[int, Encode], enlarged: Mapping[int, Encode], fixed: Mapping[str, tuple[int, Encode]], seed: int
) -> list[Candidate]:
    """The candidates of Figure 1: trained at each size, as they are and normalized; the smallest made larger; the rest.

    Parameters
    ----------
    averages : averages of word vectors by size, the smallest first (`trained`)
    enlarged : the smallest, made larger (`enlarged`)
    fixed : embedders of one size: their size and what encodes
    """
    smallest = next(iter(averages))
    found = [Candidate("trained", size, encode) for size, encode in averages.items()]
    found += [Candidate("trained, normalized", size, encode, True) for size, encode in averages.items()]
    found += [Candidate(f"{smallest}-d, turned", size, turned(averages[smallest], size, seed)) for size in enlarged]
    found += [Candidate(f"{smallest}-d, BOREP", size, encode) for size, encode in enlarged.items()]
    return found + [Candidate(name, size, encode, True) for name, (size, encode) in fixed.items()]
