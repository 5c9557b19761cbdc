"""Several embedders side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lib.embedders.base import Embedder
from lib.run.errors import InputError

VERSION = 1


class Concatenation(Embedder):
    """The vectors of several embedders, one beside the other; float32[n, sum of their dimensions].

    Parameters
    ----------
    name : str
    parts : embedders with dense vectors, at least two
    """

    version = VERSION

    def __init__(self, name: str, parts: Sequence[Embedder]) -> None:
        if len(parts) < 2:
            raise InputError(f"{name}: concatenates {len(parts)} embedders; give at least two")
        self.name, self.parts = name, list(parts)
        self.needs_fit = any(part.needs_fit for part in parts)

    @property
    def settings(self) -> dict[str, Any]:
        return {"parts": [{"name": part.name, "version": part.version} | part.settings for part in self.parts]}

    def _fit(self, sentences: Sequence[str], show_progress_bar: bool) -> None:
        for part in self.parts:
            part.fit(sentences, show_progress_bar)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return np.hstack([part.encode(sentences) for part in self.parts])

    def _state(self) -> dict[str, np.ndarray]:
        return {f"{i}/{key}": array for i, part in enumerate(self.parts) for key, array in part.state().items()}

    def _restore(self, state: dict[str, np.ndarray], fitted_on: str) -> None:
        for i, part in enumerate(self.parts):
            own = {key.removeprefix(f"{i}/"): array for key, array in state.items() if key.startswith(f"{i}/")}
            part.restore(own, fitted_on if part.needs_fit else "")
