"""What the processor can do."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@lru_cache(maxsize=1)
def computes_in_bfloat16() -> bool:
    """Whether the processor has bfloat16 instructions (AVX-512 BF16 or AMX); without them it would be slower."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags
