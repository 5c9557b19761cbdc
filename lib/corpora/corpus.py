"""A corpus, and how it is assembled from the sentences of its source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lib.base.errors import InputError
from lib.corpora import text
from lib.corpora.closure import groups_from_pairs

if TYPE_CHECKING:
    import pyarrow as pa

UNKNOWN_GROUP = -1
FEW_DOCUMENTS = 10  # with fewer, sentences are halved and resampled one by one
BATCH = 1 << 16  # sentences that are Python objects at a time


class Sentences(Sequence[str]):
    """A read-only sequence of str in little memory.

    A slice is a list, and the sequence equals a list of the same sentences.

    Parameters
    ----------
    array : pyarrow.LargeStringArray
        One buffer of UTF-8 bytes, which may be a memory-mapped file, and where each
        sentence starts in it.
    """

    def __init__(self, array: pa.LargeStringArray) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: Any) -> Any:
        chosen = self.array[index]
        return chosen.to_pylist() if isinstance(index, slice) else chosen.as_py()

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), BATCH):
            yield from self[start : start + BATCH]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"<{len(self):,} sentences, the first {self[:1]}>"


@dataclass(frozen=True)
class Corpus:
    """Unique sentences in order, and what is known about them.

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
        Equal for sentences that mean the same (a verse's translations), -1 where
        unknown.
    repeated, empty : int
        How many sentences of the source were left out because they repeat an earlier
        one, or are empty.
    """

    name: str
    sentences: Sentences
    documents: np.ndarray
    ledes: np.ndarray
    groups: np.ndarray
    repeated: int = 0
    empty: int = 0

    def __len__(self) -> int:
        return len(self.sentences)

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change when any sentence or their order does."""
        return text.fingerprint(self.sentences)

    @cached_property
    def has_documents(self) -> bool:
        """Whether there are ten documents or more, enough to resample or halve."""
        return len(np.unique(self.documents)) >= FEW_DOCUMENTS

    @cached_property
    def passages(self) -> np.ndarray:
        """The document of each sentence, int[n].

        Each sentence is its own where there are fewer than ten documents.
        """
        return self.documents if self.has_documents else np.arange(len(self))

    @cached_property
    def clusters(self) -> np.ndarray:
        """int[n], equal for sentences that are not independent.

        These are a verse's translations, or else the sentences of one passage.
        """
        return np.where(
            self.groups >= 0,
            self.groups,
            self.groups.max(initial=-1) + 1 + self.passages,
        )

    def reading(self) -> str:
        """What was read and left out, in a sentence or two.

        It also says what is resampled if that is not documents.
        """
        units = "lines" if self.name.startswith("lines:") else "sentences"
        read = len(self) + self.repeated + self.empty
        documents = len(np.unique(self.documents))
        said = (
            f"`{self.name}`: {read:,} {units} read; dropped {self.repeated:,} "
            f"repeated and {self.empty:,} empty ones; {len(self):,} sentences "
            f"in {documents:,} document{'s' if documents > 1 else ''} remain."
        )
        if self.has_documents:
            return said
        return (
            f"{said} Fewer than ten documents are too few to resample, so intervals "
            "resample single sentences."
        )


class Record(NamedTuple):
    """A sentence as in its source, before repeated and empty ones are removed.

    The first of a document is its lede unless `opens` is false, which says that the
    opening of the document was left out.
    """

    sentence: str
    document: int
    group: int = UNKNOWN_GROUP
    opens: bool = True


def assemble(name: str, records: Iterable[Record]) -> Corpus:
    """A corpus of the sentences of a source, each once.

    The first occurrence of a sentence stands for the others: if both belong to a group,
    the two groups become one, and if a later one opens a document, the first is a lede.
    Raises InputError if there is no sentence.
    """
    import pyarrow as pa
    from pyarrow import compute

    schema = pa.schema(
        [
            ("sentence", pa.large_string()),
            ("document", pa.int32()),
            ("group", pa.int32()),
            ("opens", pa.bool_()),
        ]
    )
    remaining = iter(records)
    tables = [schema.empty_table()]
    while batch := list(islice(remaining, BATCH)):
        columns = list(zip(*batch, strict=True))
        tables.append(pa.table(columns, schema=schema))
    everything = pa.concat_tables(tables)
    table = everything.filter(compute.not_equal(everything["sentence"], ""))
    if not len(table):
        raise InputError(
            f"corpus: {name!r} has no sentences; give a text with at least one"
        )
    encoded = table["sentence"].dictionary_encode().combine_chunks()
    # Of each record's sentence among the unique ones, by first appearance.
    place = encoded.indices.to_numpy()
    first = np.unique(place, return_index=True)[1]
    document = table["document"].to_numpy()
    group = table["group"].to_numpy()
    is_lede = table["opens"].to_numpy() & (np.diff(document, prepend=-1) != 0)
    earlier = group[first][place]
    repeated = (
        (earlier != group) & (earlier != UNKNOWN_GROUP) & (group != UNKNOWN_GROUP)
    )
    alike = zip(earlier[repeated].tolist(), group[repeated].tolist(), strict=True)
    return Corpus(
        name=name,
        sentences=Sentences(encoded.dictionary),
        documents=document[first],
        ledes=np.unique(place[is_lede]),
        groups=_merged(group[first], list(alike)),
        repeated=len(table) - len(first),
        empty=len(everything) - len(table),
    )


def _merged(groups: np.ndarray, alike: list[tuple[int, int]]) -> np.ndarray:
    """Give groups that pairs of numbers connect the smallest of their numbers."""
    if not alike:
        return groups
    smallest = {
        number: min(members)
        for members in groups_from_pairs(alike)
        for number in members
    }
    return np.array(
        [smallest.get(number, number) for number in groups.tolist()], np.int32
    )
