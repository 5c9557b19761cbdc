"""Tiny ELMo models in exactly the layout of the official files, with random weights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np


def write_elmo(
    folder: Path,
    options_name: str = "options.json",
    weights_name: str = "weights.hdf5",
    seed: int = 0,
    *,
    activation: str = "relu",
    character_dim: int = 4,
    filters: tuple[tuple[int, int], ...] = ((1, 3), (2, 4), (3, 5)),
    max_characters: int = 50,
    n_highway: int = 1,
    dim: int = 7,
    projection_dim: int = 4,
    clip: float | None = 3,
    skip_connections: bool = True,
    scale: float = 1.0,
) -> tuple[Path, Path]:
    """Write options and weights below `folder`; returns their paths.

    The weights are normal with standard deviation `scale` / sqrt(rows of the matrix):
    at `scale` 1 signals neither die nor grow, and with a larger one clipping bites.
    None of the sizes is equal to another where an error could hide behind it.
    """
    options = {
        "lstm": {
            "use_skip_connections": skip_connections,
            "projection_dim": projection_dim,
            "cell_clip": clip,
            "proj_clip": clip,
            "dim": dim,
            "n_layers": 2,
        },
        "char_cnn": {
            "activation": activation,
            "filters": [list(pair) for pair in filters],
            "n_highway": n_highway,
            "embedding": {"dim": character_dim},
            "n_characters": 262,
            "max_characters_per_token": max_characters,
        },
    }
    options_file, weights_file = folder / options_name, folder / weights_name
    for file in (options_file, weights_file):
        file.parent.mkdir(parents=True, exist_ok=True)
    options_file.write_text(json.dumps(options), encoding="utf-8")
    rng = np.random.default_rng(seed)
    with h5py.File(weights_file, "w") as weights:
        for name, shape in _datasets(options):
            rows = np.prod(shape[:-1]) if len(shape) > 1 else 4
            weights[name] = (rng.standard_normal(shape) * scale / np.sqrt(rows)).astype(
                np.float32
            )
    return options_file, weights_file


def _datasets(options: dict) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and shapes in the official weights."""
    cnn, lstm = options["char_cnn"], options["lstm"]
    characters, dim, projection = (
        cnn["embedding"]["dim"],
        lstm["dim"],
        lstm["projection_dim"],
    )
    total = sum(number for _, number in cnn["filters"])
    yield "char_embed", (261, characters)
    for i, (width, number) in enumerate(cnn["filters"]):
        yield f"CNN/W_cnn_{i}", (1, width, characters, number)
        yield f"CNN/b_cnn_{i}", (number,)
    for i in range(cnn["n_highway"]):
        for gate in ("carry", "transform"):
            yield f"CNN_high_{i}/W_{gate}", (total, total)
            yield f"CNN_high_{i}/b_{gate}", (total,)
    yield "CNN_proj/W_proj", (total, projection)
    yield "CNN_proj/b_proj", (projection,)
    for direction in range(2):
        for layer in range(lstm["n_layers"]):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            yield f"{cell}/W_0", (2 * projection, 4 * dim)
            yield f"{cell}/B", (4 * dim,)
            yield f"{cell}/W_P_0", (dim, projection)
