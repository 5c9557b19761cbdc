"""Counting the words of a text that may have more different ones than memory should hold."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory

from lib.run import files

Entry = tuple[bytes, int, int]  # a word, the rank of its first occurrence among all words', its count
LIMIT = 1 << 19  # words, some 100 MB
MOST_RUNS = 64


class WordCounts:
    """How often words occur. Beyond `limit` different ones they go to temporary files, sorted, and are merged there.

    A word holds no white space.

    Attributes
    ----------
    total : int, all that `add` was given
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.total = 0
        self._limit, self._counts, self._ranked = limit, Counter(), 0
        self._folder: TemporaryDirectory | None = None
        self._runs: list[Path] = []

    def add(self, words: list[bytes]) -> None:
        """Count these, too."""
        self.total += len(words)
        self._counts.update(words)
        if len(self._counts) > self._limit:
            self._runs.append(self._written(sorted(self._held())))
            self._ranked += len(self._counts)
            self._counts.clear()
        if len(self._runs) == MOST_RUNS:
            merged = self._written(_merged(map(_read, self._runs)))
            for run in self._runs:
                run.unlink()
            self._runs = [merged]

    def entries(self) -> Iterator[Entry]:
        """Each word once, in no order that means anything."""
        if not self._runs:
            return self._held()
        return _merged([*map(_read, self._runs), sorted(self._held())])

    def _held(self) -> Iterator[Entry]:
        return ((word, rank, count) for rank, (word, count) in enumerate(self._counts.items(), start=self._ranked))

    def _written(self, entries: Iterable[Entry]) -> Path:
        self._folder = self._folder or TemporaryDirectory()
        run = Path(self._folder.name) / f"{self._ranked}-{len(self._runs)}"
        with files.writing(run.parent), run.open("wb") as stream:
            stream.writelines(b"%b %d %d\n" % entry for entry in entries)
        return run


def _read(run: Path) -> Iterator[Entry]:
    with run.open("rb") as stream:
        for line in stream:
            word, rank, count = line.split(b" ")
            yield word, int(rank), int(count)


def _merged(runs: Iterable[Iterable[Entry]]) -> Iterator[Entry]:
    for word, same in groupby(heapq.merge(*runs), key=itemgetter(0)):
        ranks, counts = zip(*((rank, count) for _, rank, count in same), strict=True)
        yield word, ranks[0], sum(counts)
