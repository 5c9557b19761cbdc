"""What the lesson on Sent2Vec measures: trainings that differ in one thing, on the same items, with five seeds.

"Unsupervised Learning of Sentence Embeddings using Compositional n-Gram Features", sections 2 to 5, appendices A to D.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from lib import embedders, stats
from lib.corpora import text
from lib.embedders.base import Embeddings
from lib.embedders.composition import Average
from lib.run import paths
from lib.run.cache import Entry
from lib.run.environment import cores
from lib.sent2vec import Sent2Vec
from lib.sent2vec.settings import Settings
from lib.sent2vec.text import END_OF_LINE
from lib.store import EmbeddingStore, fit
from lib.studies.scores import Fitted, ScoredSet, Scores, labelled, rated, verses
from lib.transfer import Logistic

VERSION, ANSWERS = 1, "answers.npz"  # in the cache
BANDS = ("rare", "middle", "frequent")
SIF_A = 1e-3  # of Arora et al.
SPLITS = {"SICK-R": "all"}  # of the other sets the test split
Encode = Callable[[Sequence[str]], Embeddings]


def tokenized(sentences: Sequence[str]) -> list[str]:
    """Sentences as Sent2Vec reads them: lower-cased tokens parted by blanks."""
    return [_tokens(sentence) for sentence in sentences]


@lru_cache(maxsize=200_000)  # every model encodes the same sentences
def _tokens(sentence: str) -> str:
    return " ".join(text.lower_word_tokens(sentence))


# -- sets of sentences that embedders are scored on -----------------------------------------------


def scored_sets(similarity: Sequence[str], classified: Sequence[str], queries: int, seed: int) -> list[ScoredSet]:
    """What the lesson asks: verses or sets of rated pairs, other verses that are held out, Lee, sets with classes.

    For sets of rated pairs also their cosines, and STS-B.
    """
    found = verses(0, queries, seed, "similarity") + verses(0, queries, seed + 1, "held out", "wmth")[:1]
    found += rated("Lee", "Lee")
    if list(similarity) != ["Verses"]:
        pairs = [each for name in similarity for each in rated(name, "similarity", SPLITS.get(name, "test"))]
        alike = [each._replace(group="cosine", gold=None) for each in pairs]
        found = [*found[2:], *pairs, *alike, *rated("STSBenchmark", "STS-B")]
    one_penalty = {"folds": 5, "normalize": (True,), "classifier": Logistic((1.0,))}
    return found + [labelled(name, "supervised", **one_penalty)._replace(key="5 folds") for name in classified]


# -- models --------------------------------------------------------------------------------------


def word_weights(model: Sent2Vec) -> pd.DataFrame:
    """What each word counts in a mean (figure 1).

    Returns
    -------
    DataFrame with columns word, row (of the input matrix), frequency (share of all tokens), norm (of the word's
    vector), sif (a / (a + frequency)) and band (0 to 2: thirds of the range of log frequency, rare to frequent)
    """
    dictionary = model.dictionary
    rows = np.array([i for i in range(1, dictionary.n_words) if dictionary.words[i] != END_OF_LINE])
    frequency = dictionary.counts[rows] / dictionary.tokens
    return pd.DataFrame(
        {
            "word": [dictionary.words[i].decode(errors="replace") for i in rows],
            "row": rows,
            "frequency": frequency,
            "norm": np.linalg.norm(model.input_matrix[rows], axis=1),
            "sif": SIF_A / (SIF_A + frequency),
            "band": pd.cut(np.log(frequency), len(BANDS), labels=False),
        }
    )


def changed(model: Sent2Vec, variant: str) -> Sent2Vec:
    """A trained model with something taken away or replaced.

    "words only": without its bigrams; "SIF": the directions of its words with the lengths of smoothed inverse
    frequency; "no rare", "no middle", "no frequent": a band of words silenced (`word_weights`); "": as it is.
    """
    if variant == "words only":
        header = model.header._replace(word_ngrams=1, bucket=0)
        return Sent2Vec(model.file._replace(header=header))
    if not variant:
        return model
    table, matrix = word_weights(model), np.array(model.input_matrix)
    if variant == "SIF":
        matrix[table["row"]] *= (table["sif"] / table["norm"]).to_numpy(np.float32)[:, None]
    else:
        band = BANDS.index(variant.removeprefix("no "))
        matrix[table["row"][table["band"] == band]] = 0
    return Sent2Vec(model.file._replace(input_matrix=matrix))


def gensim_words(lines: Sequence[str], settings: Settings, skip_gram: bool) -> Encode:
    """The mean of word vectors that gensim's word2vec learns with the same settings and a window of five words."""
    from gensim.models import Word2Vec

    model = Word2Vec(
        [line.split() for line in lines], vector_size=settings.dim, epochs=settings.epochs, window=5, workers=1,
        negative=settings.negatives, sample=settings.subsample, min_count=settings.min_count, sg=int(skip_gram),
        seed=settings.seed,
    )  # fmt: skip
    vectors = dict(zip(model.wv.index_to_key, model.wv.vectors, strict=True))
    return Average("gensim", vectors, text.lower_word_tokens).encode


class Training(NamedTuple):
    """A training, and the sets that its model is scored on.

    Attributes
    ----------
    lines : sequence of str
        Tokenized sentences.
    settings : Settings
    groups : tuple of str
        Of the sets that its model is scored on.
    variants : tuple of str
        What is taken away or replaced afterwards (`changed`), each an embedder of its own.
    gensim : str
        "C-BOW" or "skip-gram", which gensim trains, in place of Sent2Vec.
    model : Sent2Vec, optional
        Where it has been trained already.
    """

    lines: Sequence[str]
    settings: Settings
    groups: tuple[str, ...] = ("similarity",)
    variants: tuple[str, ...] = ("",)
    gensim: str = ""
    model: Sent2Vec | None = None


def answers_of(training: Training, sets: Sequence[ScoredSet]) -> Entry:
    """Where the answers of a training's model are kept."""
    key = {"version": VERSION, "settings": asdict(training.settings), "text": text.fingerprint(training.lines)}
    key |= {"variants": training.variants, "gensim": training.gensim}
    key["exams"] = [[each.name, each.group, each.key] for each in sets if each.group in training.groups]
    return Entry(paths.CACHE / "sent2vec-study", training.gensim or "sent2vec", key)


def measure(training: Training, sets: Sequence[ScoredSet]) -> None:
    """Train, and keep the columns of `word_weights` and the answers to each set, named "variant/group/set"."""
    entry = answers_of(training, sets)

    def learn() -> dict[str, Any]:
        if training.gensim:
            arrays = {}
            encoders = {"": gensim_words(training.lines, training.settings, training.gensim == "skip-gram")}
        else:
            model = training.model or Sent2Vec.train(training.lines, training.settings)
            arrays = dict(word_weights(model).drop(columns="word"))
            encoders = {variant: encoder(changed(model, variant)) for variant in training.variants}
        for variant, each in product(encoders, sets):
            if each.group in training.groups and (each.group != "supervised" or variant in ("", "SIF")):
                arrays[f"{variant}/{each.group}/{each.name}"] = each.answers(Fitted(encoders[variant]))
        with entry.writing(ANSWERS) as stream:
            np.savez(stream, **arrays)
        return {}

    entry.made(learn, "training Sent2Vec")


def encoder(model: Sent2Vec) -> Encode:
    """A model as a function from sentences to embeddings, float32[n, dim]."""
    return lambda sentences: model.encode(tokenized(sentences))


# -- comparisons ---------------------------------------------------------------------------------


@dataclass
class Results:
    """The answers of embedders to the same sets, and their scores: means over groups of sets.

    Attributes
    ----------
    sets : sequence of ScoredSet
    sampling : lib.stats.Sampling
    found : dict
        Of each embedder what `measure` keeps, seeds along the last axis.
    """

    sets: Sequence[ScoredSet]
    sampling: stats.Sampling
    found: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)

    def train(self, trainings: Mapping[str, Sequence[Training]]) -> None:
        """Train and ask the models of each name, one a seed, on all cores; what was asked before is in the cache."""
        every = chain.from_iterable(trainings.values())
        missing = [each for each in every if answers_of(each, self.sets).facts() is None]
        Parallel(n_jobs=cores())(delayed(measure)(each, self.sets) for each in missing)
        for name, some in trainings.items():
            runs = [np.load(answers_of(each, self.sets).folder / ANSWERS) for each in some]
            self.found[name] = {key: np.stack([run[key] for run in runs], axis=-1) for key in runs[0]}

    def ask(self, name: str, sentences: Sequence[str], groups: Sequence[str], embedder: str) -> None:
        """Ask an embedder of the registry, fitted on some sentences, under a name."""
        fitted = Fitted(partial(EmbeddingStore().embed, fit(embedders.load(embedder), sentences)))
        self.found[name] = {
            f"/{each.group}/{each.name}": each.answers(fitted)[..., None] for each in self.sets if each.group in groups
        }

    def answers(self, name: str, sets: Sequence[ScoredSet]) -> list[np.ndarray]:
        """For each set float64[items, seeds]; "uni: SIF" is the variant "SIF" of "uni"."""
        trained, _, variant = name.partition(": ")
        return [self.found[trained][f"{variant}/{each.group}/{each.name}"] for each in sets]

    def bootstrap(
        self, statistic: Callable[[np.ndarray], np.ndarray], names: Sequence[str], *groups: str, **options: Any
    ) -> stats.Interval:
        """Interval of a statistic of the scores, float64[names, seeds], over other items and other seeds."""
        sets = [each for each in self.sets if each.group in groups]
        scores = Scores(sets, [], {name: self.answers(name, sets) for name in names})

        def value(score: Callable[[str], np.ndarray]) -> np.ndarray:
            means = [score(name).mean(axis=0) for name in names]
            return statistic(np.stack(np.broadcast_arrays(*means)))  # what is not trained is the same for each seed

        return scores.interval(value, self.sampling, seeds=True, **options)

    def scores(self, names: Sequence[str], *groups: str, **options: Any) -> stats.Interval:
        """The score of each embedder."""
        return self.bootstrap(lambda scores: scores, names, *groups, **options)

    def apart(self, pairs: Sequence[tuple[str, str]], *groups: str) -> stats.Interval:
        """The score of the first of each two less that of the second, paired, with Holm's correction."""
        names = list(chain.from_iterable(pairs))
        return self.bootstrap(lambda scores: scores[::2] - scores[1::2], names, *groups, holm=True)
