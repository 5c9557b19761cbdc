"""Screening on an accelerator: it multiplies and selects, the processor normalizes and scores again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np

from lib.neighbors.heaps import Best, Hidden
from lib.neighbors.kernels import Block, sift_pairs, unit_float32
from lib.neighbors.screening import Screen, torch_in_one_thread
from lib.run.errors import InputError


class Device(Screen):
    """A screen in float32, by torch, on any device that it knows.

    Parameters
    ----------
    queries : float64[q, d], of length 1
    device : str, as torch names it
    """

    unit_type = np.float32
    query_step = 512
    block_numbers, most_rows = 2_000_000, 8192
    score_bytes = 40  # a pair that nothing separates is listed on the device and here
    normalize = staticmethod(unit_float32)

    def __init__(self, queries: np.ndarray, device: str) -> None:
        self.device, self.lock = device, Lock()
        super().__init__(queries)

    def operand(self, units: np.ndarray) -> Any:
        import torch

        return torch.from_numpy(units).to(self.device)

    def scores(self, some: slice, units: np.ndarray) -> np.ndarray:
        return (self.rounded[some] @ self.operand(units).T).cpu().numpy()

    def sift(self, block: Block, units: np.ndarray, lost: float, best: Best, floors: np.ndarray, hidden: Hidden) -> int:
        margin, found = self.margin(lost).absolute, 0
        # Of so many highest scores, k may be returned.
        k = best.ids.shape[1] + int(np.diff(hidden.starts).max(initial=0))
        lowest = np.maximum(floors, best.similarities[:, 0]) - margin
        with self.lock:
            rows = self.operand(units)
            for start in range(0, len(self.queries), self.query_step):
                some = slice(start, start + self.query_step)
                pairs = self._likely(self.rounded[some] @ rows.T, lowest[some].astype(np.float32), k, margin)
                found += len(pairs)
                sift_pairs(pairs[:, 0] + start, pairs[:, 1], self.queries, block, best, floors, hidden)
        return found

    def _likely(self, scores: Any, lowest: np.ndarray, k: int, margin: float) -> np.ndarray:
        """Query and row, int64[m, 2], of scores that are neither below `lowest` nor too low for the block's k best."""
        import torch

        thresholds = torch.from_numpy(lowest).to(self.device)
        if k <= scores.shape[1]:
            thresholds = torch.maximum(thresholds, scores.topk(k).values[:, -1] - 2 * margin)
        return (scores >= thresholds[:, None]).nonzero().cpu().numpy()

    def enter_thread(self) -> None:
        torch_in_one_thread()

    @contextmanager
    def session(self) -> Iterator[None]:
        """Products of float32 numbers are float32 products, not TensorFloat32."""
        import torch

        matmul = torch.backends.cuda.matmul
        before = matmul.fp32_precision
        matmul.fp32_precision = "ieee"
        try:
            yield
        finally:
            matmul.fp32_precision = before


def available(device: str) -> bool:
    """Whether torch can compute on "cuda" or "mps" here."""
    import torch

    return torch.cuda.is_available() if device == "cuda" else torch.backends.mps.is_available()


def require(device: str) -> None:
    """Raise InputError unless `device` is there."""
    if not available(device):
        raise InputError(f"device: {device!r} is not available here; give 'cpu' or 'auto'")
