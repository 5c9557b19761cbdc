"""Static word vectors on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from lib.errors import InputError


class WordVectors(Mapping[str, np.ndarray]):
    """A mapping word -> float32[d] over a memory-map.

    Attributes
    ----------
    name : str, which vectors these are
    words : list of str, length v
    matrix : float32[v, d], read-only memory-map
    """

    def __init__(self, name: str, words: list[str], matrix: np.ndarray) -> None:
        if matrix.ndim != 2 or len(words) != len(matrix):
            raise InputError(f"{name}: {len(words)} words and a matrix of shape {matrix.shape}; give one row a word")
        self.name, self.words, self.matrix = name, words, matrix
        self._index = {word: i for i, word in enumerate(words)}

    @classmethod
    def load(cls, path: str | Path) -> WordVectors:
        """Load a folder that holds ``*_emb.npy`` (float32[v, d]) and ``*_index.parquet`` (column ``index``: words).

        Raises InputError if the folder or one of the two files is missing, or if they do not fit together.
        """
        return _load(Path(path))

    def __getitem__(self, word: str) -> np.ndarray:
        return self.matrix[self._index[word]]

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change with any word or number."""
        digest = hashlib.blake2b("\n".join(self.words).encode(), digest_size=16)
        digest.update(np.ascontiguousarray(self.matrix).data)
        return digest.hexdigest()


@lru_cache(maxsize=4)
def _load(folder: Path) -> WordVectors:
    import pyarrow.parquet as parquet

    matrix = np.load(_only(folder, "*_emb.npy"), mmap_mode="r", allow_pickle=False)
    words = parquet.read_table(_only(folder, "*_index.parquet"))["index"].to_pylist()
    return WordVectors(folder.name, words, matrix)


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise InputError(f"{folder}: holds {len(found)} files {pattern}; give a folder with one")
    return found[0]
