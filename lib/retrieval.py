"""The needle in the haystack: at which rank does an embedder find the paraphrase of a sentence?

"Situating Sentence Embedders with Nearest Neighbor Overlap", section 8 and appendix B.5 (Table 4). The pairs come
from `lib.needles`, ranks from `lib.neighbors.ranking`.
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
from lib.run.parameters import in_range
from lib.store import EmbeddingStore, fit

__all__ = [
    "Ranks",
    "by_haystack_size",
    "contrasts",
    "embed",
    "expected_reciprocal_ranks",
    "found_first",
    "mean_reciprocal_rank",
    "ranks",
    "search",
    "summary",
]

MOST = 10**9  # sentences of a haystack

# -- measures -----------------------------------------------------------------------------------


def mean_reciprocal_rank(ranks: ArrayLike) -> float:
    """The mean of 1 / rank (Table 4), in (0, 1], 1 if every needle is found first.

    `ranks` are whole numbers, from 1 on. Raises InputError for anything else, and if there is none.
    """
    return float(np.mean(1 / _checked(ranks)))


def expected_reciprocal_ranks(ranks: ArrayLike, haystack: ArrayLike, size: int) -> np.ndarray:
    r"""What 1 / rank is on average in a haystack of which only `size` sentences are left, drawn blindly.

    Of N sentences K = rank - 1 are nearer than the needle. Of the m that are left, drawn without replacement, G are,
    which is hypergeometric, and

        E[1 / (1 + G)] = (N + 1) / ((K + 1) (m + 1)) * (1 - C(N - K, m + 1) / C(N + 1, m + 1)),

    since C(K, g) / (g + 1) = C(K + 1, g + 1) / (K + 1), and by Vandermonde's identity. Exact: nothing is drawn.

    Parameters
    ----------
    ranks, haystack : int[q], each needle's rank, and among how many sentences
    size : int, at least 0; a haystack that has no more is left whole

    Returns
    -------
    float64[q] in (0, 1], falling with `size` to 1 / rank

    Raises
    ------
    InputError
        A rank that its haystack cannot have, or a negative size.
    """
    ranks, haystack = _checked(ranks), arrays.whole("haystack", haystack)
    if haystack.shape not in ((), ranks.shape):
        raise InputError(f"haystack: {haystack.size} for {len(ranks)} ranks; give one for each")
    in_range("haystack", int(haystack.max()), 0, MOST, "sentences")
    ranks, haystack = np.broadcast_arrays(ranks, haystack)
    if (ranks > haystack + 1).any():
        worst = int(np.argmax(ranks > haystack + 1))
        raise InputError(f"ranks: {ranks[worst]} in a haystack of {haystack[worst]}; give at most one more than it has")
    if size < 0:
        raise InputError(f"size: {size} is not accepted; give 0 or more")
    left = np.minimum(size, haystack)
    met = [
        _some_nearer(*each) for each in zip(ranks.tolist(), (left + 1).tolist(), (haystack + 1).tolist(), strict=True)
    ]
    return np.array(met) * (haystack + 1) / (ranks * (left + 1.0))


def _some_nearer(rank: int, chosen: int, of: int) -> float:
    """1 - C(of - rank, chosen) / C(of, chosen), without the cancellation that large factorials would bring."""
    few, many = sorted((rank, chosen))
    if few + many > of:
        return 1.0
    return float(-np.expm1(np.log1p(-many / (of - np.arange(few))).sum()))


def _checked(ranks: ArrayLike) -> np.ndarray:
    array = arrays.whole("ranks", ranks)
    if array.ndim != 1 or not array.size:
        raise InputError(f"ranks: got shape {array.shape}; give one list of whole numbers")
    if array.min() < 1:
        raise InputError(f"ranks: holds {array.min()}; ranks start at 1")
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
