"""The executed studies as a static site that is read from disk: ``python -m lib.site``; ``make site`` calls it."""

from __future__ import annotations

from lib.site.build import Report, build
from lib.site.sources import Sources

__all__ = ["Report", "Sources", "build"]
