"""What docs/contributing.md says can be done as it is written there."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap

from lib.run import paths
from tests.copies import copy_project


def test_the_embedder_of_the_page_is_known_by_its_one_file(tmp_path) -> None:
    page = (paths.ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    module = textwrap.dedent(re.search(r"   ```python\n(.*?)   ```", page, re.DOTALL)[1])
    command = re.search(r"`\.venv/bin/python -c \"(.*?)\"`", page)[1]
    copy_project(tmp_path)
    (tmp_path / "lib" / "embedders" / "letters.py").write_text(module)
    found = subprocess.run([sys.executable, "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert found.stdout.startswith("[[2. 2. 0."), found.stderr
