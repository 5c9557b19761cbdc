"""The index structures behind `lib.neighbors.approximate`: HNSW and IVF from faiss, NGT.

Each takes unit vectors float32 and names candidates; similarities, exclusions and what to do when there are too
few of them are the business of `approximate.Index`.
"""

from __future__ import annotations

import importlib
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lib.run.errors import InputError
from lib.run.parameters import in_range

NONE = -1  # stands where an index found nothing, in faiss and here
# IVF: faiss advises against fewer than 39 vectors for each k-means centroid and uses no more than 256.
LEAST_PER_CELL, MOST_PER_CELL = 39, 256
MOST_EF = 4096  # where tuning gives up: a graph that has not found them by then is not connected well enough


class Structure(ABC):
    """An approximate index over the unit vectors that it was given, in their order.

    Attributes
    ----------
    effort_name : str, what the literature calls the parameter that trades time for recall
    accepted : (low, high), its range
    default : the effort of a search that names none
    settings : what it was built with
    sample_size : how many vectors `train` wants at most
    """

    effort_name: str
    accepted: tuple[float, float]
    default: float
    settings: dict[str, int]
    sample_size: int = 0

    def train(self, sample: np.ndarray) -> None:  # noqa: B027 - no need to override
        """Learn from unit vectors, float32[s, d], before the first `add`; called if `sample_size` is not 0."""

    @abstractmethod
    def add(self, vectors: np.ndarray) -> None:
        """Take in unit vectors, float32[b, d]."""

    def finish(self) -> None:  # noqa: B027 - no need to override
        """Called once, after the last `add`."""

    @abstractmethod
    def find(self, queries: np.ndarray, width: int, effort: float) -> np.ndarray:
        """int64[q, width], the numbers of the vectors found for unit queries float32[q, d], NONE where missing."""

    @abstractmethod
    def size(self) -> int:
        """Bytes that the finished index takes on disk, the vectors in it included."""

    @abstractmethod
    def efforts(self, k: int) -> Sequence[float]:
        """Every effort that tuning may choose for `k` neighbors, ascending."""

    def wider(self, effort: float) -> float | None:
        """The effort to try next for a query that got too few; None where more effort would not help."""
        return None


# -- faiss --------------------------------------------------------------------------------------


class _Faiss(Structure):
    index: Any  # faiss.Index
    threads: int

    def add(self, vectors: np.ndarray) -> None:
        with _faiss_threads(self.threads):
            self.index.add(vectors)

    def find(self, queries: np.ndarray, width: int, effort: float) -> np.ndarray:
        with _faiss_threads(self.threads):
            return self.index.search(queries, width, params=self._parameters(int(effort)))[1]

    @abstractmethod
    def _parameters(self, effort: int) -> Any:
        """faiss.SearchParameters of one search: the index itself keeps none from call to call."""

    def size(self) -> int:
        import faiss

        written = 0

        def count(piece: bytes) -> int:
            nonlocal written
            written += len(piece)
            return len(piece)

        faiss.write_index(self.index, faiss.PyCallbackIOWriter(count))
        return written


class Hnsw(_Faiss):
    """Hierarchical navigable small worlds (Malkov and Yashunin, 2018), vectors uncompressed.

    The effort is `ef_search`, the length of the list of candidates; faiss takes at least k.
    """

    effort_name = "ef_search"
    accepted = (1, 1_000_000)
    default = 128

    def __init__(self, dimensions: int, n: int, seed: int, threads: int, M: int, ef_construction: int) -> None:
        import faiss

        in_range("M", M, 2, 512, "links of a vector")
        in_range("ef_construction", ef_construction, 1, 1_000_000)
        self.n, self.threads, self.settings = n, threads, {"M": M, "ef_construction": ef_construction}
        self.index = faiss.IndexHNSWFlat(dimensions, M, faiss.METRIC_INNER_PRODUCT)
        self.index.hnsw.efConstruction = ef_construction
        self.index.hnsw.rng = faiss.RandomGenerator(seed)

    def _parameters(self, effort: int) -> Any:
        import faiss

        return faiss.SearchParametersHNSW(efSearch=effort)

    def efforts(self, k: int) -> Sequence[int]:
        return range(k, max(k, min(self.n, MOST_EF)) + 1)


class Ivf(_Faiss):
    """Inverted file: k-means cells, of which the `nprobe` nearest to the query are searched (Jegou et al., 2011)."""

    effort_name = "nprobe"

    def __init__(self, dimensions: int, n: int, seed: int, threads: int, nlist: int) -> None:
        import faiss

        in_range("nlist", nlist, 0, n, "0 for the usual; no more cells than vectors that are not zero")
        self.nlist, self.threads = nlist or _cells(n), threads
        self.settings = {"nlist": self.nlist}
        self.accepted, self.default = (1, self.nlist), max(1, self.nlist // 8)
        self.sample_size = self.nlist * MOST_PER_CELL
        cells = faiss.IndexFlatIP(dimensions)
        self.index = faiss.IndexIVFFlat(cells, dimensions, self.nlist, faiss.METRIC_INNER_PRODUCT)
        self.index.cp.seed = seed
        self.index.cp.min_points_per_centroid = 1  # fewer are the caller's choice; faiss would print a warning

    def train(self, sample: np.ndarray) -> None:
        with _faiss_threads(self.threads):
            self.index.train(sample)

    def _parameters(self, effort: int) -> Any:
        import faiss

        return faiss.SearchParametersIVF(nprobe=effort)

    def efforts(self, k: int) -> Sequence[int]:
        return range(1, self.nlist + 1)

    def wider(self, effort: float) -> int | None:
        return min(2 * int(effort), self.nlist) if effort < self.nlist else None


def _cells(n: int) -> int:
    """As many cells as usual for n vectors: 4 sqrt(n), fewer where that would leave too few to train on."""
    return max(1, min(round(4 * n**0.5), n // LEAST_PER_CELL))


@contextmanager
def _faiss_threads(threads: int) -> Iterator[None]:
    """faiss has one number of threads for the whole process: set it and put it back."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


# -- NGT ----------------------------------------------------------------------------------------


class Ngt(Structure):
    """Neighborhood graph and tree (Iwasaki and Miyazaki, 2018), the N2O paper's choice; needs the package ngt.

    The effort is `epsilon`: the search goes on through vectors up to 1 + epsilon times as far as the k-th found.
    """

    effort_name = "epsilon"
    accepted = (-1.0, 10.0)
    default = 0.1

    def __init__(
        self, dimensions: int, n: int, seed: int, threads: int, edge_size_for_creation: int, edge_size_for_search: int
    ) -> None:
        ngtpy = _ngtpy()
        in_range("edge_size_for_creation", edge_size_for_creation, 1, 1000)
        in_range("edge_size_for_search", edge_size_for_search, 0, 1000, "0 for all edges")
        self.threads = threads
        self.settings = {"edge_size_for_creation": edge_size_for_creation, "edge_size_for_search": edge_size_for_search}
        self.folder = Path(tempfile.mkdtemp(prefix="ngt-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        place = str(self.folder / "index")
        ngtpy.create(place, dimensions, distance_type="Normalized Cosine", **self.settings)
        self.index = ngtpy.Index(place, log_disabled=True)

    def add(self, vectors: np.ndarray) -> None:
        self.index.batch_insert(vectors, num_threads=self.threads, build=False)

    def finish(self) -> None:
        self.index.build_index(num_threads=self.threads)

    def find(self, queries: np.ndarray, width: int, effort: float) -> np.ndarray:
        found = np.full((len(queries), width), NONE, dtype=np.int64)
        for row, query in zip(found, queries, strict=True):
            ids = self.index.search(query, size=width, epsilon=float(effort), with_distance=False)
            row[: len(ids)] = ids
        return found

    def size(self) -> int:
        self.index.save()
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())

    def efforts(self, k: int) -> Sequence[float]:
        return [hundredths / 100 for hundredths in range(-10, 101)]


def _ngtpy() -> Any:
    # By name: the package is an extra, which nothing in the project requires.
    try:
        return importlib.import_module("ngtpy")
    except ImportError as error:
        raise InputError("method: 'ngt' needs the package ngt, which is not installed; pip install ngt") from error
