"""Small Sent2Vec models in exactly the format of the authors' program."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

WORDS = ("<PLACEHOLDER>", "the", "</s>", "cat", "sat", "naïve")
# What stands before a matrix: whether it is quantized, rows, columns.
MATRIX = struct.Struct("<B2q")


def head_bytes(
    words: Sequence[str | bytes] = WORDS,
    labels: Sequence[str] = (),
    *,
    dim: int = 3,
    word_ngrams: int = 2,
    bucket: int = 7,
    version: int = 11,
    model: int = 4,
) -> bytes:
    """The beginning of a ``.bin``, up to its matrices.

    Parameters
    ----------
    words, labels : entries of the dictionary; entry 0 has the count 0, as the program
        gives ``<PLACEHOLDER>``
    dim, word_ngrams, bucket : settings of the model
    version, model : what other files have in these places
    """
    settings = dim, 5, 3, 1, 10, word_ngrams, 2, model, bucket, 3, 6, 100
    parts = [
        struct.pack("<2i", 793712314, version),
        struct.pack("<12id", *settings, 1e-4),
    ]
    parts.append(
        struct.pack(
            "<3i2q", len(words) + len(labels), len(words), len(labels), 1000, -1
        )
    )
    for i, word in enumerate([*words, *labels]):
        name = word if isinstance(word, bytes) else word.encode()
        parts.append(
            name + b"\0" + struct.pack("<qb", 0 if i == 0 else 100 - i, i >= len(words))
        )
    return b"".join(parts)


def matrices(
    n_words: int, dim: int = 3, bucket: int = 7, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Random input and output matrices.

    They are float32[n_words + bucket + 1, dim] and float32[n_words, dim].
    """
    rng = np.random.default_rng(seed)
    return tuple(
        rng.normal(size=(rows, dim)).astype("<f4")
        for rows in (n_words + bucket + 1, n_words)
    )


def model_bytes(
    words: Sequence[str | bytes] = WORDS,
    labels: Sequence[str] = (),
    *,
    quantized: tuple[int, int] = (0, 0),
    seed: int = 0,
    **head: int,
) -> bytes:
    """The bytes of a ``.bin``: `head_bytes`, then `matrices`.

    Either of the matrices may claim to be quantized.
    """
    shape = {name: head[name] for name in ("dim", "bucket") if name in head}
    parts = [head_bytes(words, labels, **head)]
    for flag, matrix in zip(
        quantized, matrices(len(words), seed=seed, **shape), strict=True
    ):
        parts += [MATRIX.pack(flag, *matrix.shape), matrix.tobytes()]
    return b"".join(parts)


def write_model(path: Path, **what: object) -> Path:
    """Write `model_bytes` to a file; returns its path."""
    path.write_bytes(model_bytes(**what))
    return path


def write_sparse_model(path: Path, dim: int, bucket: int) -> Path:
    """Write a model whose n-gram vectors are zeros; returns its path.

    The zeros take no room on the disk.
    """
    with path.open("wb") as stream:
        stream.write(head_bytes(dim=dim, bucket=bucket))
        for rows in (len(WORDS) + bucket + 1, len(WORDS)):
            stream.write(MATRIX.pack(0, rows, dim))
            stream.write(np.ones((len(WORDS), dim), "<f4").tobytes())
            stream.truncate(stream.seek(4 * dim * (rows - len(WORDS)), 1))
    return path
