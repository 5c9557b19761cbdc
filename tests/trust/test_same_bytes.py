"""What a user has set for other figures changes nothing in these, and parts of an SVG have numbers for names.

`tests.notebooks.test_smoke` executes notebooks twice, with everything different that may be, and compares all bytes.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt

from lib import plotting


def drawn(folder: Path) -> list[bytes]:
    """A figure with lines, markers, a grid and clipping, as PNG and SVG."""
    figure, axes = plt.subplots(layout="constrained")
    axes.plot([0, 1, 2], [0.1, 0.4, 0.3], marker="o")
    plotting.save(figure, folder, "figure", "A line.")
    plt.close(figure)
    return [(folder / f"figure.{kind}").read_bytes() for kind in ("png", "svg")]


def test_a_users_own_settings_of_matplotlib_do_not_count(tmp_path) -> None:
    with matplotlib.rc_context():
        plotting.use_style()
        expected = drawn(tmp_path)
        matplotlib.rcParams.update({"font.size": 20, "axes.grid": True, "savefig.facecolor": "yellow"})
        assert drawn(tmp_path)[0] != expected[0]
        plotting.use_style()
        assert drawn(tmp_path) == expected
    named = re.findall(rb'<(?:clipPath|path) id="([pm][^"]*)"', expected[1])
    assert len(named) == len(set(named)) > 0
    assert all(re.fullmatch(rb"[pm]\d", name) for name in named)
    assert set(re.findall(rb'(?:url\(|href=")#([pm]\d+)', expected[1])) == set(named)
