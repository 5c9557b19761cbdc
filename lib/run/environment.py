"""What a notebook ran on, and what it had to do without."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

STARTED = time.monotonic()
PACKAGES = ("numpy", "scipy", "pandas", "matplotlib", "gensim", "spacy", "torch", "transformers")


def footer() -> str:
    """Markdown: run time since this module was imported, processor, versions of Python and of the main packages."""
    seconds = time.monotonic() - STARTED
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return (
        f"Ran in {seconds:.0f} s on {os.cpu_count()} cores of {_processor()} ({platform.system()}). "
        f"Python {sys.version.split()[0]}, {versions}."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def left_out(absent: Mapping[str, str]) -> str:
    """A list for a notebook: what was asked for and is not on this machine, each with what it lacks."""
    lines = [f"- `{name}` is left out: {reason}" for name, reason in absent.items()]
    return "\n".join(lines) or "Everything that was asked for is on this machine."
