"""Table 2: agreement of cosines with people's ratings, as the embeddings are and after z-normalization."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp

from lib import embedders, exams, stats
from lib.catalog import published
from lib.corpora.text import lower_words
from lib.embedders.base import Embeddings
from lib.embedders.registry import STATIC
from lib.evaluation import Encode
from lib.exams import RatedPairs
from lib.pitfalls import resampling
from lib.run import progress
from lib.run.errors import InputError
from lib.similarity import correlations, difference, similarities
from lib.store import EmbeddingStore

WEIGHTED = ("sif", "usif")  # compositions that are compared with and without punctuation, beside the mean
ALIKE = 1e-9  # cosines that lie closer together than this are equal
MOST_BLANK = 0.1  # a larger share of pairs with a text of unknown words only is no basis for a comparison


class Judged(NamedTuple):
    """What some embedders say of a set of rated pairs.

    Attributes
    ----------
    pairs : RatedPairs, n of them
    raw, z : DataFrame n x embedders, the cosine of each pair as the embeddings are, and z-normalized
    blank : Series over embedders, the share of pairs with a text that has no word the embedder knows
    left_out : embedders that say the same of all pairs, each with that as its reason
    """

    pairs: RatedPairs
    raw: pd.DataFrame
    z: pd.DataFrame
    blank: pd.Series
    left_out: Mapping[str, str]

    def usable(self) -> Judged:
        """Without embedders that know too few of the words (`MOST_BLANK`), who join those that are left out."""
        knows = self.blank[self.raw.columns] <= MOST_BLANK
        few = {
            name: f"in {self.blank[name]:.0%} of the pairs, one text or both have no word that it knows"
            for name in knows.index[~knows]
        }
        kept = list(knows.index[knows])
        return self._replace(raw=self.raw[kept], z=self.z[kept], left_out=self.left_out | few)


def transductive(names: Sequence[str]) -> dict[str, Encode]:
    """Encoders that take common components from the very texts they encode, as SIF's and uSIF's papers do.

    For those of some embedders that are a composition of published word vectors and learn anything at all. Like
    z-normalization they then look at the texts that are judged, and not at the gold scores.
    """
    return {name: _on_judged_texts(name) for name in _published_words(names) if embedders.load(name).needs_fit}


def without_punctuation(names: Sequence[str]) -> dict[str, Encode]:
    """As `transductive`, with tokens that hold a letter or digit only; for published word vectors and their mean, too.

    Whether a full stop is a word is a choice that papers do not report.
    """
    kept = [name for name in _published_words(names) if name.split("+")[-1] in (*WEIGHTED, name)]
    return {name: _on_judged_texts(name, tokenize=lower_words) for name in kept}


def _published_words(names: Sequence[str]) -> list[str]:
    return [name for name in names if embedders.composes_words(name) and embedders.family(name) == STATIC]


def _on_judged_texts(name: str, **options: Callable) -> Encode:
    return lambda texts: EmbeddingStore().embed(embedders.load(name, **options), list(texts))


def texts_of(pairs: RatedPairs) -> list[str]:
    """Every text of a set once, in its order."""
    return list(dict.fromkeys([*pairs.left, *pairs.right]))


def embedded(
    encoders: Mapping[str, Encode], pairs: RatedPairs, show_progress_bar: bool = True
) -> dict[str, Embeddings]:
    """The embeddings of a set's texts (`texts_of`) by each embedder; a text that many pairs share is encoded once."""
    texts = texts_of(pairs)
    each = progress.track(list(encoders), f"encode {pairs.name}", unit="embedders", show=show_progress_bar)
    return {name: encoders[name](texts) for name in each}


def sides(vectors: Embeddings, pairs: RatedPairs) -> tuple[Embeddings, Embeddings]:
    """The embeddings of both sides of the pairs, out of those of their texts."""
    place = {text: i for i, text in enumerate(texts_of(pairs))}
    return tuple(vectors[[place[text] for text in side]] for side in (pairs.left, pairs.right))


def judge(vectors: Mapping[str, Embeddings], pairs: RatedPairs) -> Judged:
    """The cosines of all embedders, before and after z-normalization over the 2n rows (the paper's footnote 1).

    Parameters
    ----------
    vectors : for each embedder the embeddings of the set's texts (`embedded`)

    Raises InputError if no embedder tells any two pairs apart.
    """
    raw, z, blank, left_out = {}, {}, {}, {}
    for name, of_texts in vectors.items():
        both = sides(of_texts, pairs)
        before, after = (similarities(*both, normalize=how) for how in (None, "z"))
        unknown = sides(_blank(of_texts), pairs)
        blank[name] = float(np.mean(unknown[0] | unknown[1]))
        if min(np.ptp(before), np.ptp(after)) < ALIKE:
            left_out[name] = f"the same similarity for all {len(pairs)} pairs"
        else:
            raw[name], z[name] = before, after
    if not raw:
        raise InputError(f"{pairs.name}: every embedder finds all pairs equally similar; give others, or another set")
    return Judged(pairs, pd.DataFrame(raw), pd.DataFrame(z), pd.Series(blank), left_out)


def _blank(vectors: Embeddings) -> np.ndarray:
    """Which texts an embedder knows nothing of, bool[n]: zero, or what it gives to several texts more than any other.

    An embedder that centers its vectors (principal components of counts) has another vector than zero for those.
    """
    if sp.issparse(vectors):
        return np.diff(vectors.indptr) == 0
    rows = np.ascontiguousarray(vectors)
    contents = [row.tobytes() for row in rows]
    commonest, count = Counter(contents).most_common(1)[0]
    same = np.array([content == commonest for content in contents])
    return ~rows.any(axis=1) | (same & (count > 2))


class Resampled(NamedTuple):
    """Both correlations of each embedder in each resample, float64[r, e], as they are and z-normalized.

    The same resamples serve all embedders and both measures.
    """

    pearson: tuple[np.ndarray, np.ndarray]
    spearman: tuple[np.ndarray, np.ndarray]


def resample(judged: Judged, rng: np.random.Generator, repetitions: int = 1000) -> Resampled:
    """Draw pairs anew, with replacement; items where pairs share items (Lee's news)."""
    draws, gold = judged.pairs.draws(rng, repetitions), judged.pairs.gold
    both = np.hstack([judged.raw.to_numpy(), judged.z.to_numpy()])
    pearson, spearman = (np.split(of(both, gold, draws), 2, axis=1) for of in (exams.pearson, resampling.spearman))
    return Resampled(tuple(pearson), tuple(spearman))


def table(judged: Judged, resampled: Resampled, confidence: float = 0.95) -> pd.DataFrame:
    """One row for each embedder and measure, those with the lowest Pearson's correlation first.

    Returns
    -------
    DataFrame with columns embedder, dataset, pairs, blank (share of pairs), measure (pearson, spearman), raw, raw_low,
    raw_high, z, z_low, z_high, gain (z - raw), gain_low, gain_high, p (of Steiger's test that the gain is 0)

    Notes
    -----
    The test takes pairs for independent. Where they share items it is too sure: on Lee its standard error is half of
    that of a jackknife over the 50 documents, with which the intervals agree.
    """
    pairs, rows = judged.pairs, []
    for measure in ("pearson", "spearman"):
        before, after = getattr(resampled, measure)
        bounds = [_percentiles(some, confidence) for some in (before, after, after - before)]
        for i, name in enumerate(judged.raw):
            both = judged.raw[name].to_numpy(), judged.z[name].to_numpy()
            raw, z = (correlations(cosines, pairs.gold)[measure] for cosines in both)
            p = difference(both[1], both[0], pairs.gold, measure).p
            row = {"embedder": name, "dataset": pairs.name, "pairs": len(pairs), "blank": judged.blank[name]}
            row |= {"measure": measure}
            for (column, point), (low, high) in zip({"raw": raw, "z": z, "gain": z - raw}.items(), bounds, strict=True):
                row |= {column: point, f"{column}_low": low[i], f"{column}_high": high[i]}
            rows.append(row | {"p": p})
    found = pd.DataFrame(rows)
    order = found[found["measure"] == "pearson"].sort_values("raw", kind="stable")["embedder"]
    return found.set_index("embedder").loc[order].reset_index()


def _percentiles(values: np.ndarray, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    """As `stats.percentiles`, without the resamples in which a column was constant."""
    return stats.percentiles(values[~np.isnan(values).any(axis=1)], confidence)


SPREADS = {"range": np.ptp, "standard deviation": np.std}  # the paper's: divided by n, as its own table shows


def spread(judged: Judged, resampled: Resampled, confidence: float = 0.95) -> pd.DataFrame:
    """How far embedders lie apart, before and after; the intervals are over pairs, with these embedders.

    A resample adds noise of its own, which drives embedders apart: intervals of raw and z lean to the high side.

    Returns
    -------
    DataFrame with columns dataset, embedders, measure, spread (range, standard deviation), raw, raw_low, raw_high, z,
    z_low, z_high, change (z - raw), change_low, change_high
    """
    rows, gold = [], judged.pairs.gold
    for measure in ("pearson", "spearman"):
        points = [[correlations(side[name], gold)[measure] for name in side] for side in (judged.raw, judged.z)]
        for name, of in SPREADS.items():
            before, after = (of(some, axis=1) for some in getattr(resampled, measure))
            raw, z = (float(of(np.array(some))) for some in points)
            row = {"dataset": judged.pairs.name, "embedders": judged.raw.shape[1], "measure": measure, "spread": name}
            estimates = (("raw", raw, before), ("z", z, after), ("change", z - raw, after - before))
            for column, point, values in estimates:
                low, high = stats.percentiles(values[~np.isnan(values)], confidence)
                row |= {column: point, f"{column}_low": low, f"{column}_high": high}
            rows.append(row)
    return pd.DataFrame(rows)


def punctuation(judges: Mapping[str, Encode], names: Sequence[str], pairs: RatedPairs) -> pd.DataFrame:
    """UCP with and without punctuation among the tokens (`without_punctuation`).

    Returns
    -------
    DataFrame with columns embedder, punctuation ("with", "without"), raw, z, gain (z - raw, points); empty if none of
    the embedders composes published word vectors
    """
    bare, rows = without_punctuation(names), []
    for name in bare:
        for how, encode in (("with", judges[name]), ("without", bare[name])):
            both = sides(encode(texts_of(pairs)), pairs)
            raw, z = (correlations(similarities(*both, normalize=way), pairs.gold)["pearson"] for way in (None, "z"))
            rows.append((name, how, raw, z, 100 * (z - raw)))
    return pd.DataFrame(rows, columns=["embedder", "punctuation", "raw", "z", "gain"])


# -- beside the paper ---------------------------------------------------------------------------

# The paper's rows, and ours of the same name; then ours of the same kind, whose data or size is another.
ROWS: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "Glove-300d": (("glove-840b-300d", "glove-6b-300d"), ("glove-6b-50d",)),
    "Word2Vec-300d": (("w2v",), ("w2v-corpus-300d", "w2v-corpus")),
    "Word2Vec-800d": ((), ("w2v-corpus-800d", "w2v-corpus-300d", "w2v-corpus")),
    "InferSent-4096d": (("infersent-v1",), ()),
    "SIF-Glove-300d": (("glove-840b-300d+sif", "glove-6b-300d+sif"), ("glove-6b-50d+sif",)),
    "SIF-Word2Vec-300d": (("w2v+sif",), ("w2v-corpus+sif",)),
    "USE-512d": (("use-trf", "use-dan"), ("use-multilingual-q8",)),
    "Sent2Vec-700d": (("sent2vec-wiki-bigrams", "sent2vec-toronto-bigrams"), ("sent2vec-corpus-bi",)),
    "PMean-3600d": ((), ("glove-840b-300d+w2v+power-means", "glove-6b-50d+power-means")),
}
NOWHERE = {
    "Word2Vec-800d": "its authors trained it on Wikipedia and did not publish it; `w2v-corpus-800d` trains one here",
    "PMean-3600d": "two of its four sets of word vectors are not in the catalog; `A+B+power-means` joins yours",
}


def paper() -> pd.DataFrame:
    """Table 2 as published: standard, normalized (Pearson's correlation), indexed by model."""
    names = {"standard": "none", "normalized": "z-norm"}
    return pd.DataFrame(
        {
            column: published.cells("pitfalls_table2", by="model", measure="pearson", normalization=how)
            for column, how in names.items()
        }
    )


def beside(found: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """The paper's rows beside ours on one set; an embedder of the same kind where that of the same name is not here.

    Returns
    -------
    DataFrame with columns paper's row, standard, normalized, gain (points); ours, same (whether it is the same
    embedder), raw, z, our gain (points); NaN where there is none
    """
    pearson = found[(found["measure"] == "pearson") & (found["dataset"] == dataset)].set_index("embedder")
    rows = []
    for name, row in paper().iterrows():
        same, kin = ROWS[name]
        own = next((each for each in (*same, *kin) if each in pearson.index), None)
        ours = (np.nan,) * 3 if own is None else (*pearson.loc[own, ["raw", "z"]], 100 * pearson.loc[own, "gain"])
        verdict = "" if own is None else "yes" if own in same else "of its kind"
        points = 100 * (row["normalized"] - row["standard"])
        rows.append((name, row["standard"], row["normalized"], points, own or "", verdict, *ours))
    columns = ["paper's row", "standard", "normalized", "gain", "ours", "same", "raw", "z", "our gain"]
    return pd.DataFrame(rows, columns=columns)


def not_here(names: Sequence[str]) -> dict[str, str]:
    """The paper's rows that are not among some embedders by their own name, each with what to do about it."""
    reasons = {}
    for row, (same, _) in ROWS.items():
        if not set(same) & set(names):
            lacking = embedders.missing(same[:1]).get(same[0], "name it in embedder_names") if same else NOWHERE[row]
            reasons[row] = f"{same[0]}: {lacking}" if same else lacking
    return reasons
