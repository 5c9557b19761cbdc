"""Timing that can be compared: everything in one process, in turns, as medians and ratios."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

RUNS = 5


def compare(
    candidates: dict[str, Callable[[], Any]], runs: int = RUNS, clock: Callable[[], float] = time.perf_counter
) -> pd.DataFrame:
    """Time each candidate `runs` times in turns (A B C A B C ...), after one warm-up of each.

    Turns spread a machine's drift over all of them. Returns one row a candidate, in the given order: ``median``,
    ``least`` and ``most`` seconds, and ``ratio``, the median over the turns of its seconds over the first
    candidate's in the same turn (above 1: the first is faster). What runs on one thread may be timed by another
    `clock`, ``time.process_time``, which other programs on the machine do not stop.
    """
    for call in candidates.values():
        call()
    seconds = np.array([[_seconds(call, clock) for call in candidates.values()] for _ in range(runs)])
    table = {
        "median": np.median(seconds, axis=0),
        "least": seconds.min(axis=0),
        "most": seconds.max(axis=0),
        "ratio": np.median(seconds / seconds[:, :1], axis=0),
    }
    return pd.DataFrame(table, index=list(candidates))


def _seconds(call: Callable[[], Any], clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return clock() - start


def machine() -> str:
    """One line: processor, cores that this process may use, memory, system, Python."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    system = f"{platform.system()}, Python {platform.python_version()}"
    return f"{_processor()}, {cores} cores, {memory:.0f} GiB, {system}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    extensions = [name for name in ("avx512_bf16", "amx_bf16") if name in fields.get("flags", "")]
    return " with ".join([fields.get("model name", platform.machine()), *extensions[:1]])


def versions(*packages: str) -> str:
    """`numpy 2.4.6, faiss-cpu 1.15.1`: what took part."""
    return ", ".join(f"{package} {version(package)}" for package in packages)


def markdown(table: pd.DataFrame) -> str:
    """A table as Markdown, numbers as they are formatted in it."""
    head = [table.index.name or "", *table.columns]
    lines = [
        head,
        ["---"] * len(head),
        *([str(index), *map(str, row)] for index, row in zip(table.index, table.to_numpy(), strict=True)),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
