"""Small files in the form of the published unfolding recursive autoencoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.io import savemat

WORDS = ["*UNKNOWN*", "the", "cat", "sleeps", "-lrb-"]


def write_urae(folder: Path, d: int = 4, **changes: np.ndarray | None) -> tuple:
    """Write both files; returns their paths, the word vectors and the network.

    `changes` are other variables, or None for none; `words` and `table_We` are those of
    the file of word vectors.
    """
    rng = np.random.default_rng(3)
    table = {
        "words": np.array([WORDS], dtype=object),
        "We": rng.standard_normal((d, len(WORDS))),
    }
    params = {name: rng.standard_normal((d, d)) for name in ("W1", "W2", "W3", "W4")}
    params |= {name: rng.standard_normal((d, 1)) for name in ("b1", "b2", "b3")} | {
        "We": np.empty((0, 0))
    }
    for name, value in changes.items():
        variables = table if name in ("words", "table_We") else params
        name = name.removeprefix("table_")
        if value is None:
            del variables[name]
        else:
            variables[name] = value
    files = folder / "vars.normalized.100.mat", folder / "params.mat"
    folder.mkdir(parents=True, exist_ok=True)
    for file, variables in zip(files, (table, params), strict=True):
        savemat(file, variables)
    return (
        *files,
        dict(zip(WORDS, table.get("We", np.empty((0, 0))).T, strict=False)),
        params,
    )
