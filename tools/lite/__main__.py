"""Build the site: ``make lite``."""

from __future__ import annotations

import os
import sys

from lib.base import paths
from lib.base.errors import command
from tools.lite import site

OUTPUT = paths.ROOT / "build" / "lite"


@command
def main() -> int:
    """Build the site with the Pyodide that the variable PYODIDE names, if any."""
    given = os.environ.get("PYODIDE", "")
    site.build(OUTPUT, paths.from_root(given) if given else None)
    shown = OUTPUT.relative_to(paths.ROOT)
    print(f"python3 -m http.server -b 127.0.0.1 -d {shown}, then open port 8000")
    return 0


if __name__ == "__main__":
    sys.exit(main())
