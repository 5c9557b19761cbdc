"""uSIF's random walk: its likelihoods, how far estimates are from their maximum, and what compositions of words score.

Equation (8) is p(w|c) = alpha p(w) + (1 - alpha) d(c, v_w) / Z(c), where Z(c) is the sum of d(c, v) over the
vocabulary V. With E(c) = Z(c) / |V| and a = (1 - alpha) / (alpha |V| / 2) that is alpha (p(w) + a d(c, v_w) / 2 E(c)).
The paper sets E(c) = 1/2 (Ethayarajh 2018, section 3.3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import logsumexp, softmax
from scipy.stats import variation

from lib import corpora, embedders, similarity, stats, tasks
from lib.catalog import published
from lib.corpora import text
from lib.embedders.base import Embedder
from lib.embedders.composition import SIF, USIF, Average, named_probabilities
from lib.run import progress
from lib.run.errors import InputError
from lib.studies.scores import ScoredSet, Scores, labelled

SAME = 1e-9  # sines below it: the discourse vector lies on a word's direction, where the angle has a cusp
PAPER = {f"STS{year}": [f"STS'{year}"] for year in range(12, 16)}  # our sets in the paper's tables
PAPER |= {"STSBenchmark": ["STS Benchmark"], "SICK-R": ["SICK'14", "SICK-R"], "SICK-E": ["SICK-E"], "SST2": ["SST"]}
VECTORS = {"paragram-sl999": "PSL", "paranmt-50m": "ParaNMT"}  # other vectors stand beside GloVe's row

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Sentence(NamedTuple):
    """The words of a sentence that have a vector and a probability: float64[t, d] and float64[t]."""

    vectors: np.ndarray
    p: np.ndarray


def unit(vectors: np.ndarray) -> np.ndarray:
    """Each row of float[n, d] divided by its length; a row of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def degrees(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The angle between the same rows of two arrays, float64[n]."""
    cosines = (unit(left) * unit(right)).sum(axis=-1)
    return np.degrees(np.arccos(np.clip(cosines, -1, 1)))


def sentences(
    texts: Sequence[str], vectors: Mapping, probabilities: Mapping, tokenize: Callable, count: int, seed: int
) -> list[Sentence]:
    """So many sentences, drawn from those with three known words or more.

    Raises InputError if there are fewer than ten.
    """
    shuffled = (texts[i] for i in np.random.default_rng(seed).permutation(len(texts)))
    known = ([word for word in tokenize(each) if word in vectors and word in probabilities] for each in shuffled)
    found = list(islice((words for words in known if len(words) > 2), count))
    if len(found) < 10:
        raise InputError(f"checked_sentences: {len(found)} have three known words, ten are needed; give another corpus")
    return [
        Sentence(
            np.array([vectors[word] for word in words], np.float64), np.array([probabilities[word] for word in words])
        )
        for words in found
    ]


def vocabulary(vectors: Mapping, probabilities: Mapping, count: int, seed: int) -> np.ndarray:
    """Vectors of so many words (or all), drawn evenly from those with a vector and a probability, float64[v, d]."""
    listed = list(probabilities)
    shuffled = (listed[i] for i in np.random.default_rng(seed).permutation(len(listed)))
    known = [vectors[word] for word in shuffled if word in vectors]
    return np.array(known[:count], np.float64)


# -- likelihoods --------------------------------------------------------------------------------


def angular(sentence: Sentence, a: float, words: np.ndarray | None = None) -> Objective:
    """log p(s|c) of equation (8), less its constant |s| log alpha, and the gradient on the unit sphere.

    Parameters
    ----------
    sentence : Sentence
    a : float
        (1 - alpha) / (alpha |V| / 2).
    words : float64[v, d], optional
        Vectors of the vocabulary, for Z(c); without them Z = |V| / 2.

    Returns
    -------
    callable
        From a unit vector c to the value and its gradient. The likelihood has a cusp at each word's direction: there
        the gradient is that of the other words.
    """
    own = unit(sentence.vectors)
    every = None if words is None else unit(words)

    def evaluate(c: np.ndarray) -> tuple[float, np.ndarray]:
        similarity, slope = _similarity(own @ c)
        mean, drift = 0.5, 0.0
        if every is not None:
            of_all, slopes = _similarity(every @ c)
            mean, drift = of_all.mean(), slopes @ every / len(every)
        scaled = a / (2 * mean)
        likelihood = sentence.p + scaled * similarity
        gradient = (slope / likelihood) @ own * scaled - (similarity / likelihood).sum() * scaled / mean * drift
        return float(np.log(likelihood).sum()), gradient

    return evaluate


def _similarity(cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """d = 1 - arccos(cos) / pi, and its derivative by the cosine (0 at the cusp)."""
    cosines = np.clip(cosines, -1, 1)
    sine = np.sqrt(1 - cosines**2)
    slope = np.divide(1 / np.pi, sine, out=np.zeros_like(sine), where=sine > SAME)
    return 1 - np.arccos(cosines) / np.pi, slope


def log_linear(sentence: Sentence, words: np.ndarray) -> Objective:
    """log p(s|c) of equation (1) with Z(c) over a vocabulary, float64[v, d], and its gradient, as `angular`."""
    total, count = sentence.vectors.sum(axis=0), len(sentence.vectors)

    def evaluate(c: np.ndarray) -> tuple[float, np.ndarray]:
        log_z, expected = log_partition(c, words)
        return float(total @ c - count * log_z), total - count * expected

    return evaluate


def log_partition(c: np.ndarray, words: np.ndarray) -> tuple[float, np.ndarray]:
    """log of the mean of exp<c, v> over float64[v, d], which is log Z(c) - log |V|, and its gradient by c."""
    inner = words @ c
    return logsumexp(inner) - np.log(len(words)), softmax(inner) @ words


def maximum(objective: Objective, starts: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """The unit vector of the greatest likelihood that is found, float64[d].

    Quasi-Newton steps from each of `starts`, float[k, d]; then the best of what they reach and of `candidates`, the
    words' own directions, where the likelihood has cusps.
    """
    from scipy.optimize import minimize

    def descend(c: np.ndarray) -> tuple[float, np.ndarray]:
        length = np.linalg.norm(c)
        value, gradient = objective(c / length)
        return -value, -(gradient - (gradient @ c) * c / length**2) / length

    found = [minimize(descend, start, jac=True, method="L-BFGS-B").x for start in unit(starts)]
    reached = unit(np.vstack([*found, starts, candidates]))
    return reached[np.argmax([objective(c)[0] for c in reached])]


# -- estimates ----------------------------------------------------------------------------------


def equation_9(sentence: Sentence, a: float) -> np.ndarray:
    """The direction of equation (9): the sum of a / (p + a/2) times vector, as a unit vector, float64[d]."""
    return unit(a / (sentence.p + a / 2) @ sentence.vectors)


def estimates(sentence: Sentence, a: float, center: np.ndarray) -> dict[str, np.ndarray]:
    """What may stand for the maximum, by name; `center` is the mean unit vector of the vocabulary, float[d]."""
    units = unit(sentence.vectors)
    return {
        "equation (9)": equation_9(sentence, a),
        "plain mean": unit(sentence.vectors.sum(axis=0)),
        "(9), unit vectors": equation_9(sentence._replace(vectors=units), a),
        "(9), centered unit vectors": equation_9(sentence._replace(vectors=units - center), a),
    }


def sif_gap(sentence: Sentence, words: np.ndarray) -> float:
    """The angle in degrees of a sentence's mean with its likeliest unit vector under (1), Z(c) over a vocabulary."""
    average = unit(sentence.vectors.sum(axis=0))
    top = maximum(log_linear(sentence, words), average[None], unit(sentence.vectors))
    return float(degrees(top, average))


def maxima(sentence: Sentence, a: float, words: np.ndarray) -> dict[str, np.ndarray]:
    """The likeliest unit vectors of a sentence under equation (8), Z constant and Z(c) over the vocabulary."""
    found = estimates(sentence, a, unit(words).mean(axis=0))
    starts = np.array([found["equation (9)"], found["(9), centered unit vectors"]])
    versions = {"Z constant": angular(sentence, a), "Z(c)": angular(sentence, a, words)}
    return {name: maximum(objective, starts, unit(sentence.vectors)) for name, objective in versions.items()}


# -- the confound of length, frequencies ----------------------------------------------------------


def natural(some: Sequence[Sentence], words: np.ndarray) -> pd.DataFrame:
    """What the likelihood of natural sentences goes with (section 3.2); a row for each of `some`.

    Returns
    -------
    DataFrame
        length (mean norm of the word vectors); coherence (mean cosine of two of them); and log p(s|c) a word, Z(c) over
        a vocabulary, float64[v, d]: of the log-linear model with c the mean, without and with Z(c), and c the mean's
        direction; of the angular model.
    """
    rows = []
    units = unit(words)
    for vectors, _ in some:
        c, own, count = vectors.mean(axis=0), unit(vectors), len(vectors)
        row = {"length": np.linalg.norm(vectors, axis=1).mean()}
        row["coherence"] = ((own.sum(axis=0) ** 2).sum() - count) / (count * (count - 1))
        row["c the mean, no Z"] = c @ c
        row["c the mean, Z(c)"] = c @ c - log_partition(c, words)[0]
        row["c of length 1, Z(c)"] = unit(c) @ c - log_partition(unit(c), words)[0]
        similarity, of_all = (_similarity(each @ unit(c))[0] for each in (own, units))
        row["angular model, Z(c)"] = np.log(similarity).mean() - np.log(of_all.mean())
        rows.append(row)
    return pd.DataFrame(rows)


def partial_spearman(x: np.ndarray, y: np.ndarray, fixed: np.ndarray) -> float:
    """Spearman's correlation of x and y with a third column held fixed, float[n] each."""
    xy, xf, yf = stats.spearman(x, y), stats.spearman(x, fixed), stats.spearman(y, fixed)
    return (xy - xf * yf) / np.sqrt((1 - xf**2) * (1 - yf**2))


def unevenness(changed: np.ndarray, raw: np.ndarray) -> float:
    """How much less even the variances of the dimensions become: log ratio of their coefficients of variation.

    Both are float[words, d]; above 0 the change makes the variances less even.
    """
    return float(np.log(variation(changed.var(axis=0)) / variation(raw.var(axis=0))))


def beyond_the_fifth(rows: np.ndarray) -> float:
    """The share of the squared singular values of float[n, d] beyond the five largest."""
    squares = np.linalg.eigvalsh(rows.T @ rows)
    return float(squares[:-5].sum() / squares.sum())


def frequencies(name: str) -> Mapping[str, float]:
    """p(w) by the name of a list, "wordfreq" or "enwiki" (the paper's), or of a corpus: its own words, lower case."""
    if name in ("wordfreq", "enwiki"):
        return named_probabilities(name)
    return text.relative_frequencies(corpora.load(name).sentences, text.lower_words)


# -- compositions of word vectors, and their scores (section 4) -----------------------------------


@dataclass(frozen=True)
class Words:
    """A set of word vectors, a list of frequencies and a tokenizer, and what is composed of them.

    Attributes
    ----------
    name : str
        Of the vectors.
    vectors : mapping word -> float32[d]
    probabilities : mapping word -> p(w)
    tokenize : callable
        From a sentence to its words, in the vectors' case and without punctuation.
    n : int
        uSIF's steps.
    """

    name: str
    vectors: Mapping[str, np.ndarray]
    probabilities: Mapping[str, float]
    tokenize: Callable[[str], list[str]]
    n: int = 11

    @classmethod
    def of(cls, name: str, probabilities: Mapping[str, float], n: int) -> Words:
        """The word vectors of that name in the registry; InputError for what is no set of published vectors."""
        embedder = embedders.load(name)
        if not isinstance(embedder, Average) or embedder.needs_fit:
            raise InputError(f"vector_names: {name!r} has no published word vectors; give one such as glove-6b-50d")
        cased = embedder.tokenize("A") == ["A"]
        return cls(name, embedder.vectors, probabilities, text.cased_words if cased else text.lower_words, n)

    def mean(self) -> Average:
        """The plain mean."""
        return Average("mean", self.vectors, self.tokenize)

    def sif(self, **options: object) -> SIF:
        """SIF with a = 1e-3, as its authors have it; options are those of its class."""
        return SIF(self.vectors, self.probabilities, tokenize=self.tokenize, **options)

    def usif(self, **options: object) -> USIF:
        """uSIF; options are those of its class."""
        return USIF(self.vectors, self.probabilities, n=self.n, tokenize=self.tokenize, **options)

    def usif_at(self, a: float, m: int = 5) -> SIF:
        """uSIF with another a, up to a factor of 2: SIF at a/2, normalized, components removed by share."""
        return self.sif(a=a / 2, m=m, normalize="divide", removal="share")


def mean_length(names: Sequence[str]) -> float:
    """The mean number of tokens, punctuation included, of all sentences of some sets of rated pairs."""
    found = [tasks.load(name) for name in names]
    return float(np.mean([len(text.word_tokens(each)) for task in found for each in task.left + task.right]))


def learned(name: str) -> ScoredSet:
    """SST2 or SICK-E by logistic regression (accuracy), SICK-R by regression, on frozen embeddings (section 4.4).

    The paper follows "the setup in Wieting et al. (2016b)" without describing it. Penalties are chosen on dev.
    """
    if name != "SICK-R":
        return labelled(name, name)
    parts = [tasks.load(name, split) for split in tasks.splits(name)]

    def predictions(embedder: Embedder) -> np.ndarray:
        embedder.fit([sentence for part in parts for sentence in part.left + part.right])
        pairs = [(embedder.encode(part.left), embedder.encode(part.right), part.score) for part in parts]
        return similarity.regress(*pairs)

    return ScoredSet(name, name, predictions, np.arange(len(parts[-1])), parts[-1].score)


def evaluate(
    vectors: Mapping[str, Words], compose: Callable[[Words], Mapping[str, Embedder]], sets: Sequence[ScoredSet]
) -> Scores:
    """Score the compositions of each set of word vectors."""
    made = [compose(words) for words in vectors.values()]
    answers: dict[str, list[np.ndarray]] = {name: [] for name in made[0]}
    for each in progress.track(list(sets), "score", "sets"):
        for name, found in answers.items():
            found.append(np.stack([each.answers(composed[name]) for composed in made], axis=-1))
    return Scores(sets, list(vectors), answers)


def tuned(
    words: Words, make: Callable[[Words, float], Embedder], values: Sequence[float], sets: Sequence[ScoredSet]
) -> float:
    """The value whose composition scores best on sets that are kept for tuning."""
    scores = evaluate({"": words}, lambda words: {str(value): make(words, value) for value in values}, sets).of()
    return values[int(np.argmax([found.mean() for found in scores.values()]))]


def with_published(scores: Scores, tables: Sequence[str], compositions: Mapping[str, str]) -> pd.DataFrame:
    """The paper's scores beside ours, x100: columns set, vectors, composition, ours, row, paper.

    `compositions` gives the paper's name of each; one that begins with + follows the vectors': {"uSIF": "+UP"}.
    """
    stated = pd.concat([published.load(table) for table in tables]).set_index(["model", "dataset"])["value"]
    rows = []
    for composition, model in compositions.items():
        table = pd.DataFrame(100 * scores.score(composition), scores.groups, scores.variants)
        for (group, name), ours in table.stack().items():
            row = VECTORS.get(name, "GloVe") + model if model.startswith("+") else model
            for dataset in PAPER.get(group, []):
                if (row, dataset) in stated.index:
                    rows.append((group, name, composition, ours, row, stated[row, dataset]))
    return pd.DataFrame(rows, columns=["set", "vectors", "composition", "ours", "row", "paper"])
