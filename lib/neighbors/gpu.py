"""The dense screen on an accelerator: products and selection there, everything else as in `lib.neighbors.dense`."""

from __future__ import annotations

import numpy as np
import torch

from lib.neighbors.dense import Float32
from lib.run.errors import InputError


class Gpu(Float32):
    """Scores on a device that torch knows, in float32 or TensorFloat32, whichever its owner has set.

    Parameters
    ----------
    queries, corpus : as for `Float32`
    device : str
    """

    roundoff = 2.0**-10  # of TensorFloat32, whose numbers have 10 bits after the first
    numbers = 2_000_000
    query_step = 512

    def __init__(self, queries: np.ndarray, corpus: np.ndarray, device: str) -> None:
        self.device = "cuda" if device == "auto" else device
        super().__init__(queries, corpus)

    def operand(self, units: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(units).to(self.device)

    def highest(self, scores: torch.Tensor, k: int) -> np.ndarray:
        return scores.topk(k).values[:, -1].cpu().numpy().astype(np.float64)

    def above(self, scores: torch.Tensor, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        reached = (scores >= self.operand(thresholds.astype(np.float32))[:, None]) & (scores > self.hidden)
        i, j = reached.nonzero().T.cpu().numpy()
        return i, j


def available(device: str) -> bool:
    """Whether torch can compute on "cuda" or "mps", or on CUDA for "auto"; InputError for one that is named in vain."""
    there = torch.backends.mps.is_available() if device == "mps" else torch.cuda.is_available()
    if not there and device != "auto":
        raise InputError(f"device: {device!r} is not available here; give 'cpu' or 'auto'")
    return there
