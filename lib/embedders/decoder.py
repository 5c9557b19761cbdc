"""Decoders in llama.cpp's format (GGUF), whose weights are quantized.

A file is converted once, into a folder of the cache that transformers reads, with the
numbers that its quantized weights stand for in float32.
"""

from __future__ import annotations

from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from lib.base import files, paths, progress
from lib.base.cache import CacheEntry
from lib.embedders.checkpoints import as_input_error, quiet
from lib.embedders.kinds import LANGUAGE_MODEL, TRANSFORMER, Kind
from lib.embedders.registry import CONTEXTUAL, embedder
from lib.embedders.transformer import Transformer

REMEDY = "give a GGUF file of a decoder, with its tokenizer"


def converted(file: Path) -> Path:
    """The folder of a GGUF file's model: weights in float32, config.json, tokenizer.

    Raises InputError for a file that is damaged or of no decoder, and for a full disk.
    """
    key = {"file": files.sha256(file), "version": 1}
    entry = CacheEntry(paths.CACHE / "models", file.stem, key)
    doing = f"converting {file.name}"

    def convert() -> dict[str, Any]:
        from safetensors.torch import save

        progress.say(f"{doing}: once, half a minute")
        model, tokenizer = _read(file)
        family = type(model).__name__.removesuffix("Model")
        model.config.architectures = [f"{family}ForCausalLM"]  # `is_decoder` asks
        written = {
            "model.safetensors": save(model.state_dict(), {"format": "pt"}),
            "config.json": model.config.to_json_string().encode(),
            "tokenizer.json": tokenizer.backend_tokenizer.to_str().encode(),
        }
        for name, data in written.items():
            with entry.writing(name) as stream:
                stream.write(data)
        return {}

    entry.made(convert, doing)
    return entry.folder


def _read(file: Path) -> tuple[Any, Any]:
    """The model, without its layer of words to come, and its tokenizer."""
    import torch
    import transformers

    quiet()
    of_file = {"gguf_file": file.name, "local_files_only": True}
    # The conversion draws a progress bar that cannot be turned off.
    with as_input_error(file, REMEDY), redirect_stderr(StringIO()):
        packing = transformers.GgufConfig(dequantize=True)
        model = transformers.AutoModel.from_pretrained(
            file.parent, **of_file, quantization_config=packing, dtype=torch.float32
        )
        return model, transformers.AutoTokenizer.from_pretrained(file.parent, **of_file)


# -- the registry ----------------------------------------------------------------------

# No GPT of 2018: other text, 135 million parameters in 30 layers, tuned to follow
# instructions, and four bits for most weights.
SMOLLM2: dict[str, Any] = {
    "kind": Kind(
        TRANSFORMER, LANGUAGE_MODEL, True, "SmolLM2", "FineWeb-Edu, DCLM and more"
    )
}
MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct, a decoder, 4-bit weights"


@embedder(
    "smollm2-135m-q4-last", CONTEXTUAL, 576, f"{MODEL}, last token",
    "smollm2-135m-q4", **SMOLLM2, preset={"pooling": "last"},
)  # fmt: skip
@embedder(
    "smollm2-135m-q4-avg", CONTEXTUAL, 576, f"{MODEL}, mean over tokens",
    "smollm2-135m-q4", **SMOLLM2, preset={"pooling": "avg"},
)  # fmt: skip
def _quantized(file: Path, name: str, **options: Any) -> Transformer:
    return Transformer(name, converted(file), **options)
