"""Smaller forms of any dense vectors: ``minilm-avg@int8``, ``@binary``, ``@64d``.

A form is computed from the full vectors, which `lib.store` keeps once for all forms.
Its vectors are float32 like all others, with the values that the form can tell apart;
`Embedder.bits` says what one of their numbers takes where they are stored.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from lib.base.errors import InputError
from lib.embedders.base import Embedder, prefix_state, unprefix_state
from lib.embedders.registry import register_quantization
from lib.vectors import Embeddings

ROWS = 1 << 14  # vectors at a time, so that a large text needs little memory
LEVELS = 255  # steps from the lowest to the highest code
LOWEST = -128  # code
LARGEST = 127  # code, of codes that are as many below 0 as above


class Shrunk(Embedder):
    """The vectors of another embedder in a smaller form.

    Parameters
    ----------
    base : Embedder
        With dense vectors.

    Attributes
    ----------
    suffix : str
        What its name has after ``@``.
    learns : bool
        Whether the form depends on the vectors of the fitted text.
    """

    suffix: str
    learns = False

    def __init__(self, base: Embedder) -> None:
        self.base = base
        self.name = f"{base.name}@{self.suffix}"
        self.needs_fit = base.needs_fit or self.learns
        self.is_foreign = base.is_foreign
        self.similarity_fn_name = base.similarity_fn_name

    @property
    def settings(self) -> dict[str, Any]:
        base = {"name": self.base.name, "version": self.base.version}
        form = {"form": self.suffix, "version": self.version}
        return form | {"base": base | self.base.settings}

    @abstractmethod
    def _shrunk(self, vectors: np.ndarray) -> np.ndarray:
        """The form of a few vectors."""

    def _learn(self, vectors: np.ndarray) -> None:
        """What the form takes from the full vectors of the fitted text."""

    def learn(self, vectors: Embeddings, fingerprint: str) -> None:
        """Fit the form on the full vectors of a text with this fingerprint."""
        self._learn(self._dense(vectors))
        self.fitted_on = fingerprint

    def shrink(self, vectors: Embeddings) -> np.ndarray:
        """The form, float32, of the full vectors float[n, d].

        Raises InputError for sparse vectors, and for fewer dimensions than the form is
        to keep.
        """
        full = self._dense(vectors)
        starts = range(0, max(len(full), 1), ROWS)
        blocks = (self._shrunk(full[start : start + ROWS]) for start in starts)
        first = next(blocks)
        shrunk = np.empty((len(full), first.shape[1]), np.float32)
        shrunk[: len(first)] = first
        for start, block in zip(starts[1:], blocks, strict=True):
            shrunk[start : start + ROWS] = block
        return shrunk

    def _dense(self, vectors: Embeddings) -> np.ndarray:
        if sp.issparse(vectors):
            raise InputError(
                f"{self.name}: the vectors of {self.base.name} are sparse; "
                "use a form only with an embedder whose vectors are dense"
            )
        return vectors

    def truncation(self, sentences: Sequence[str]) -> tuple[int, int]:
        return self.base.truncation(sentences)

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        self.base.fit(sentences, show_progress_bar)
        vectors = self.base.encode(sentences, show_progress_bar=show_progress_bar)
        self._learn(self._dense(vectors))

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self.shrink(self.base.encode(sentences))

    def state(self) -> dict[str, np.ndarray]:
        return super().state() | prefix_state("base", self.base)

    def restore(self, state: dict[str, np.ndarray], fitted_on: str) -> Embedder:
        self.base.restore(unprefix_state("base", state), fitted_on)
        return super().restore(state, fitted_on)


@register_quantization("16-bit numbers", "IEEE 754 half precision", "2 d")
class Float16(Shrunk):
    """Every number rounded to 16 bits."""

    suffix = "float16"
    bits = 16

    def _shrunk(self, vectors: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            rounded = vectors.astype(np.float16)
        if not np.isfinite(rounded).all():
            raise InputError(
                f"{self.name}: has numbers beyond 65504, the limit of 16 bits; "
                "use another form"
            )
        return rounded.astype(np.float32)


class Coded(Shrunk):
    """Codes from -128 to 127, as sentence-transformers' quantize_embeddings makes them.

    In each dimension the range of the fitted text's vectors is cut into 255 steps, and
    a number becomes the step that it lies in. Numbers outside the range become the
    nearest code. Where the fitted vectors do not vary, the step is 0 and their code
    -128.
    """

    version = 2
    learns = True
    learned = ("lowest", "step")
    bits = 8

    def _learn(self, vectors: np.ndarray) -> None:
        if len(vectors) < 2:
            raise InputError(
                f"{self.name}: {len(vectors)} sentences have no range; give two or more"
            )
        self.lowest = vectors.min(axis=0).astype(np.float32)
        highest = vectors.max(axis=0).astype(np.float32)
        with np.errstate(over="ignore"):
            self.step = (highest - self.lowest) / LEVELS
        if not np.isfinite(self.step).all():
            raise InputError(
                f"{self.name}: has numbers more than 3.4e38 apart, which have no range "
                "in 32 bits; use another form"
            )

    def codes(self, vectors: np.ndarray) -> np.ndarray:
        """The codes, int8[n, d], of full vectors."""
        step = np.where(self.step == 0, np.float32(1), self.step)
        steps = np.floor((vectors - self.lowest) / step)
        return (np.clip(steps, 0, LEVELS) + LOWEST).astype(np.int8)


@register_quantization(
    "8-bit codes, decoded for the comparison (scalar quantization)",
    "codes like those of sentence-transformers' `quantize_embeddings`",
    "d",
)
class Int8(Coded):
    """Codes of 8 bits, each decoded to the middle of its step before it is compared.

    Where the fitted vectors do not vary, every code is decoded to their constant.
    """

    suffix = "int8"

    def _shrunk(self, vectors: np.ndarray) -> np.ndarray:
        middle = self.codes(vectors).astype(np.float32) - LOWEST + np.float32(0.5)
        return self.lowest + middle * self.step


@register_quantization(
    "the same codes, compared directly",
    "sentence-transformers' `semantic_search_usearch`",
    "d",
)
class Int8Codes(Coded):
    """Codes of 8 bits as vectors.

    Each dimension has been shifted and stretched in its own way, which changes angles.
    A dimension that does not vary is -128 in all vectors, which makes them more alike.
    """

    suffix = "int8-codes"

    def _shrunk(self, vectors: np.ndarray) -> np.ndarray:
        return self.codes(vectors).astype(np.float32)


@register_quantization(
    "8-bit codes with one scale for all dimensions, decoded",
    "one range for all dimensions, as in faiss's `QT_8bit_uniform`",
    "d",
)
class Int8Scale(Shrunk):
    """Whole numbers from -127 to 127, times the greatest number of the fitted text."""

    suffix = "int8-scale"
    learns = True
    learned = ("scale",)
    bits = 8

    def _learn(self, vectors: np.ndarray) -> None:
        self.scale = float(np.abs(vectors).max(initial=0)) or 1.0

    def _shrunk(self, vectors: np.ndarray) -> np.ndarray:
        steps = np.rint(vectors * (LARGEST / self.scale))
        return np.clip(steps, -LARGEST, LARGEST) * np.float32(self.scale / LARGEST)


@register_quantization(
    "the sign of each number",
    "sentence-transformers' `quantize_embeddings`",
    "d / 8",
)
class Binary(Shrunk):
    """1 where a number is above 0, and -1 elsewhere.

    The cosine of two of them is 1 - 2 h / d, with h the number of bits that differ.
    """

    suffix = "binary"
    bits = 1

    def _shrunk(self, vectors: np.ndarray) -> np.ndarray:
        return np.where(vectors > 0, np.float32(1), np.float32(-1))


class Fewer(Shrunk):
    """A form with a given number of dimensions, which is N in its suffix."""

    def __init__(self, base: Embedder, dim: int) -> None:
        self.suffix = self.suffix.replace("N", str(dim))
        self.dim = dim
        super().__init__(base)

    def _dense(self, vectors: Embeddings) -> np.ndarray:
        dense = super()._dense(vectors)
        if dense.shape[1] < self.dim:
            raise InputError(
                f"{self.name}: the vectors of {self.base.name} have {dense.shape[1]} "
                "dimensions; give no more than that"
            )
        return dense


@register_quantization(
    "the first N dimensions", "Matryoshka: Kusupati et al. 2022", "4 N"
)
class First(Fewer):
    """The first dimensions.

    Models trained for it keep the most important ones there.
    """

    suffix = "Nd"

    def __init__(self, base: Embedder, dim: int) -> None:
        super().__init__(base, dim)
        self.bits = base.bits

    def _shrunk(self, vectors: np.ndarray) -> np.ndarray:
        return vectors[:, : self.dim]


@register_quantization(
    "N principal components of the text's vectors",
    "sentence-transformers' example of dimensionality reduction",
    "4 N",
)
class Components(Fewer):
    """Coordinates along the directions in which the fitted text's vectors differ most.

    The directions are those of principal component analysis. The mean is not
    subtracted from what is projected, so that the origin of all angles stays in place.
    """

    suffix = "pcaN"
    learns = True
    learned = ("directions",)

    def _learn(self, vectors: np.ndarray) -> None:
        if len(vectors) <= self.dim:
            raise InputError(
                f"{self.name}: {len(vectors)} sentences have fewer than {self.dim} "
                "principal components; give more sentences, or a smaller number"
            )
        mean = vectors.mean(axis=0, dtype=np.float64)
        scatter = np.zeros((len(mean), len(mean)))
        for start in range(0, len(vectors), ROWS):
            centered = vectors[start : start + ROWS] - mean
            scatter += centered.T @ centered
        _, directions = np.linalg.eigh(scatter)
        self.directions = directions[:, ::-1][:, : self.dim].astype(np.float32)

    def _shrunk(self, vectors: np.ndarray) -> np.ndarray:
        return vectors @ self.directions
