"""What the replication of Sent2Vec measures: trainings that differ in one thing.

All are measured on the same items, with five seeds.

"Unsupervised Learning of Sentence Embeddings using Compositional n-Gram Features",
sections 2 to 5, appendices A to D.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from lib import embedders
from lib.base import paths, progress
from lib.base.cache import CacheEntry
from lib.base.cluster import in_processes
from lib.corpora import text
from lib.embedders.composition import Average
from lib.sent2vec import Sent2Vec
from lib.sent2vec import training as trainer
from lib.sent2vec.settings import Settings
from lib.stats import Sampling, mean_over
from lib.store import EmbeddingStore, fit
from lib.studies.scores import (
    Fitted,
    ItemSet,
    VerseQueries,
    classified,
    draws,
    rated,
)
from lib.studies.trainings import BANDS, Encode, encoder, word_weights
from lib.transfer import Logistic

VERSION = 2  # of what the cache has
VALUES = "answers.npz"
SPLITS = {"SICK-R": "all"}  # of the other sets the test split
TUNING = ("STS12", "STS13")
PENALTIES = (1.0, 0.1, 0.01)  # chosen from, on a held-out tenth


# -- sets of sentences that embedders are scored on ------------------------------------


def item_sets(
    similarity: Sequence[str], with_classes: Sequence[str], queries: int, seed: int
) -> list[ItemSet]:
    """The sets of the page, in groups.

    The groups are tuning, similarity, cosine, Lee, STS-B and supervised. Settings are
    chosen by the first, which has nothing that another one scores.

    Parameters
    ----------
    similarity : sequence of str
        "Verses", which other verses tune; or sets of rated pairs, to which STS-B is
        added, and which STS12 and STS13 tune, without the pairs of these sets.
    with_classes : sequence of str
    queries : int
        Verses that are to be found.
    seed : int
        Of the verses.
    """
    sets = rated("Lee")
    if list(similarity) == ["Verses"]:
        verses = VerseQueries(0, queries, seed)
        others = VerseQueries(0, queries, seed + 1, "wmth", besides=verses.groups)
        sets += [verses.retrieval("similarity"), verses.similarity()]
        sets.append(others.retrieval("tuning"))
    else:
        tested = [(name, SPLITS.get(name, "test")) for name in similarity]
        for name, split in tested:
            sets += rated(name, "similarity", split)
        pairs = [item_set for item_set in sets if item_set.group == "similarity"]
        sets += [item_set._replace(group="cosine", gold=None) for item_set in pairs]
        sets += rated("STSBenchmark", "STS-B")
        for name in TUNING:
            besides = [*tested, ("STSBenchmark", "test")]
            sets += rated(name, "tuning", besides=besides)
    for name in with_classes:
        classifier = Logistic(PENALTIES)
        own = classified(name, "supervised", 10, (True,), classifier, inner_folds=1)
        sets.append(own)
    return sets


# -- models ----------------------------------------------------------------------------


def changed(model: Sent2Vec, variant: str) -> Sent2Vec:
    """A trained model with something taken away or replaced.

    "words only": without its bigrams; "SIF": the directions of its words with the
    lengths of smoothed inverse frequency; "no rare", "no middle", "no frequent": a band
    of words silenced (`word_weights`); "": as it is.
    """
    if variant == "words only":
        header = model.header._replace(word_ngrams=1, bucket=0)
        return Sent2Vec(model.file._replace(header=header))
    if not variant:
        return model
    table = word_weights(model)
    matrix = np.array(model.input_matrix)
    if variant == "SIF":
        matrix[table["row"]] *= (table["sif"] / table["norm"]).to_numpy(np.float32)[
            :, None
        ]
    else:
        band = BANDS.index(variant.removeprefix("no "))
        matrix[table["row"][table["band"] == band]] = 0
    return Sent2Vec(model.file._replace(input_matrix=matrix))


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
        What is taken away or replaced afterwards (`changed`), each an embedder of its
        own.
    gensim : str
        "C-BOW", which gensim trains, in place of Sent2Vec.
    """

    lines: Sequence[str]
    settings: Settings
    groups: tuple[str, ...] = ("similarity",)
    variants: tuple[str, ...] = ("",)
    gensim: str = ""

    def own(self, sets: Sequence[ItemSet]) -> list[ItemSet]:
        """The sets that its model is scored on."""
        return [item_set for item_set in sets if item_set.group in self.groups]


def cache_entry(training: Training, sets: Sequence[ItemSet]) -> CacheEntry:
    """Where the values of a training's model are kept."""
    key = {
        "version": VERSION,
        "spacy": version("spacy"),
        "settings": asdict(training.settings),
        "text": text.fingerprint(training.lines),
        "variants": training.variants,
        "gensim": training.gensim,
    }
    key["trainer"] = version("gensim") if training.gensim else trainer.VERSION
    key["exams"] = [
        [item_set.name, item_set.group, item_set.key] for item_set in training.own(sets)
    ]
    return CacheEntry(
        paths.CACHE / "sent2vec-study", training.gensim or "sent2vec", key
    )


def gensim_words(training: Training) -> Encode:
    """The mean of word vectors that gensim's word2vec learns.

    The window is five words. The other settings are those of Sent2Vec.
    """
    from gensim.models import Word2Vec

    settings = training.settings
    model = Word2Vec(
        [line.split() for line in training.lines],
        vector_size=settings.dim,
        epochs=settings.epochs,
        window=5,
        workers=1,
        negative=settings.negatives,
        sample=settings.subsample,
        min_count=settings.min_count,
        seed=settings.seed,
        alpha=settings.lr,
    )
    vectors = dict(zip(model.wv.index_to_key, model.wv.vectors, strict=True))
    return Average("gensim", vectors, text.lower_word_tokens).encode


def measure(training: Training, sets: Sequence[ItemSet]) -> None:
    """Train, and keep the columns of `word_weights` and the values in each set.

    The values are named "variant/group/set". Of a training that diverged, nothing is
    kept.
    """
    entry = cache_entry(training, sets)

    def learn() -> dict[str, Any]:
        arrays = {}
        encoders = {}
        if training.gensim:
            encoders = {"": gensim_words(training)}
        else:
            with suppress(trainer.Diverged):
                model = Sent2Vec.train(training.lines, training.settings)
                arrays = dict(word_weights(model).drop(columns="word"))
                encoders = {
                    variant: encoder(changed(model, variant))
                    for variant in training.variants
                }
        for variant, item_set in product(encoders, training.own(sets)):
            if item_set.group != "supervised" or variant in ("", "SIF"):
                values = item_set.values(Fitted(encoders[variant]))
                arrays[f"{variant}/{item_set.group}/{item_set.name}"] = values
        with entry.writing(VALUES) as stream:
            np.savez(stream, **arrays)
        return {}

    entry.made(learn, "training Sent2Vec")


# -- comparisons -----------------------------------------------------------------------


@dataclass
class Comparison:
    """Embedders that are scored on the same sets.

    Attributes
    ----------
    sets : sequence of ItemSet
    sampling : lib.stats.Sampling
    values : dict
        Of each embedder what `measure` keeps, seeds along the last axis.
    """

    sets: Sequence[ItemSet]
    sampling: Sampling
    values: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)

    def train(self, trainings: Mapping[str, Sequence[Training]]) -> None:
        """Train the models of each name, one a seed, and score them, on all cores.

        What was trained before is in the cache. A name of which a training diverges has
        no values.
        """
        missing = [
            (training, self.sets)
            for training in chain.from_iterable(trainings.values())
            if cache_entry(training, self.sets).facts() is None
        ]
        tracked = progress.track(
            missing, "train and score", "models", show=bool(missing)
        )
        for _ in zip(tracked, in_processes(measure, missing), strict=True):
            pass
        for name, by_seed in trainings.items():
            entries = [cache_entry(training, self.sets) for training in by_seed]
            runs = [np.load(entry.folder / VALUES) for entry in entries]
            if all(run.files for run in runs):
                self.values[name] = {
                    key: np.stack([run[key] for run in runs], axis=-1)
                    for key in runs[0]
                }

    def add(
        self, name: str, sentences: Sequence[str], groups: Sequence[str], embedder: str
    ) -> None:
        """Score an embedder of the registry, fitted on some sentences, under a name."""
        trained = fit(embedders.load(embedder), sentences)
        fitted = Fitted(partial(EmbeddingStore().embed, trained))
        self.values[name] = {
            f"/{item_set.group}/{item_set.name}": item_set.values(fitted)[:, None]
            for item_set in self.sets
            if item_set.group in groups
        }

    def scores(
        self, names: Sequence[str], *groups: str, family: int = 1
    ) -> pd.DataFrame:
        """The mean scores over groups of sets: draws with the levels embedder and seed.

        "uni: SIF" is the variant "SIF" of "uni". What is not trained scores the same
        for each seed. The draws are enough for a `family` of so many comparisons.
        """
        sets = [own for group in groups for own in self._sets(group)]
        values = [self._values(names, own) for own in sets]
        by_set = draws(sets, values, self.sampling.for_family(family))
        return mean_over(mean_over(by_set, "set"), "group")

    def on_each_set(self, names: Sequence[str], group: str) -> dict[str, pd.DataFrame]:
        """The scores as `scores` has them, in each set of a group."""
        scores = {}
        for own in self._sets(group):
            in_set = draws([own], [self._values(names, own)], self.sampling)
            scores[own.name] = in_set[group, own.name]
        return scores

    def _sets(self, group: str) -> list[ItemSet]:
        return [item_set for item_set in self.sets if item_set.group == group]

    def _values(self, names: Sequence[str], item_set: ItemSet) -> pd.DataFrame:
        """A row for each item, a column for each embedder and seed."""
        values = []
        for name in names:
            trained, _, variant = name.partition(": ")
            key = f"{variant}/{item_set.group}/{item_set.name}"
            values.append(self.values[trained][key])
        by_seed = [pd.DataFrame(own) for own in np.broadcast_arrays(*values)]
        return pd.concat(by_seed, axis=1, keys=names, names=["embedder", "seed"])
