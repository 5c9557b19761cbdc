"""Transformer encoders in a local folder, their final hidden layer pooled into one vector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lib.embedders.base import Embedder
from lib.parameters import one_of

VERSION = 1
TOKENS_PER_BATCH = 4096  # padding included
POOLINGS = ("cls", "avg")

Precision = Literal["auto", "float32", "bfloat16"]


class Transformer(Embedder):
    """The final layer of a transformer at its first token ("cls"), or its mean over real tokens ("avg").

    Parameters
    ----------
    name : str
    folder : Path, with safetensors weights and tokenizer
    pooling : "cls" or "avg"
    precision : "float32"; "bfloat16", which moves a vector's entries by about 1e-3; "auto", bfloat16 where
        the processor computes in it
    max_length : int, tokens; a longer sentence is cut

    The other poolings are companions: they come out of the same pass. Even an empty sentence has a vector,
    since the special tokens around it are real to the model.
    """

    version = VERSION

    def __init__(
        self, name: str, folder: Path, pooling: str = "avg", precision: Precision = "auto", max_length: int = 256
    ) -> None:
        one_of("pooling", pooling, POOLINGS)
        one_of("precision", precision, ("auto", "float32", "bfloat16"))
        self.name, self.folder, self.pooling, self.max_length = name, folder, pooling, max_length
        self.precision = _resolve(precision)

    @property
    def settings(self) -> dict[str, Any]:
        libraries = {library: version(library) for library in ("torch", "transformers")}
        options = {"pooling": self.pooling, "precision": self.precision, "max_length": self.max_length}
        return {"model": self.folder.name, "bytes": _size(self.folder)} | libraries | options

    @property
    def companions(self) -> list[Transformer]:
        """The same model with the other poolings."""
        stem = self.name.removesuffix(f"-{self.pooling}")
        others = [pooling for pooling in POOLINGS if pooling != self.pooling]
        return [
            Transformer(f"{stem}-{pooling}", self.folder, pooling, self.precision, self.max_length)
            for pooling in others
        ]

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        return self._pooled(sentences)[self.pooling]

    def _encode_together(self, sentences: list[str]) -> list[np.ndarray]:
        pooled = self._pooled(sentences)
        return [pooled[embedder.pooling] for embedder in (self, *self.companions)]

    def _pooled(self, sentences: Sequence[str]) -> dict[str, np.ndarray]:
        """Vectors float32[n, dim] for each pooling, from one pass."""
        import torch

        model, tokenizer = _load(self.folder)
        pooled = {pooling: np.zeros((len(sentences), model.config.hidden_size), np.float32) for pooling in POOLINGS}
        encoded = (
            tokenizer(list(sentences), truncation=True, max_length=self.max_length)["input_ids"] if sentences else []
        )
        lowered = torch.autocast("cpu", torch.bfloat16, enabled=self.precision == "bfloat16")
        with torch.inference_mode(), lowered:
            for rows in _batches([len(ids) for ids in encoded]):
                batch = tokenizer.pad({"input_ids": [encoded[i] for i in rows]}, return_tensors="pt")
                hidden = model(**batch).last_hidden_state.float()
                real = batch["attention_mask"].unsqueeze(-1).float()
                pooled["cls"][rows] = hidden[:, 0].numpy()
                pooled["avg"][rows] = ((hidden * real).sum(1) / real.sum(1)).numpy()
        return pooled


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Rows in order of length, as many at a time as fit into TOKENS_PER_BATCH: little of a batch is padding."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[row] > TOKENS_PER_BATCH:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


@lru_cache(maxsize=2)
def _load(folder: Path) -> tuple[Any, Any]:
    import transformers

    transformers.logging.disable_progress_bar()
    model = transformers.AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return model.eval(), tokenizer


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.safetensors"))


def _resolve(precision: Precision) -> str:
    if precision != "auto":
        return precision
    return "bfloat16" if _computes_in_bfloat16() else "float32"


@lru_cache(maxsize=1)
def _computes_in_bfloat16() -> bool:
    """Whether the processor has bfloat16 instructions (AVX-512 BF16 or AMX); without them it would be slower."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags
