"""Mean reciprocal rank: how near to the top of its list does an embedder put the right answer?

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 8 and appendix B.5 (Table 4).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lib import embedders, needles, stats
from lib.corpora import Corpus
from lib.embedders.base import Embeddings, stack
from lib.neighbors import exact
from lib.neighbors.ranking import Ranks, ranks
from lib.run import arrays, progress
from lib.run.errors import InputError
from lib.store import EmbeddingStore, fit

__all__ = ["Ranks", "chance", "expected_reciprocal_ranks", "mean_reciprocal_rank", "ranks"]


def mean_reciprocal_rank(ranks: ArrayLike) -> float:
    """The mean of 1 / rank (Table 4).

    Parameters
    ----------
    ranks : int[q]
        Whole numbers from 1 on, such as those of `Ranks`.

    Returns
    -------
    float
        In (0, 1]; 1 if every right answer comes first.

    Raises
    ------
    InputError
        A rank that is none, or no ranks.
    """
    return float(np.mean(1 / _checked(ranks)))


def chance(size: int) -> float:
    """The MRR to be expected of a random ranking of `size` sentences, one of which is right: the mean of 1/1 to 1/size.

    Parameters
    ----------
    size : int
        At least 1, the right answer included.

    Returns
    -------
    float
        In (0, 1].
    """
    return float(np.mean(1 / np.arange(1, size + 1)))


def expected_reciprocal_ranks(ranks: ArrayLike, haystack: ArrayLike, size: int) -> np.ndarray:
    r"""What 1 / rank is on average in a haystack of which only `size` sentences are left, drawn at random.

    Of N sentences K = rank - 1 are nearer than the right answer. Of the m that are left, G are, which is
    hypergeometric, and by Vandermonde's identity

        E[1 / (1 + G)] = (N + 1) / ((K + 1) (m + 1)) * (1 - C(N - K, m + 1) / C(N + 1, m + 1)).

    Parameters
    ----------
    ranks, haystack : int[q]
        Each right answer's rank, and among how many other sentences.
    size : int
        At least 0; a haystack that has no more is left whole.

    Returns
    -------
    float64[q]
        In (0, 1], falling with `size` to 1 / rank.

    Raises
    ------
    InputError
        A rank that its haystack cannot have, or a negative size.
    """
    ranks, haystack = np.broadcast_arrays(_checked(ranks), arrays.whole("haystack", haystack))
    if (ranks > haystack + 1).any() or size < 0:
        raise InputError("ranks, size: a rank is at most one more than its haystack has, and size at least 0")
    kept, total = np.minimum(size, haystack) + 1, haystack + 1
    met = [_met(*each) for each in zip(ranks.tolist(), kept.tolist(), total.tolist(), strict=True)]
    return np.array(met) * total / (ranks * kept)


def _met(rank: int, kept: int, total: int) -> float:
    """1 - C(total - rank, kept) / C(total, kept), a product of few factors: factorials would cancel."""
    few, many = sorted((rank, kept))
    if few + many > total:
        return 1.0
    return float(-np.expm1(np.log1p(-many / (total - np.arange(few))).sum()))


def _checked(ranks: ArrayLike) -> np.ndarray:
    array = arrays.whole("ranks", ranks)
    if array.ndim != 1 or not array.size or array.min() < 1:
        raise InputError("ranks: give one list of whole numbers from 1 on")
    return array


# -- the experiment -----------------------------------------------------------------------------


def search(
    names: Sequence[str], corpus: Corpus, pairs: needles.Pairs, show_progress_bar: bool = True
) -> tuple[dict[str, Ranks], pd.DataFrame]:
    """The rank at which each embedder finds each pair's needle.

    The haystack of a pair is the corpus without the query, the needle and whatever is known to mean the same
    (`lib.needles.hidden`). What an embedder learns from text it learns from the corpus.

    Parameters
    ----------
    names : embedders of the registry

    Returns
    -------
    found : for each name the Ranks of all pairs
    costs : DataFrame with columns embedder, family, dim, embed_seconds and rank_seconds
    """
    hidden, places = needles.hidden(pairs, corpus), needles.locate(corpus, pairs.sentences)
    found, costs = {}, []
    for name in progress.track(names, "embedders", unit="embedders", show=show_progress_bar):
        started = time.perf_counter()
        hay, both = embed(name, corpus, pairs.sentences, places, show_progress_bar)
        embedded = time.perf_counter()
        found[name] = ranks(both[: len(pairs)], both[len(pairs) :], hay, hidden)
        ranked = time.perf_counter()
        costs.append((name, embedders.family(name), hay.shape[1], embedded - started, ranked - embedded))
    return found, pd.DataFrame(costs, columns=["embedder", "family", "dim", "embed_seconds", "rank_seconds"])


def embed(
    name: str,
    corpus: Corpus,
    sentences: Sequence[str],
    places: np.ndarray | None = None,
    show_progress_bar: bool = False,
) -> tuple[Embeddings, Embeddings]:
    """The vectors of a corpus, and of some sentences under the same embedder, which is fitted on the corpus alone.

    Both come from the store (`lib.store`), which encodes what it does not have. A sentence of the corpus gets the
    vector that it has there; `places` are the sentences' corpus indices (`lib.needles.locate`), if they are known.
    """
    places = needles.locate(corpus, sentences) if places is None else places
    store, embedder = EmbeddingStore(), embedders.load(name)
    hay = store.embed(embedder, corpus, show_progress_bar=show_progress_bar)
    inside, outside = np.flatnonzero(places >= 0), np.flatnonzero(places < 0)
    parts = [hay[places[inside]]]
    if outside.size:
        others = [sentences[i] for i in outside]
        parts.append(store.embed(fit(embedder, corpus), others, show_progress_bar=show_progress_bar))
    return hay, stack(parts)[np.argsort(np.concatenate([inside, outside]))]


def found_first(names: Sequence[str], corpus: Corpus, pairs: needles.Pairs) -> dict[str, np.ndarray]:
    """What of each pair's haystack is nearest to its query, for each embedder: corpus indices, int64[q].

    The needle is not among them: where its rank is 1, this is what would be found without it.
    """
    hidden, places = needles.hidden(pairs, corpus), needles.locate(corpus, pairs.sentences)
    nearest = {}
    for name in names:
        hay, both = embed(name, corpus, pairs.sentences, places)  # what `search` has stored
        nearest[name] = exact(both[: len(pairs)], hay, 1, exclude=hidden).ids[:, 0]
    return nearest


# -- tables -------------------------------------------------------------------------------------


def summary(
    found: Mapping[str, Ranks], clusters: np.ndarray, rng: np.random.Generator, repetitions: int, confidence: float
) -> pd.DataFrame:
    """Table 4 with intervals: a row for each embedder, by falling MRR.

    Parameters
    ----------
    found : for each embedder's name its Ranks
    clusters : int[q], equal for pairs that are not independent (`lib.needles.clusters`)

    Returns
    -------
    DataFrame with columns mrr; top_1 and top_5, the number of needles at rank 1 and in the first five; each followed
    by its bootstrap interval over pairs (_low, _high); median_rank; tied, the number of needles with an equally near
    sentence in their haystack; mrr_ties_lost, the MRR if all of these come before the needle
    """
    table = np.stack([lists.ranks for lists in found.values()], axis=1)  # (pairs, embedders)
    per_pair = {"mrr": 1 / table, "top_1": table <= 1, "top_5": table <= 5}
    values = np.hstack(list(per_pair.values())).astype(np.float64)
    bounds = np.stack(stats.bootstrap_mean(values, rng, clusters, None, repetitions, confidence))
    columns = {}
    for (name, of_each), (low, high) in zip(per_pair.items(), np.split(bounds, 3, axis=1), strict=True):
        counted = name != "mrr"
        scale = len(table) if counted else 1
        columns[name] = of_each.sum(axis=0) if counted else of_each.mean(axis=0)
        columns |= {f"{name}_low": scale * low, f"{name}_high": scale * high}
    columns["median_rank"] = np.median(table, axis=0)
    columns["tied"] = [int((lists.tied > 0).sum()) for lists in found.values()]
    columns["mrr_ties_lost"] = [mean_reciprocal_rank(lists.ranks + lists.tied) for lists in found.values()]
    return pd.DataFrame(columns, index=list(found)).sort_values("mrr", ascending=False, kind="stable")


def contrasts(
    found: Mapping[str, Ranks],
    names: Sequence[tuple[str, str]],
    clusters: np.ndarray,
    rng: np.random.Generator,
    repetitions: int,
    confidence: float,
) -> pd.DataFrame:
    """How much higher the MRR of the first embedder of each two is, with a paired bootstrap interval over pairs.

    Returns a DataFrame with columns a, b, difference (MRR of a less that of b), low and high; it has the rows of
    `names`, in their order.
    """
    columns = ["a", "b", "difference", "low", "high"]
    if not names:
        return pd.DataFrame(columns=columns)
    apart = np.stack([1 / found[a].ranks - 1 / found[b].ranks for a, b in names], axis=1)
    low, high = stats.bootstrap_mean(apart, rng, clusters, None, repetitions, confidence)
    rows = [(*both, *row) for both, row in zip(names, np.c_[apart.mean(axis=0), low, high], strict=True)]
    return pd.DataFrame(rows, columns=columns)


def by_haystack_size(
    found: Mapping[str, Ranks],
    sizes: Sequence[int],
    clusters: np.ndarray,
    rng: np.random.Generator,
    repetitions: int,
    confidence: float,
) -> dict[str, pd.DataFrame]:
    """The MRR to be expected in smaller haystacks (`expected_reciprocal_ranks`), for each embedder.

    Returns for each name a DataFrame with columns value, low and high (the bootstrap interval over pairs), indexed by
    the size of the haystack.
    """
    curves = {}
    for name, lists in found.items():
        expected = [expected_reciprocal_ranks(lists.ranks, lists.haystack, size) for size in sizes]
        values = np.stack(expected, axis=1)  # (pairs, sizes)
        low, high = stats.bootstrap_mean(values, rng, clusters, None, repetitions, confidence)
        table = {"value": values.mean(axis=0), "low": low, "high": high}
        curves[name] = pd.DataFrame(table, index=pd.Index(sizes, name="sentences"))
    return curves
