"""What the machine has, and what a notebook has to do without."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from joblib import cpu_count
from threadpoolctl import ThreadpoolController


def single_threaded(api: str | None = None) -> AbstractContextManager:
    """Limit libraries to one thread, from now on or inside a ``with`` statement.

    `threadpoolctl.threadpool_limits` does the same, but searches for the loaded
    libraries at each call, which takes milliseconds.

    Parameters
    ----------
    api : {"blas", "openmp"}, optional
        Which libraries; by default both kinds.
    """
    return _libraries(len(sys.modules)).limit(limits=1, user_api=api)


@contextmanager
def thread_pool(
    threads: int | None = None, **options: Any
) -> Iterator[ThreadPoolExecutor]:
    """So many threads, by default one a core, each of which computes on one core.

    The limit for BLAS is around all of them: limits that overlap would undo each other.
    Options are those of `concurrent.futures.ThreadPoolExecutor`.
    """
    pool = ThreadPoolExecutor(threads or cpu_count(), **options)
    with single_threaded("blas"), pool:
        yield pool


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """The loaded libraries, searched for anew when more modules are imported."""
    return ThreadpoolController()


def computes_in_bfloat16() -> bool:
    """Whether the processor has bfloat16 instructions (AVX-512 BF16 or AMX).

    Without them bfloat16 would be slower.
    """
    return "avx512_bf16" in cpuinfo() or "amx_bf16" in cpuinfo()


def cpuinfo() -> str:
    """What Linux says of the processor; nothing elsewhere."""
    file = Path("/proc/cpuinfo")
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def left_out(absent: Mapping[str, str], unknown: Sequence[str] = ()) -> str:
    """A list for a notebook: what is not on this machine, and what each item lacks.

    After it, the embedders of unknown kind.
    """
    lines = [f"- `{name}` is left out: {reason}" for name, reason in absent.items()]
    lines += [
        f"- `{name}` is left out of comparisons by kind: "
        "its files do not say what it is"
        for name in unknown
    ]
    return "\n".join(lines) or "All requested embedders are installed."
