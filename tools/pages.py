"""Pages of docs/ that are made from the catalogs: ``python -m tools.pages``, which ``make page`` calls."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from lib import catalog
from lib.catalog import Asset
from lib.run import paths
from lib.run.errors import said_in_a_sentence

DATA_HEAD = """# Data

Every outside asset that the studies use, generated from `lib/catalog/catalog.toml` by `make page`.
`make data` says which of them are on your machine. None of them is part of this repository.

*package*: comes with a pinned package. *free*: `make data` fetches it. *manual*: free, but its official address
cannot be fetched by a program. *gated*: needs an account or a license.

| asset | what | access | license | cite | studies | how to get it |
|---|---|---|---|---|---|---|
"""


def data() -> str:
    """The page of the data: every asset with its access, license, citation and official address."""
    return DATA_HEAD + "".join(f"| {' | '.join(_cells(asset))} |\n" for asset in catalog.assets().values())


def _cells(asset: Asset) -> Iterator[str]:
    yield f"`{asset.id}`"
    yield f"[{asset.title}]({asset.page})" + (f"; {asset.note}" if asset.note else "")
    yield asset.access
    yield asset.license
    yield f"`{asset.citation}`"
    yield ", ".join(asset.used_by)
    yield f"`{asset.how_to_get}`" if asset.access in ("package", "free") else asset.how


@said_in_a_sentence
def main() -> int:
    """Write the pages; the exit status is 0."""
    (paths.ROOT / "docs" / "data.md").write_text(data(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
