r"""Screens for dense vectors: cheap scores with error bounds, and exact similarities.

The similarities are float64. Let q and c be a query and a corpus vector of length 1,
and let their numbers be rounded to a format of unit roundoff u: every number becomes
itself times 1 + e with |e| <= u. The matrix product of d such numbers in float32
multiplies each of its terms by some 1 + g' with

    |g'| <= g = (d + 2) v / (1 - (d + 2) v),

in whatever order they are summed, where v is the unit roundoff of float32 (Higham,
Accuracy and Stability of Numerical Algorithms, section 3.1), here doubled for units
that cut off instead of rounding. A product in bfloat16 is rounded once more as it
leaves, by some 1 + o, |o| <= w. So the score s is the sum of q_i c_i, each times
(1 + e)(1 + e')(1 + g')(1 + o), and by the Cauchy-Schwarz inequality, since
|q| = |c| = 1,

    |s - q.c| <= ((1 + u)^2 (1 + g) (1 + w) - 1) sum |q_i c_i|
              <= (1 + u)^2 (1 + g) (1 + w) - 1,

which is the margin of a screen: 0.012 in bfloat16 (u = w = 2^-8), 0.00004 in float32 (d
= 300). Numbers that are too small for the format, the threshold, which is rounded to
it, and the 12 decimals of a similarity add less than 2^-22.

How it is used. A vector whose similarity is at least the k-th best that a query has so
far, f, has a score of at least f - margin: only these are compared in float64. For a
query that has not found k yet, f is the k-th highest score of the block minus the
margin, since k vectors are at least that similar. In a million random vectors of 300
dimensions about a thousand are compared for each query (k = 50). Vectors that bfloat16
cannot tell apart, because all of them lie within a narrow cone, pass in such numbers
that the search goes on in float32, and what float32 cannot tell apart float64 can.

bfloat16 is the upper half of a float32. Processors that compute in it (AVX-512 BF16,
AMX) multiply several times as fast, and read and write half as much. Its bits, taken as
whole numbers, order positive numbers as they are and put all negative ones below them;
a threshold that is not positive lets everything through.
"""

from __future__ import annotations

import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import cpu_count

from lib.base.compiled import njit
from lib.base.environment import single_threaded
from lib.base.errors import InputError
from lib.neighbors.contract import places
from lib.vectors import check_finite_rows

if TYPE_CHECKING:
    import torch

SLACK = 2.0**-22
SUMS = {
    "reassoc",
    "contract",
}  # sums may be reordered, so that they run in vector registers; NaN keeps its meaning


# -- every number of the corpus, compiled and run without Python's lock ----------------


@njit(nogil=True, fastmath=SUMS)
def _scale(rows, norms, i):
    """Write the length of row i, summed in float64, to `norms`; return its scale.

    The scale makes the length 1; it is 0 for a zero row.
    """
    total = 0.0
    for j in range(rows.shape[1]):
        value = np.float64(rows[i, j])
        total += value * value
    norms[i] = np.sqrt(total)
    return 1.0 / norms[i] if total > 0 else 0.0


@njit(nogil=True)
def _unit_float32(rows, norms, units):
    """Write the lengths of the rows, and the rows of length 1; zero rows stay zero."""
    for i in range(rows.shape[0]):
        scale = _scale(rows, norms, i)
        for j in range(rows.shape[1]):
            units[i, j] = rows[i, j] * scale


@njit(nogil=True)
def _unit_bfloat16(rows, norms, bits):
    """As `_unit_float32`, rounded to the nearest bfloat16.

    Half a unit of what is kept is added to the float32, and the rest is cut off.
    """
    for i in range(rows.shape[0]):
        scale = _scale(rows, norms, i)
        for j in range(rows.shape[1]):
            number = np.float32(rows[i, j] * scale)
            bits[i, j] = np.int16(
                (number.view(np.uint32) + np.uint32(0x8000)) >> np.uint32(16)
            )


@njit(nogil=True)
def _cosines(queries, rows, norms, i, j):
    """The similarity of each pair of a unit query i and a row j.

    Row j has length ``norms[j]``; with a zero row the similarity is 0.
    """
    cosines = np.empty(len(i))
    for p in range(len(i)):
        norm = norms[j[p]]
        cosines[p] = _dot(queries, i[p], rows, j[p]) / norm if norm > 0 else 0.0
    return cosines


@njit(nogil=True, fastmath=SUMS)
def _dot(queries, query, rows, row):
    total = 0.0
    for j in range(rows.shape[1]):
        total += queries[query, j] * np.float64(rows[row, j])
    return total


# -- screens ---------------------------------------------------------------------------


class Block(NamedTuple):
    """Consecutive vectors of the corpus.

    Attributes
    ----------
    rows : float32[b, d] or float64[b, d]
    norms : float64[b]
        Their lengths.
    units : Any
        The rows with length 1, rounded, as the matrix product takes them.
    """

    rows: np.ndarray
    norms: np.ndarray
    units: Any


class Float32:
    """Scores in float32, for any processor.

    Parameters
    ----------
    queries : float64[q, d]
        Of length 1.
    corpus : real[n, d]
        Sliced block by block.

    Attributes
    ----------
    margin : float
        How far a score may lie from its similarity.
    rows, query_step : int
        So many corpus vectors and queries are multiplied at a time: they, and the
        scores, stay in a core's cache.
    finer : type or None
        The screen to take where this one lets too much through.
    """

    unit_type: type = np.float32
    normalize = staticmethod(_unit_float32)
    # One rounding of every number (2^-24), and those in float64 on the way to it.
    roundoff = 2.0**-23
    roundoff_of_scores = 0.0
    hidden: float = -np.inf  # the score of what may not be returned
    numbers = 1_440_000  # of a block
    most_rows = 8192  # of a block
    query_step = 128
    finer: type[Float32] | None = None

    def __init__(self, queries: np.ndarray, corpus: np.ndarray) -> None:
        self.queries = queries
        self.corpus = corpus
        d = queries.shape[1]
        for_memory = self.numbers // max(d, 1)
        for_cores = corpus.shape[0] // (2 * cpu_count())
        self.rows = max(256, min(self.most_rows, for_memory, for_cores))
        sums = (d + 2) * 2.0**-23
        of_products = (1 + self.roundoff) ** 2 / (1 - sums)
        self.margin = of_products * (1 + self.roundoff_of_scores) - 1 + SLACK
        self.memory = threading.local()
        self.rounded = self.block(
            queries, np.empty(queries.shape, self.unit_type)
        ).units

    def load(self, block: range) -> Block:
        """Some vectors of the corpus; InputError for NaN or infinity among them."""
        rows = self.corpus[block.start : block.stop]
        units = getattr(self.memory, "units", rows[:0])
        # Kept by each thread: fresh memory would take as long as the rounding.
        if len(units) < len(rows):
            units = self.memory.units = self.room(rows.shape)
        precision = np.float32 if rows.dtype in (np.float16, np.float32) else np.float64
        loaded = self.block(np.ascontiguousarray(rows, precision), units[: len(rows)])
        check_finite_rows("corpus", loaded.norms, block.start)
        return loaded

    def room(self, shape: tuple[int, ...]) -> np.ndarray:
        """Memory for the unit rows of a block."""
        return np.empty(shape, self.unit_type)

    def block(self, rows: np.ndarray, units: np.ndarray) -> Block:
        """Rows with their lengths; `units` receives the rounded rows of length 1."""
        norms = np.empty(len(rows))
        self.normalize(rows, norms, units)
        return Block(rows, norms, self.operand(units))

    def operand(self, units: np.ndarray) -> Any:
        """Unit rows as what the matrix product takes."""
        return units

    def scores(self, some: slice, block: Block) -> Any:
        """Scores of some queries with a block's rows.

        Of shape [s, b], in the screen's own format.
        """
        return self.rounded[some] @ block.units.T

    def candidates(
        self, scores: Any, floors: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns, int64[m], of all scores that may be among the k best.

        `floors`, float64[s], is the k-th best similarity that each query has so far, or
        -infinity.
        """
        if k <= scores.shape[1] and np.isneginf(floors).any():
            floors = np.maximum(floors, self.highest(scores, k) - self.margin)
        return self.above(scores, floors - self.margin)

    def highest(self, scores: Any, k: int) -> np.ndarray:
        """The k-th highest score of each query, float64[s], or -infinity."""
        return self.decode(np.partition(scores, -k, axis=1)[:, -k])

    def above(
        self, scores: Any, thresholds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the scores that reach their query's threshold.

        Thresholds are float64[s]; hidden scores are left out.
        """
        i, j = places(scores >= self.encode(thresholds)[:, None])
        seen = scores[i, j] != self.hidden
        return i[seen], j[seen]

    def encode(self, thresholds: np.ndarray) -> np.ndarray:
        """Float64[s] in the format of the scores."""
        return thresholds.astype(np.float32)

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """The scores as float64."""
        return scores.astype(np.float64)

    def similarities(
        self, some: slice, i: np.ndarray, j: np.ndarray, block: Block, scores: Any
    ) -> np.ndarray:
        """Float64[m], of the i-th of some queries and row j of a block."""
        return _cosines(self.queries[some], block.rows, block.norms, i, j)

    def enter_thread(self) -> None:
        """Called once in each thread that will search."""


class Bfloat16(Float32):
    """Scores in bfloat16, kept as its bits (int16), for processors that support it."""

    unit_type = np.int16
    normalize = staticmethod(_unit_bfloat16)
    roundoff = 2.0**-8 + SLACK
    roundoff_of_scores = 2.0**-8
    hidden = -1  # of no number
    finer = Float32

    def operand(self, units: np.ndarray) -> Any:
        import torch

        return torch.from_numpy(units).view(torch.bfloat16)

    def scores(self, some: slice, block: Block) -> np.ndarray:
        import torch

        return super().scores(some, block).view(torch.int16).numpy()

    def encode(self, thresholds: np.ndarray) -> np.ndarray:
        bits = thresholds.astype(np.float32).view(np.int32) >> 16
        return np.where(bits > 0, bits, -(2**15)).astype(np.int16)

    def decode(self, scores: np.ndarray) -> np.ndarray:
        """The scores as float64, from the upper half of their bits."""
        numbers = (scores.astype(np.int32) << 16).view(np.float32)
        return np.where(scores > 0, numbers, -np.inf).astype(np.float64)

    def enter_thread(self) -> None:
        import torch

        # A thread's first call sets its number, which must not undo the next line.
        torch.get_num_threads()
        single_threaded("openmp")


# -- on an accelerator: products and selection there, everything else as above ---------


class Gpu(Float32):
    """Scores on a device that torch knows, in float32 or TensorFloat32.

    The owner of the device has set which.

    Parameters
    ----------
    queries, corpus : as for `Float32`
    device : str
    """

    roundoff = 2.0**-10  # of TensorFloat32, whose numbers have 10 bits after the first
    numbers = 5_000_000
    most_rows = 16_384
    query_step = 512

    def __init__(self, queries: np.ndarray, corpus: np.ndarray, device: str) -> None:
        self.device = "cuda" if device == "auto" else device
        super().__init__(queries, corpus)

    def room(self, shape: tuple[int, ...]) -> np.ndarray:
        """Memory that cannot be swapped out, from which a GPU copies faster."""
        import torch

        return torch.empty(shape, pin_memory=self.device == "cuda").numpy()

    def operand(self, units: np.ndarray) -> torch.Tensor:
        import torch

        return torch.from_numpy(units).to(self.device)

    def highest(self, scores: torch.Tensor, k: int) -> np.ndarray:
        return scores.topk(k).values[:, -1].cpu().numpy().astype(np.float64)

    def above(
        self, scores: torch.Tensor, thresholds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        lowest = self.operand(thresholds.astype(np.float32))[:, None]
        reached = (scores >= lowest) & (scores > self.hidden)
        i, j = reached.nonzero().T.cpu().numpy()
        return i, j


def available(device: str) -> bool:
    """Whether torch can compute on "cuda" or "mps", or on CUDA for "auto".

    Raises InputError for a named device that is missing.
    """
    there = False
    if find_spec("torch") is not None:
        import torch

        backend = torch.backends.mps if device == "mps" else torch.cuda
        there = backend.is_available()
    if not there and device != "auto":
        raise InputError(
            f"device: {device!r} is not available here; give 'cpu' or 'auto'"
        )
    return there
