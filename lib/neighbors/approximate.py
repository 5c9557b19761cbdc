"""Approximate nearest neighbors by cosine similarity.

An index is built once, then searched in less than linear time.

"Situating Sentence Embedders with Nearest Neighbor Overlap", appendix C, which searched
with NGT. What comes back has the form of `exact`; only some of the true neighbors may
be missing.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import faiss
import numpy as np
import scipy.sparse as sp

from lib.base.errors import InputError
from lib.base.parameters import one_of
from lib.neighbors.brute_force import exact
from lib.neighbors.contract import Exclude, Neighbors, check, nearest_first, rounded
from lib.vectors import as_matrix, unit

ADD_BLOCK = 8192  # corpus vectors; part of what an HNSW graph depends on
QUERY_BLOCK = 256
NONE = -1  # stands where an index found nothing, in faiss and here
# IVF: faiss advises against fewer than 39 vectors for each k-means centroid and uses no
# more than 256.
LEAST_PER_CELL, MOST_PER_CELL = 39, 256
# Where tuning gives up: a graph that has not found them by then is not connected well
# enough.
MOST_EF = 4096


def build(
    corpus: np.ndarray, method: str = "hnsw", seed: int = 0, **settings: int
) -> Index:
    """Build an index of `corpus`.

    Parameters
    ----------
    corpus : float[n, d]
        A memory-map will do; it must stay as it is, since searches read it.
    method : {"hnsw", "ivf", "ngt"}
        The first two from faiss, the third from the optional package ngt.
    seed : int
        For HNSW's levels and IVF's k-means. NGT takes none and always draws the same.
    **settings : int
        For hnsw ``M`` (32; links of a vector) and ``ef_construction`` (100); for ivf
        ``nlist`` (0: the nearest to 4 sqrt(n) that leaves 39 vectors a cell); for ngt
        ``edge_size_for_creation`` (10) and ``edge_size_for_search`` (40).

    Raises
    ------
    InputError
        NaN or infinity, only zero vectors, an unknown method, or ngt is not
        installed.

    Examples
    --------
    >>> from lib.neighbors.approximate import build
    >>> vectors = np.random.default_rng(0).normal(size=(1000, 16))
    >>> index = build(vectors, "hnsw")
    >>> index.search(vectors[:3], k=1).ids.ravel()
    array([0, 1, 2])
    """
    if sp.issparse(corpus):
        raise InputError(
            "corpus: is sparse; give a dense array, or search "
            "exactly with lib.neighbors.exact"
        )
    one_of("method", method, _METHODS)
    return _METHODS[method](as_matrix("corpus", corpus), seed, settings)


class Index:
    """An index made by `build`, of the corpus vectors that are not zero, with length 1.

    Attributes
    ----------
    corpus : float[n, d]
        What it was built from.
    settings : dict
        Those that it was given; for ivf the number of cells that it has.
    effort_name : str
        The parameter that trades time for recall: ef_search (hnsw), nprobe (ivf),
        epsilon (ngt).
    default_effort : float
        Its value in a search that names none.
    build_seconds : float

    Notes
    -----
    A method is a subclass with ``_create(seed, **settings)``, which makes an empty
    index; ``_add(vectors)`` for unit vectors float32[b, d]; ``_find(queries, width,
    effort)``, the numbers int64[q, width] of the vectors found for unit queries, NONE
    where missing; and ``efforts(k)``, all that tuning may choose for k neighbors,
    ascending.
    """

    effort_name: str
    default_effort: float
    efforts: Callable[[int], Sequence[float]]
    _create: Callable[..., None]
    _add: Callable[[np.ndarray], None]
    _find: Callable[[np.ndarray, int, float], np.ndarray]

    def __init__(self, corpus: np.ndarray, seed: int, settings: dict[str, int]) -> None:
        started = time.perf_counter()
        self.corpus = corpus
        self.settings = settings
        lengths = []
        for start in range(0, len(corpus), ADD_BLOCK):
            lengths.append(_lengths(corpus[start : start + ADD_BLOCK], start))
        self._lengths = np.concatenate(lengths)
        self._kept = np.flatnonzero(self._lengths)
        self._zeros = np.flatnonzero(self._lengths == 0)
        if not len(self._kept):
            raise InputError(
                f"corpus: all of its {len(corpus)} vectors are "
                "zero; give at least one that is not"
            )
        self._create(seed, **settings)
        for start in range(0, len(self._kept), ADD_BLOCK):
            self._add(self._units(self._kept[start : start + ADD_BLOCK]))
        self._finish()
        self.build_seconds = time.perf_counter() - started

    def search(
        self,
        queries: np.ndarray,
        k: int,
        exclude: Exclude = None,
        effort: float | None = None,
    ) -> Neighbors:
        """Find `k` corpus vectors with high cosine similarity to each query.

        Parameters
        ----------
        queries : float[q, d]
        k : int
            At least 1.
        exclude : sequence of int or of sequences of int, optional
            For query i the corpus index that it may not return, or several; -1 or an
            empty sequence for none.
        effort : float, optional
            Value of `effort_name`; `default_effort` without it.

        Returns
        -------
        Neighbors
            Always k of them: where the index finds fewer, the search is exact.
            Similarities are computed anew from the corpus in float64; ties among the
            found go to the lower index. A zero vector has similarity 0 to everything.

        Raises
        ------
        InputError
            As `exact`.
        """
        queries, _, excluded = check(queries, self.corpus, k, exclude)
        q = len(queries)
        n = len(self.corpus)
        # A query and an index in one number.
        hidden = excluded.queries * n + excluded.ids
        width = k + int(excluded.sizes(q).max(initial=0))
        similarities = np.full((q, k), -np.inf)
        ids = np.full((q, k), NONE)
        if effort is None:
            effort = self.default_effort
        for start in range(0, q, QUERY_BLOCK):
            directions = unit(queries[start : start + QUERY_BLOCK], "queries", start)
            # A zero query has no direction.
            nonzero = np.flatnonzero(directions.any(axis=1))
            directions = directions[nonzero]
            rows = start + nonzero
            candidates = self._candidates(directions, width, effort)
            cosines = self._similarities(directions, candidates)
            cosines[np.isin(rows[:, None] * n + candidates, hidden)] = -np.inf
            similarities[rows], ids[rows] = nearest_first(cosines, candidates, k)
        incomplete = np.flatnonzero(similarities[:, -1] == -np.inf)
        if len(incomplete):
            entries = None
            if exclude is not None:
                entries = [exclude[i] for i in incomplete.tolist()]
            neighbors = exact(queries[incomplete], self.corpus, k, entries)
            ids[incomplete] = neighbors.ids
            similarities[incomplete] = neighbors.similarities
        return Neighbors(ids, similarities.astype(np.float32))

    def _candidates(
        self, directions: np.ndarray, width: int, effort: float
    ) -> np.ndarray:
        """Corpus indices int64[q, c], NONE where fewer are found.

        There are at least `width` columns if the corpus has as many.
        """
        most = min(width, len(self._kept))
        places = self._find(directions.astype(np.float32), most, effort)
        ids = np.where(places == NONE, NONE, self._kept[places])
        # Zero vectors are not in the index. They are equally near, so the lowest of
        # them stand for the rest.
        zeros = np.tile(self._zeros[:width], (len(ids), 1))
        return np.hstack([ids, zeros])

    def _similarities(
        self, directions: np.ndarray, candidates: np.ndarray
    ) -> np.ndarray:
        """Cosines float64[q, c], -infinity where there is no candidate."""
        cosines = np.empty(candidates.shape)
        for direction, ids, row in zip(directions, candidates, cosines, strict=True):
            lengths = self._lengths[ids]
            vectors = self.corpus[ids].astype(np.float64)
            products = np.einsum("d,pd->p", direction, vectors)
            row[:] = rounded(products / np.where(lengths > 0, lengths, 1.0))
        cosines[candidates == NONE] = -np.inf
        return cosines

    def _units(self, chosen: np.ndarray) -> np.ndarray:
        return unit(self.corpus[chosen]).astype(np.float32)

    def _finish(self) -> None:
        """Called once, after the last `_add`."""


def _lengths(vectors: np.ndarray, first: int) -> np.ndarray:
    """float64[b]; InputError for NaN or infinity."""
    return np.einsum(
        "nd,nd->n", vectors.astype(np.float64), unit(vectors, "corpus", first)
    )


# -- faiss -----------------------------------------------------------------------------


class _Faiss(Index):
    index: faiss.Index
    _parameters: Callable[[int], faiss.SearchParameters]

    def _add(self, vectors: np.ndarray) -> None:
        with _one_thread():
            self.index.add(vectors)

    def _find(self, queries: np.ndarray, width: int, effort: float) -> np.ndarray:
        with _one_thread():
            parameters = self._parameters(int(effort))
            _, ids = self.index.search(queries, width, params=parameters)
        return ids


class Hnsw(_Faiss):
    """Hierarchical navigable small worlds (Malkov and Yashunin, 2018), uncompressed.

    The effort is `ef_search`, the length of the list of candidates; faiss takes at
    least k.
    """

    effort_name = "ef_search"
    default_effort = 128

    def _create(self, seed: int, M: int = 32, ef_construction: int = 100) -> None:
        self.index = faiss.IndexHNSWFlat(
            self.corpus.shape[1], M, faiss.METRIC_INNER_PRODUCT
        )
        self.index.hnsw.efConstruction = ef_construction
        self.index.hnsw.rng = faiss.RandomGenerator(seed)

    def _parameters(self, effort: int) -> faiss.SearchParameters:
        return faiss.SearchParametersHNSW(efSearch=effort)

    def efforts(self, k: int) -> Sequence[int]:
        """Each `efSearch` from k on, in rising order."""
        return range(k, max(k, min(len(self._kept), MOST_EF)) + 1)


class Ivf(_Faiss):
    """Inverted file: k-means cells (Jegou et al., 2011).

    The `nprobe` cells nearest to the query are searched.
    """

    effort_name = "nprobe"

    def _create(self, seed: int, nlist: int = 0) -> None:
        n = len(self._kept)
        dimensions = self.corpus.shape[1]
        nlist = nlist or max(1, min(round(4 * n**0.5), n // LEAST_PER_CELL))
        self.settings = {"nlist": nlist}
        self.default_effort = max(1, nlist // 8)
        self._cells = faiss.IndexFlatIP(dimensions)
        self.index = faiss.IndexIVFFlat(
            self._cells, dimensions, nlist, faiss.METRIC_INNER_PRODUCT
        )
        self.index.cp.seed = seed
        # A caller may choose to have fewer; faiss would print a warning.
        self.index.cp.min_points_per_centroid = 1
        sample = self._kept
        if n > nlist * MOST_PER_CELL:
            rng = np.random.default_rng(seed)
            sample = np.sort(rng.choice(sample, nlist * MOST_PER_CELL, replace=False))
        with _one_thread():
            self.index.train(self._units(sample))

    def _parameters(self, effort: int) -> faiss.SearchParameters:
        return faiss.SearchParametersIVF(nprobe=effort)

    def efforts(self, k: int) -> Sequence[int]:
        """Each number of cells that can be searched."""
        return range(1, self.settings["nlist"] + 1)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Make faiss use one thread, so that two builds are the same.

    Faiss has one number of threads for the whole process.
    """
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


# -- NGT -------------------------------------------------------------------------------


class Ngt(Index):
    """Neighborhood graph and tree (Iwasaki and Miyazaki, 2018), the N2O paper's choice.

    It needs the package ngt.

    The effort is `epsilon`: the search goes on through vectors up to 1 + epsilon times
    as far as the k-th found.
    """

    effort_name = "epsilon"
    default_effort = 0.1

    def _create(self, seed: int, **settings: int) -> None:
        try:
            import ngtpy
        except ImportError as error:
            raise InputError(
                "method: 'ngt' needs the package ngt, which is not "
                "installed; pip install ngt"
            ) from error
        folder = tempfile.mkdtemp(prefix="ngt-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        ngtpy.create(
            f"{folder}/index",
            self.corpus.shape[1],
            distance_type="Normalized Cosine",
            **settings,
        )
        self.index: Any = ngtpy.Index(f"{folder}/index", log_disabled=True)

    def _add(self, vectors: np.ndarray) -> None:
        self.index.batch_insert(vectors, num_threads=1, build=False)

    def _finish(self) -> None:
        self.index.build_index(num_threads=1)

    def _find(self, queries: np.ndarray, width: int, effort: float) -> np.ndarray:
        places = np.full((len(queries), width), NONE)
        for row, query in zip(places, queries, strict=True):
            ids = self.index.search(
                query, size=width, epsilon=float(effort), with_distance=False
            )
            row[: len(ids)] = ids
        return places

    def efforts(self, k: int) -> Sequence[float]:
        """Each epsilon from -0.1 to 1, in steps of 0.01."""
        return [hundredths / 100 for hundredths in range(-10, 101)]


_METHODS: dict[str, type[Index]] = {"hnsw": Hnsw, "ivf": Ivf, "ngt": Ngt}
