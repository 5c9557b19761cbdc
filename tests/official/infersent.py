"""Tiny InferSent weights in the layout of the official file."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

DIRECTIONS = ("", "_reverse")


def random_weights(dim: int, hidden: int, seed: int = 0) -> dict[str, np.ndarray]:
    """The eight arrays of an encoder by their official names.

    Their values are large enough for gates to open and close.
    """
    rng = np.random.default_rng(seed)
    shapes = {
        "weight_ih_l0": (4 * hidden, dim),
        "weight_hh_l0": (4 * hidden, hidden),
        "bias_ih_l0": (4 * hidden,),
        "bias_hh_l0": (4 * hidden,),
    }
    return {
        f"enc_lstm.{name}{direction}": rng.uniform(-1, 1, shape).astype(np.float32)
        for direction in DIRECTIONS
        for name, shape in shapes.items()
    }


def write_infersent(
    file: Path, weights: dict[str, np.ndarray], *, old: bool = True, gpu: bool = False
) -> Path:
    """Write a state dict as PyTorch did in the official file's year, or does today.

    With `old` False it is written as PyTorch does today. With `gpu` the old file says
    of its arrays that they lay on the first GPU.
    """
    import torch

    file.parent.mkdir(parents=True, exist_ok=True)
    stream = io.BytesIO()
    state = {name: torch.from_numpy(array) for name, array in weights.items()}
    torch.save(state, stream, _use_new_zipfile_serialization=not old)
    data = stream.getvalue()
    if gpu:  # a name is written with its length before it
        data = data.replace(b"ctorch\nFloatStorage", b"ctorch.cuda\nFloatStorage")
        data = data.replace(b"\x03\x00\x00\x00cpu", b"\x06\x00\x00\x00cuda:0")
    file.write_bytes(data)
    return file
