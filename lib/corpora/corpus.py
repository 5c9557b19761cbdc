"""A corpus, and how it is made of the sentences of its source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from lib.corpora import text
from lib.corpora.closure import groups_from_pairs
from lib.run.errors import InputError

UNKNOWN_GROUP = -1
BATCH = 1 << 16  # sentences that are Python objects at a time


class Sentences(Sequence[str]):
    """A read-only sequence of str in little memory; a slice is a list, and it equals a list of the same sentences.

    Parameters
    ----------
    array : pyarrow.LargeStringArray
        One buffer of UTF-8 bytes, which may be a memory-mapped file, and where each sentence starts in it.
    """

    def __init__(self, array: pa.LargeStringArray) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: int | slice) -> str | list[str]:
        found = self.array[index]
        return found.to_pylist() if isinstance(index, slice) else found.as_py()

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), BATCH):
            yield from self[start : start + BATCH]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"<{len(self):,} sentences, the first {self[:1]}>"


@dataclass(frozen=True)
class Corpus:
    """Unique sentences in order, and what is known of them.

    Attributes
    ----------
    name : str
    sentences : sequence of str, length n
        No two alike; a slice of it is a list.
    documents : int32[n]
        The number of each sentence's document.
    ledes : int32[m]
        Ascending indices of the sentences that open a document.
    groups : int32[n]
        Equal for sentences that mean the same (a verse's translations), -1 where unknown.
    """

    name: str
    sentences: Sequence[str]
    documents: np.ndarray
    ledes: np.ndarray
    groups: np.ndarray

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change when any sentence or their order does."""
        return text.fingerprint(self.sentences)


class Record(NamedTuple):
    """A sentence as it stands in its source, before repetitions are removed.

    The first of a document is its lede unless `opens` is false: what opened the document was left out.
    """

    sentence: str
    document: int
    group: int = UNKNOWN_GROUP
    opens: bool = True


SCHEMA = pa.schema(
    [("sentence", pa.large_string()), ("document", pa.int32()), ("group", pa.int32()), ("opens", pa.bool_())]
)


def assemble(name: str, records: Iterable[Record]) -> Corpus:
    """A corpus of the sentences of a source, each once.

    The first occurrence of a sentence stands for the others: if both belong to a group, the two groups become one,
    and if a later one opens a document, the first is a lede. Raises InputError if there is no sentence.
    """
    remaining = iter(records)
    batches = iter(lambda: list(islice(remaining, BATCH)), [])
    tables = [pa.table(list(zip(*batch, strict=True)), schema=SCHEMA) for batch in batches]
    if not tables:
        raise InputError(f"corpus: {name!r} holds no sentence; give a text with at least one")
    table = pa.concat_tables(tables)
    encoded = table["sentence"].dictionary_encode().combine_chunks()
    place = encoded.indices.to_numpy()  # of each record's sentence among the unique ones, by first appearance
    first = np.unique(place, return_index=True)[1]
    document, group = table["document"].to_numpy(), table["group"].to_numpy()
    ledes = place[table["opens"].to_numpy() & (np.diff(document, prepend=-1) != 0)]
    earlier = group[first][place]
    repeated = (earlier != group) & (earlier != UNKNOWN_GROUP) & (group != UNKNOWN_GROUP)
    alike = zip(earlier[repeated].tolist(), group[repeated].tolist(), strict=True)
    return Corpus(
        name=name,
        sentences=Sentences(encoded.dictionary),
        documents=document[first],
        ledes=np.unique(ledes),
        groups=_merged(group[first], list(alike)),
    )


def _merged(groups: np.ndarray, alike: list[tuple[int, int]]) -> np.ndarray:
    """Give the groups that pairs of their numbers connect the smallest of their numbers."""
    if not alike:
        return groups
    smallest = {number: min(members) for members in groups_from_pairs(alike) for number in members}
    return np.array([smallest.get(number, number) for number in groups.tolist()], np.int32)
