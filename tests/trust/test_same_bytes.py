"""The same parameters give the same CSV, PNG, SVG and Parquet, byte for byte, wherever and however they are computed.

`tests.notebooks.test_smoke` runs light notebooks twice, with everything different at once, in the nightly size all of
them; there each difference is tried apart, too, on one notebook made light. `tests.differences` says what differs.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest
import yaml

from lib import corpora, plotting
from tests.differences import AT_ONCE, DIFFERENCES, Place, results
from tests.sizes import NIGHTLY

# Words counted, factorized, trained on and averaged; a map, a tree, heatmaps and intervals.
LIGHT = {
    "corpus_name": "lines:text.txt",
    "query_source": "any",
    "embedder_names": ["tfidf", "lsa-corpus-50d", "w2v-corpus+sif", "pv-dbow-corpus", "wordllama"],
    "queries": 20,
    "samples": 2,
    "k": 10,
    "repetitions": 100,
}
SENTENCES = 500  # of the text
Run = Callable[..., dict[str, bytes]]


@pytest.fixture(scope="module")
def light(tmp_path_factory) -> Iterator[Run]:
    """Runs a light notebook from scratch in a place with differences; returns what it has written, by name."""
    made: list[Place] = []

    def run(*differences: Callable[[Place], None]) -> dict[str, bytes]:
        place = Place(tmp_path_factory.mktemp("place")).make(*differences)
        made.append(place)
        text = "\n".join(corpora.load("lee").sentences[:SENTENCES])
        (place.project / "text.txt").write_text(text, encoding="utf-8")
        (place.project / "params" / "light").mkdir()
        (place.project / "params" / "light" / "01_n2o.yaml").write_text(yaml.safe_dump(LIGHT))
        ended = place.run("light", "01")
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return results(place.project / "figures" / "light")

    yield run
    for place in made:
        shutil.rmtree(place.project, ignore_errors=True)


@pytest.fixture(scope="module")
def plain(light) -> dict[str, bytes]:
    return light()


def differing(left: dict[str, bytes], right: dict[str, bytes]) -> list[str]:
    assert left.keys() == right.keys()
    assert {Path(name).suffix for name in left} >= {".png", ".svg", ".csv", ".parquet"}
    return [name for name in left if left[name] != right[name]]


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


def test_parts_of_a_figure_are_numbered(tmp_path) -> None:
    """Matplotlib would name them after digits that nobody sees, in which sums of several threads differ."""
    with matplotlib.rc_context():
        plotting.use_style()
        svg = drawn(tmp_path)[1]
    named = re.findall(rb'<(?:clipPath|path) id="([pm][^"]*)"', svg)
    assert named
    assert sorted(named) == sorted(set(named))
    assert all(re.fullmatch(rb"[pm]\d", name) for name in named)
    assert set(re.findall(rb'(?:url\(|href=")#([pm]\d+)', svg)) == set(named)


@pytest.mark.skipif(not NIGHTLY, reason="nightly: each difference apart; all at once is tests/notebooks/test_smoke.py")
@pytest.mark.parametrize("difference", DIFFERENCES, ids=[difference.__name__ for difference in DIFFERENCES])
def test_no_difference_changes_a_byte(light, plain, difference) -> None:
    assert differing(plain, light(difference)) == []


@pytest.mark.skipif(not NIGHTLY, reason="nightly")
def test_a_small_text_with_everything_different_gives_the_same_bytes(light, plain) -> None:
    assert differing(plain, light(*AT_ONCE)) == []
