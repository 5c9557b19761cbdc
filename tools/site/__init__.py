"""The executed studies as a static site that is read from disk: ``python -m tools.site``; ``make site`` calls it."""

from __future__ import annotations

from tools.site.build import Report, build
from tools.site.sources import Sources

__all__ = ["Report", "Sources", "build"]
