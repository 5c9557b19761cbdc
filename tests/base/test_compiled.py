"""Loops compute the right numbers when compiled concurrently or changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lib.base import paths
from tests.sizes import KILLS

LOOPS = {
    "inner": (
        "from collections import namedtuple\nfrom lib.base.compiled import njit\n"
        "Line = Line{factor} = namedtuple('Line{factor}', 'x')\n@njit\ndef times(x):\n"
        "    return {factor} * x\n"
    ),
    "outer": (
        "from inner import times\nfrom lib.base.compiled import njit\n"
        "@njit\ndef total(line):\n    s = line.x[0] * 0\n    for x in line.x:\n"
        "        s += times(x)\n    return s\n"
    ),
}
# Prints the sum of five ones times the factor, and how often the code came from the
# cache.
PROGRAM = """
import pathlib, sys
from lib.base import compiled
compiled.LIBRARY = pathlib.Path(sys.argv[1])
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import inner, numpy, outer
print(f"{outer.total(inner.Line(numpy.ones(5, sys.argv[2]))):g}", sum(outer.total.stats.cache_hits.values()))
"""  # noqa: E501


def write(folder: Path, factor: int) -> None:
    folder.mkdir(exist_ok=True)
    for name, source in LOOPS.items():
        (folder / f"{name}.py").write_text(source.format(factor=factor))


def run(folder: Path, *kinds: str) -> list[str]:
    """What processes print that compute with these types at the same time."""
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    running = [
        subprocess.Popen(
            [*command, kind], cwd=paths.ROOT, stdout=subprocess.PIPE, text=True
        )
        for kind in kinds
    ]
    return [process.communicate()[0].strip() for process in running]


@pytest.mark.parametrize("attempt", range(KILLS))
def test_processes_that_compile_at_the_same_time_compute_the_right_numbers(
    tmp_path, attempt
) -> None:
    write(tmp_path, 2)
    assert run(tmp_path, "float32", "float64") == ["10 0"] * 2
    assert run(tmp_path, "float32", "float64") == ["10 1"] * 2


def test_code_is_compiled_anew_when_another_module_of_it_changes_or_a_class_is_renamed(
    tmp_path,
) -> None:
    for factor in (2, 3):
        write(tmp_path, factor)
        assert run(tmp_path, "int64") == [f"{5 * factor} 0"]
        assert run(tmp_path, "int64") == [f"{5 * factor} 1"]
