"""What every reader of word vectors has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lib.embedders.word_vectors.byte_source import Source

MOST_DIMENSIONS = 1 << 16  # a header that announces more is no header

Block = tuple[list[bytes], np.ndarray]


class VectorReader(ABC):
    """A file of word vectors, read once from start to end.

    Attributes
    ----------
    dim : int
    count : int or None, how many words the file says that it holds
    subwords : (int, int) or None, lengths of the character n-grams that have vectors too
    """

    dim: int
    count: int | None
    subwords: tuple[int, int] | None = None

    @abstractmethod
    def blocks(self, folder: Path) -> Iterator[Block]:
        """Words as bytes with float32[n, dim], some megabytes at a time. `folder`: where to put what else they need."""

    @abstractmethod
    def fraction(self) -> float:
        """How much has been read, from 0 to 1."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the file."""


class SourceReader(VectorReader):
    """A reader of a single file."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def fraction(self) -> float:
        return self.source.fraction()

    def close(self) -> None:
        self.source.close()
