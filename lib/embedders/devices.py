"""The device that models run on, and the precision that it computes in."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import version

from lib.run import environment


@lru_cache(maxsize=1)
def fastest_device() -> str:
    """The device that models run on by default, such as "cuda" or "cpu"."""
    # The processor-only build says so in its version: no need to import it where all
    # vectors are stored already.
    if version("torch").endswith("+cpu"):
        return "cpu"
    import torch

    accelerator = torch.accelerator.current_accelerator(check_available=True)
    return accelerator.type if accelerator else "cpu"


def fastest_precision(device: str) -> str:
    """A device's precision: "bfloat16" if it computes in that, else "float32"."""
    if device == "cuda":
        import torch

        lowered = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        lowered = device == "cpu" and environment.computes_in_bfloat16()
    return "bfloat16" if lowered else "float32"
