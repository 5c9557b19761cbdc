"""Comparable timings and the pages that report them.

Candidates run in one process, in turns; results are medians and ratios.
"""

from __future__ import annotations

import argparse
import platform
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from joblib import cpu_count

from lib import corpora
from lib.base import paths
from lib.base.environment import computes_in_bfloat16, cpuinfo
from tools.pages import table

RUNS = 5
PAGES = paths.BENCHMARKS
TRIALS = paths.CACHE / "benchmarks"


def command(about: str, main: Callable[..., None], **folders: str) -> None:
    """Call ``main(folder, small)`` with the folder for its results.

    For a small trial, that folder is in the cache.

    `folders` are further options of the command, each a folder, with their help.
    """
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument(
        "--small",
        action="store_true",
        help=f"a trial with little of everything, kept in {TRIALS}",
    )
    for name, meaning in folders.items():
        parser.add_argument(f"--{name}", type=Path, metavar="FOLDER", help=meaning)
    options = vars(parser.parse_args())
    folder = TRIALS if options["small"] else PAGES
    folder.mkdir(parents=True, exist_ok=True)
    main(folder, **options)


def sample(corpus: str, size: int) -> list[str]:
    """`size` sentences of a corpus, without repetition, in the corpus's order.

    All of them if it has fewer.
    """
    sentences = corpora.load(corpus).sentences
    chosen = np.random.default_rng(0).permutation(len(sentences))[:size]
    return [sentences[i] for i in np.sort(chosen)]


# -- seconds ---------------------------------------------------------------------------


def seconds(
    call: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> float:
    """Seconds that a call takes."""
    start = clock()
    call()
    return clock() - start


# Of what runs on one thread; other programs on the machine do not stop this clock.
processor_seconds = partial(seconds, clock=time.process_time)


def in_turns(
    candidates: dict[Any, Callable[[], Any]],
    runs: int = RUNS,
    timed: Callable[[Callable[[], Any]], float] = seconds,
    tolerance: float | None = None,
) -> pd.DataFrame:
    """Time each candidate `runs` times in turns (A B C A B C ...).

    One call of each comes first and is not counted.

    Turns spread a machine's drift over all candidates. With a `tolerance`, the results
    of the first calls are compared; AssertionError if a number differs by more from the
    first candidate's. Returns seconds, with a row for each turn and a column for each
    candidate.
    """
    first, *others = [call() for call in candidates.values()]
    if tolerance is not None:
        for other in others:
            np.testing.assert_allclose(other, first, rtol=0, atol=tolerance)
    rows = [[timed(call) for call in candidates.values()] for _ in range(runs)]
    return pd.DataFrame(rows, columns=pd.Index(list(candidates)))


def ratios(numbers: pd.DataFrame) -> pd.Series:
    """For each candidate, the median ratio of its number to the first candidate's.

    Ratios are taken within a turn.
    """
    return numbers.div(numbers.iloc[:, 0], axis=0).median()


def summary(numbers: pd.DataFrame, *names: str, form: str = "{:,.0f}") -> pd.DataFrame:
    """A row of text for each candidate.

    The names head the median, the range, and, if there is a third name, `ratios`.
    """
    low, high = (numbers.agg(bound).map(form.format) for bound in ("min", "max"))
    columns = (
        numbers.median().map(form.format),
        low + " to " + high,
        ratios(numbers).map("{:.2f}".format),
    )
    return pd.DataFrame(dict(zip(names, columns, strict=False)))


# -- memory ----------------------------------------------------------------------------


def own_memory(process: psutil.Process) -> int:
    """Bytes of a process that are no pages of files; 0 if it has ended."""
    try:
        memory = process.memory_info()
    except psutil.NoSuchProcess:
        return 0
    return memory.rss - memory.shared


@contextmanager
def sampled(read: Callable[[], Any], every: float) -> Iterator[list[Any]]:
    """What `read` returns at the start and then at intervals of `every` seconds."""
    values = [read()]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(every):
            values.append(read())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield values
    finally:
        ended.set()
        watcher.join()


# -- the page --------------------------------------------------------------------------


def processor() -> str:
    """The name of the processor."""
    names = [
        line.split(":", 1)[1].strip()
        for line in cpuinfo().splitlines()
        if line.startswith("model name")
    ]
    return names[0] if names else platform.processor() or platform.machine()


def machine() -> str:
    """One line: processor, cores that this process may use, memory, system, Python."""
    extension = " with bfloat16" if computes_in_bfloat16() else ""
    memory = psutil.virtual_memory().total / 2**30
    system = f"{platform.system()}, Python {platform.python_version()}"
    return f"{processor()}{extension}, {cpu_count()} cores, {memory:.0f} GiB, {system}"


def write_page(
    file: Path,
    title: str,
    about: str,
    packages: Sequence[str],
    *parts: str | pd.DataFrame,
) -> None:
    """Write and print a page: machine, package versions, what was measured, results.

    The results are Markdown and tables.
    """
    versions = ", ".join(f"{package} {version(package)}" for package in packages)
    shown = [
        part if isinstance(part, str) else table(part.reset_index()) for part in parts
    ]
    sections = [f"# {title}", f"{machine()}; {versions}. {about}", *shown]
    page = "\n\n".join(section.strip() for section in sections) + "\n"
    file.write_text(page, encoding="utf-8")
    print(page)
