"""Approximate nearest neighbors by cosine similarity: an index is built once, then searched in less than linear time.

"Situating Sentence Embedders with Nearest Neighbor Overlap", appendix C, which searched with NGT and advises to
tune on a few held-out queries: `lib.neighbors.tuning` does so. What comes back has the form of `exact`; only some of
the true neighbors may be missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from lib.neighbors import Neighbors, exact, indexes
from lib.neighbors.contract import best, check_k, check_shapes, exclusions, scaled, unit
from lib.run import arrays, parameters, progress
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of

ADD_BLOCK = 8192  # corpus vectors; part of what an HNSW graph depends on
QUERY_BLOCK = 256
PAIR_BLOCK = 8192
DECIMALS = 12  # similarities are tied as in `exact`

_STRUCTURES: dict[str, Callable[..., indexes.Structure]] = {
    "hnsw": indexes.Hnsw,
    "ivf": indexes.Ivf,
    "ngt": indexes.Ngt,
}
SETTINGS: dict[str, dict[str, int]] = {
    "hnsw": {"M": 32, "ef_construction": 100},
    "ivf": {"nlist": 0},
    "ngt": {"edge_size_for_creation": 10, "edge_size_for_search": 40},
}


def build(
    corpus: np.ndarray,
    method: str = "hnsw",
    seed: int = 0,
    threads: int = 1,
    show_progress_bar: bool = False,
    **settings: int,
) -> Index:
    """Build an index of `corpus`.

    Parameters
    ----------
    corpus : float[n, d], a memory-map will do; it must stay as it is, since searches read it
    method : "hnsw", "ivf" (both from faiss) or "ngt" (the optional package ngt)
    seed : of HNSW's levels and of IVF's k-means; NGT takes none and draws the same every time
    threads : of building and searching. With one, two builds are the same. More give that up, except where the
        library promises it: faiss 1.15.1 builds the same graph with any number, NGT promises nothing.
    **settings : for hnsw ``M`` (32; links of a vector) and ``ef_construction`` (100); for ivf ``nlist`` (0: the
        nearest to 4 sqrt(n) that leaves 39 vectors a cell); for ngt ``edge_size_for_creation`` (10) and
        ``edge_size_for_search`` (40)

    Raises
    ------
    InputError
        NaN or infinity, no vector that is not zero, an unknown method or setting, a value out of its range (more
        cells than vectors, say), or ngt is not installed.
    """
    corpus = _dense("corpus", corpus)
    one_of("method", method, _STRUCTURES)
    parameters.check(settings, SETTINGS[method], method)
    in_range("seed", seed, 0, 2**31 - 1)
    in_range("threads", threads, 1, 1024)
    started = time.perf_counter()
    lengths = _lengths(corpus)
    kept = np.flatnonzero(lengths)
    if not len(kept):
        raise InputError(f"corpus: none of its {len(corpus)} vectors differs from zero; give at least one that does")
    structure = _STRUCTURES[method](corpus.shape[1], len(kept), seed, threads, **(SETTINGS[method] | settings))
    if structure.sample_size:
        structure.train(unit(corpus[_sample(kept, structure.sample_size, seed)]).astype(np.float32))
    with progress.bar(len(kept), f"index {method}", unit="vectors", show=show_progress_bar) as bar:
        for start in range(0, len(kept), ADD_BLOCK):
            block = kept[start : start + ADD_BLOCK]
            structure.add(unit(corpus[block]).astype(np.float32))
            bar.update(len(block))
        structure.finish()
    return Index(method, corpus, lengths, structure, time.perf_counter() - started)


class Index:
    """An index made by `build`.

    Attributes
    ----------
    method : str
    settings : dict, what it was built with
    corpus : float[n, d], what it was built from
    effort_name : str, the parameter that trades time for recall: ef_search (hnsw), nprobe (ivf), epsilon (ngt)
    default_effort : its value in a search that names none
    build_seconds : float
    """

    def __init__(
        self,
        method: str,
        corpus: np.ndarray,
        lengths: np.ndarray,
        structure: indexes.Structure,
        build_seconds: float,
    ) -> None:
        self.method, self.settings, self.build_seconds = method, structure.settings, build_seconds
        self.effort_name, self.default_effort = structure.effort_name, structure.default
        self.corpus = corpus
        self._structure, self._lengths = structure, lengths
        # Corpus indices of the vectors in the structure, and of those that are not.
        self._kept, self._zeros = np.flatnonzero(lengths), np.flatnonzero(lengths == 0)

    def __len__(self) -> int:
        return len(self.corpus)

    def size(self) -> int:
        """Bytes of the index, its own float32 copy of the vectors included."""
        return self._structure.size()

    def efforts(self, k: int) -> Sequence[float]:
        """Every effort that tuning may choose for `k` neighbors, ascending."""
        return self._structure.efforts(k)

    def search(
        self,
        queries: np.ndarray,
        k: int,
        exclude: Sequence[int] | Sequence[Sequence[int]] | None = None,
        effort: float | None = None,
        show_progress_bar: bool = False,
    ) -> Neighbors:
        """Find `k` corpus vectors with high cosine similarity to each query.

        Parameters
        ----------
        queries : float[q, d]
        k : int, at least 1
        exclude : for each query the corpus index, or a sequence of indices, that it may not return; -1 or an empty
            sequence for none
        effort : value of `effort_name`; None for `default_effort`

        Returns
        -------
        Neighbors
            Always k of them: where the index finds fewer, it is searched wider and at last exactly. Similarities
            are computed anew from the corpus in float64; ties among the found go to the lower index. A zero vector
            has similarity 0 to everything.

        Raises
        ------
        InputError
            As `exact`, and for an effort out of its range.
        """
        queries = _dense("queries", queries)
        check_shapes(queries, self.corpus)
        excluded = exclusions(exclude, len(queries), len(self))
        check_k(k, excluded, len(self))
        effort = self.default_effort if effort is None else effort
        in_range(self.effort_name, effort, *self._structure.accepted)
        similarities, ids = np.empty((len(queries), k)), np.empty((len(queries), k), np.int64)
        with progress.bar(len(queries), f"search {self.method}", unit="queries", show=show_progress_bar) as bar:
            for start in range(0, len(queries), QUERY_BLOCK):
                rows = slice(start, start + QUERY_BLOCK)
                directions = unit(queries[rows], "queries", start)
                similarities[rows], ids[rows] = self._search(directions, k, excluded[rows], effort)
                bar.update(len(excluded[rows]))
        return Neighbors(ids, similarities.astype(np.float32))

    def _search(
        self, directions: np.ndarray, k: int, excluded: list[np.ndarray], effort: float | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Similarities float64[q, k] and ids int64[q, k] of one block of unit queries."""
        similarities, ids = np.full((len(excluded), k), -np.inf), np.empty((len(excluded), k), np.int64)
        short = np.flatnonzero(directions.any(axis=1))  # a zero query has no direction to search in
        while len(short) and effort is not None:
            hidden = [excluded[row] for row in short]
            candidates = self._candidates(directions[short], k + max(map(len, hidden)), effort)
            values = self._similarities(directions[short], candidates, hidden)
            similarities[short], ids[short] = best(values, candidates, k)
            short = short[similarities[short, k - 1] == -np.inf]
            effort = self._structure.wider(effort)
        rest = np.flatnonzero(similarities[:, k - 1] == -np.inf)
        if len(rest):
            found = exact(directions[rest], self.corpus, k, exclude=[excluded[row] for row in rest])
            similarities[rest], ids[rest] = found.similarities, found.ids
        return similarities, ids

    def _candidates(self, directions: np.ndarray, width: int, effort: float) -> np.ndarray:
        """Corpus indices int64[q, c], ascending in each row, NONE first; at least `width` columns if there are."""
        found = self._structure.find(directions.astype(np.float32), min(width, len(self._kept)), effort)
        found = np.where(found == indexes.NONE, indexes.NONE, self._kept[found])
        # Zero vectors are not in the structure. All equally near, the lowest of them stand for the rest.
        zeros = np.broadcast_to(self._zeros[:width], (len(found), len(self._zeros[:width])))
        return np.sort(np.hstack([found, zeros]), axis=1)

    def _similarities(self, directions: np.ndarray, candidates: np.ndarray, hidden: list[np.ndarray]) -> np.ndarray:
        """Cosines float64[q, c], -infinity where there is no candidate or a query may not return it."""
        values = np.full(candidates.shape, -np.inf)
        rows, columns = np.nonzero((candidates != indexes.NONE) & ~_is_hidden(candidates, hidden, len(self)))
        for start in range(0, len(rows), PAIR_BLOCK):
            i, j = rows[start : start + PAIR_BLOCK], columns[start : start + PAIR_BLOCK]
            found = candidates[i, j]
            products = np.einsum("pd,pd->p", directions[i], scaled(self.corpus[found]))
            lengths = self._lengths[found]
            values[i, j] = np.round(products / np.where(lengths > 0, lengths, 1.0), DECIMALS)
        return values


def _is_hidden(candidates: np.ndarray, hidden: list[np.ndarray], n: int) -> np.ndarray:
    """bool[q, c]: which candidates their query may not return. A query and an index make one number."""
    rows = np.repeat(np.arange(len(hidden)), [len(entry) for entry in hidden])
    pairs = rows * n + np.concatenate(hidden)
    return np.isin(np.arange(len(hidden))[:, None] * n + candidates, pairs) & (candidates != indexes.NONE)


# -- building -----------------------------------------------------------------------------------


def _dense(parameter: str, vectors: Any) -> np.ndarray:
    if sp.issparse(vectors):
        raise InputError(f"{parameter}: is sparse; give a dense array, or search exactly with lib.neighbors.exact")
    return arrays.matrix(parameter, vectors)


def _lengths(corpus: np.ndarray) -> np.ndarray:
    """float64[n], the lengths of the vectors once `scaled`, all of them checked for NaN and infinity."""
    lengths = np.empty(len(corpus))
    for start in range(0, len(corpus), ADD_BLOCK):
        part = corpus[start : start + ADD_BLOCK]
        directions = unit(part, "corpus", start)
        lengths[start : start + ADD_BLOCK] = np.einsum("nd,nd->n", scaled(part), directions)
    return lengths


def _sample(kept: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Ascending indices of the vectors to train on."""
    if len(kept) <= most:
        return kept
    return np.sort(np.random.default_rng(seed).choice(kept, most, replace=False))
