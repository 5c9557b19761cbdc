"""What the notebook on Sent2Vec asks of its models: word norms, phrases, and trainings that differ in one setting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from lib.catalog import published
from lib.corpora import text
from lib.embedders.base import Embeddings
from lib.exams import RatedPairs
from lib.neighbors import exact
from lib.run.errors import InputError
from lib.run.parameters import one_of
from lib.sent2vec import Sent2Vec
from lib.sent2vec.settings import Settings
from lib.sent2vec.text import END_OF_LINE

# Our name of a set: the paper's.
PUBLISHED_NAMES = {
    "STS14 deft-news": "STS 2014 News",
    "STS14 deft-forum": "STS 2014 Forum",
    "STS14 OnWN": "STS 2014 WordNet",
    "STS14 tweet-news": "STS 2014 Twitter",
    "STS14 images": "STS 2014 Images",
    "STS14 headlines": "STS 2014 Headlines",
    "SICK-R": "SICK 2014",
    "MRPC": "MSRP",
    **{name: name for name in ("MR", "CR", "SUBJ", "MPQA", "TREC")},
}
# Our name of an embedder: the paper's in Table 6 (with its data) and in Table 7; the rows of Tables 1 and 2 that stand
# opposite what is trained on another text are in `KIND`.
PRETRAINED = {
    f"sent2vec-{text_of}-{grams}": (data, short, f"Sent2Vec {long} {short.removeprefix('Sent2Vec ')}")
    for text_of, data, long in (
        ("toronto", "unordered sentences: Toronto Books", "book corpus"),
        ("wiki", "unordered sentences: Wikipedia", "wiki"),
        ("twitter", "unordered sentences: Twitter", "twitter"),
    )
    for grams, short in (("unigrams", "Sent2Vec uni."), ("bigrams", "Sent2Vec uni. + bi."))
}
# Our name of an embedder: the row of Table 4 that it stands beside, its own or that of its kind.
SMOOTHED = {
    "glove-840b-300d+sif": "GloVe + WR",
    "paragram-sl999+sif": "PSL + WR",
    "sent2vec-twitter-unigrams": "Sent2Vec unigrams",
    "sent2vec-twitter-bigrams": "Sent2Vec unigrams + bigrams",
    "glove-6b-50d+sif": "GloVe + WR",
    "sent2vec, uni": "Sent2Vec unigrams",
    "sent2vec, bi": "Sent2Vec unigrams + bigrams",
}
KIND = {
    "tfidf": ("Unigram TFIDF", "Unigram TF-IDF"),
    "w2v-corpus": ("Skipgram", "Skipgram"),
    "w2v-corpus-cbow": ("C-BOW", "C-BOW"),
    "pv-dbow-corpus": ("ParagraphVec DBOW", "ParagraphVec DBOW"),
    "pv-dm-corpus": ("ParagraphVec DM", "ParagraphVec DM"),
    "sent2vec, uni": ("Sent2Vec uni.", "Sent2Vec uni."),
    "sent2vec, bi": ("Sent2Vec uni. + bi.", "Sent2Vec uni. + bi."),
}

NEEDED = ("dim", "epochs", "lr", "subsample", "min_count", "dropout_k", "bucket")  # of a training that a notebook names


def settings(given: Mapping[str, Any], **more: Any) -> Settings:
    """Settings from a notebook's table, which gives `NEEDED`; a rare word is no target either, unless it says so.

    Raises InputError for a table that lacks one of them, and for a name that `Settings` does not have, or `more` has.
    """
    for name in given:
        one_of("training", name, [field.name for field in fields(Settings) if field.name not in more])
    if lacking := [name for name in NEEDED if name not in given]:
        raise InputError(f"training: lacks {lacking[0]!r}; give all of {', '.join(NEEDED)}")
    return Settings(**{"min_target_count": given["min_count"]} | given | more)


def tokenized(sentences: Sequence[str]) -> list[str]:
    """Sentences as Sent2Vec reads them: lower-cased tokens parted by blanks."""
    return [" ".join(text.lower_word_tokens(sentence)) for sentence in sentences]


class Encoder:
    """A model as a function from sentences to their embeddings, float32[n, dim]."""

    def __init__(self, model: Sent2Vec) -> None:
        self.model = model

    def __call__(self, sentences: Sequence[str]) -> Embeddings:
        return self.model.encode(tokenized(sentences))


def loss_curve(model: Sent2Vec) -> pd.DataFrame:
    """The mean loss of a target and its negatives (equation 3, without q_p), indexed by the epochs gone by."""
    steps = pd.DataFrame(model.history)
    epochs = model.settings.epochs * steps["words"] / steps["words"].iloc[-1]
    return pd.DataFrame({"value": steps["loss"].to_numpy()}, index=epochs.rename("epoch"))


def speed(model: Sent2Vec) -> pd.Series:
    """words (over all epochs), seconds and words per second of a training, the counting of words left out."""
    last = model.history[-1]
    return pd.Series({"words": last.words, "seconds": last.seconds, "words_per_second": last.words / last.seconds})


def norms(model: Sent2Vec, a: float) -> pd.DataFrame:
    """The length of each word's vector beside the weight that SIF would give it (the paper's figure 1).

    Returns
    -------
    DataFrame with columns word, frequency (a word's share of all tokens), norm, weight (a / (a + frequency))
    """
    dictionary = model.dictionary
    rows = [i for i in range(1, dictionary.n_words) if dictionary.words[i] != END_OF_LINE]
    words = [dictionary.words[i].decode(errors="replace") for i in rows]
    frequency = dictionary.counts[rows] / dictionary.tokens
    lengths = np.linalg.norm(np.asarray(model.input_matrix[rows]), axis=1)
    return pd.DataFrame({"word": words, "frequency": frequency, "norm": lengths, "weight": a / (a + frequency)})


def profile(table: pd.DataFrame, column: str, bins: int = 20) -> pd.DataFrame:
    """Median and quartiles (value, low, high) of a column of `norms`, in bins of equal width in log frequency."""
    logarithm = np.log10(table["frequency"])
    edges = np.linspace(logarithm.min(), logarithm.max(), bins + 1)[1:-1]
    groups = table[column].groupby(np.digitize(logarithm, edges))
    middle = 10 ** logarithm.groupby(np.digitize(logarithm, edges)).mean()
    low, value, high = (groups.quantile(share).to_numpy() for share in (0.25, 0.5, 0.75))
    return pd.DataFrame({"value": value, "low": low, "high": high}, index=middle.to_numpy())


def nearest_words(model: Sent2Vec, phrases: Sequence[str], k: int) -> pd.DataFrame:
    """The k words whose vectors are nearest to that of each phrase by cosine, the phrase's own words left out.

    Returns a DataFrame with columns phrase, nearest words. Raises InputError for a phrase of unknown words only.
    """
    vectors = model.word_vectors()
    words, place = list(vectors), {word: i for i, word in enumerate(vectors)}
    tokens = [line.split() for line in tokenized(phrases)]
    for phrase, own in zip(phrases, tokens, strict=True):
        if not any(word in place for word in own):
            raise InputError(f"phrases: no word of {phrase!r} is in the vocabulary; give words of the corpus")
    own = [[place[word] for word in known if word in place] for known in tokens]
    found = exact(model.encode(tokenized(phrases)), np.stack(list(vectors.values())), k, exclude=own).ids
    return pd.DataFrame({"phrase": phrases, "nearest words": [", ".join(words[i] for i in row) for row in found]})


def collocations(lines: Sequence[str], count: int, discount: int = 5) -> list[str]:
    """Two words that stand side by side more often than their frequencies would have it, such as "high priest".

    The score is that of word2vec's phrases (Mikolov et al. 2013, *Distributed Representations of Words and Phrases*,
    equation 6), (n(ab) - discount) / (n(a) n(b)), with n from tokenized `lines`; only scores above 0 count.

    Returns the `count` best, the greatest score first, equal ones in the order of the alphabet.
    """
    tokens = [line.split() for line in lines]
    single = Counter(token for line in tokens for token in line)
    double = Counter(pair for line in tokens for pair in pairwise(line) if all(word.isalpha() for word in pair))
    scores = {" ".join(pair): (n - discount) / (single[pair[0]] * single[pair[1]]) for pair, n in double.items()}
    return sorted((pair for pair in scores if scores[pair] > 0), key=lambda pair: (-scores[pair], pair))[:count]


def nearest_phrases(model: Sent2Vec, phrase: str, among: Sequence[str], k: int) -> list[str]:
    """The k of some phrases whose embeddings are nearest to that of a phrase by cosine, without the phrase itself."""
    others = [other for other in among if other != phrase]
    encode = Encoder(model)
    found = exact(encode([phrase]), encode(others), min(k, len(others))).ids[0]
    return [others[i] for i in found]


def vary(
    lines: Sequence[str], base: Settings, changes: Mapping[str, Mapping[str, Any]], show_progress_bar: bool = True
) -> dict[str, Sent2Vec]:
    """A model for each named set of changes to the settings, all trained on the same tokenized lines."""
    return {
        name: Sent2Vec.train(lines, base, show_progress_bar=show_progress_bar, **change)
        for name, change in changes.items()
    }


def known_share(model: Sent2Vec, pairs: RatedPairs) -> float:
    """The share of a set's tokens that are words of the model, in [0, 1]."""
    known = set(model.word_vectors())
    tokens = [token for line in tokenized([*pairs.left, *pairs.right]) for token in line.split()]
    return sum(token in known for token in tokens) / max(1, len(tokens))


def lengths(texts: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Table 8: sentences, and the average and standard deviation of their lengths in tokens, for each named text."""
    rows = []
    for name, sentences in texts.items():
        counts = np.array([len(line.split()) for line in tokenized(sentences)])
        rows.append((name, len(counts), counts.mean(), counts.std(ddof=1)))
    return pd.DataFrame(rows, columns=["dataset", "sentences", "average", "standard deviation"])


def beside(ratings: pd.DataFrame, classes: pd.DataFrame) -> pd.DataFrame:
    """Our scores beside those of Tables 1, 2, 6 and 7, for the sets that both sides have.

    `ratings` and `classes` are from `lib.evaluation.rate` and `classify`. Returns columns embedder, in the paper (the
    row's name), dataset, measure, published, ours, low, high and difference; an embedder is beside its own published
    row if it is pretrained, and else beside the row of its kind, which was trained on another text.
    """
    ours = _long(ratings, ("pearson", "spearman"), 1) + _long(classes, ("accuracy", "f1"), 100)
    tables = {number: published.load(f"sent2vec_table{number}") for number in (1, 2, 6, 7)}
    rows = []
    for embedder, dataset, measure, value, low, high in ours:
        row = _published(tables, embedder, dataset, measure)
        if row is not None and not pd.isna(value):
            rows.append((embedder, *row, measure, value, low, high))
    columns = ["embedder", "in the paper", "dataset", "published", "measure", "ours", "low", "high"]
    table = pd.DataFrame(rows, columns=columns)
    return table.assign(difference=table["ours"] - table["published"])


def beside_smoothed(ratings: pd.DataFrame, classes: pd.DataFrame) -> pd.DataFrame:
    """Our averages beside Table 4, which compares with smoothed inverse frequency ("WR").

    `ratings` and `classes` are from `lib.evaluation`. Returns columns embedder, in the paper (the row's name), dataset,
    published, ours (Pearson's correlation, averaged over the files of STS 2014; mean accuracy as a share) and
    difference.
    """
    of_sts = ratings[ratings["dataset"].str.startswith("STS14 ")].groupby("embedder")["pearson"].mean()
    of_sick = ratings[ratings["dataset"] == "SICK-R"].set_index("embedder")["pearson"]
    supervised = classes[classes["dataset"].isin(PUBLISHED_NAMES)].groupby("embedder")["accuracy"].mean()
    ours = {"STS 2014": of_sts, "SICK 2014": of_sick, "average of supervised tasks": supervised}
    stated = published.load("sent2vec_table4").set_index(["model", "dataset"])["value"]
    rows = [
        (embedder, model, dataset, stated[model, dataset], found[embedder])
        for embedder, model in SMOOTHED.items()
        for dataset, found in ours.items()
        if embedder in found and (model, dataset) in stated
    ]
    table = pd.DataFrame(rows, columns=["embedder", "in the paper", "dataset", "published", "ours"])
    return table.assign(difference=table["ours"] - table["published"])


def _long(table: pd.DataFrame, measures: Sequence[str], scale: float) -> list[tuple]:
    """(embedder, dataset, measure, value, low, high), the interval with the first measure only."""
    rows = []
    for row in table.to_dict("records"):
        for measure in measures:
            bounds = (scale * row["low"], scale * row["high"]) if measure == measures[0] else (np.nan, np.nan)
            value = np.nan if row[measure] is None else scale * row[measure]
            rows.append((row["embedder"], row["dataset"], measure, value, *bounds))
    return rows


def _published(tables: Mapping[int, pd.DataFrame], embedder: str, dataset: str, measure: str) -> tuple | None:
    """The published row's name, the dataset's published name and the number; None if there is none."""
    name, rated = PUBLISHED_NAMES.get(dataset), measure in ("pearson", "spearman")
    if embedder in PRETRAINED:
        data, supervised, unsupervised = PRETRAINED[embedder]
        model = unsupervised if rated else supervised
        table = tables[7] if rated else tables[6][tables[6]["data"] == data]
    elif embedder in KIND:
        model, table = KIND[embedder][rated], tables[2 if rated else 1]
    else:
        return None
    found = table[(table["model"] == model) & (table["dataset"] == name) & (table["measure"] == measure)]["value"]
    return None if found.empty or pd.isna(found.iloc[0]) else (model, name, float(found.iloc[0]))
