"""What a reader must know of an embedder on a text before trusting its neighbors.

Sentences that it cuts, another similarity than the cosine, vectors that depend on the
batch. A note is a predicate whose subject is the embedder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lib.base import progress
from lib.embedders import kinds
from lib.embedders.base import Embedder
from lib.embedders.own import Checked, Own

# As sentence-transformers calls them in a model's configuration.
SIMILARITIES = {
    "dot": "the dot product",
    "euclidean": "the Euclidean distance",
    "manhattan": "the Manhattan distance",
}


def from_files(embedder: Embedder | Checked, sentences: Sequence[str]) -> list[str]:
    """What can be told without encoding."""
    notes = []
    tokens, longer = embedder.cut(sentences)
    if longer:
        notes.append(
            f"reads at most {tokens:,} tokens of a sentence; "
            f"{longer:,} sentences are longer."
        )
    if other := SIMILARITIES.get(str(embedder.similarity_fn_name)):
        notes.append(
            f"asks that its vectors be compared by {other}; here they are compared by "
            "cosine, so its users may get other results."
        )
    return notes


def checked(embedder: Any) -> Checked:
    """Any object with ``encode`` as one that can be asked for notes."""
    if isinstance(embedder, Checked):
        return embedder
    if isinstance(embedder, Own):
        return embedder.checked
    name = getattr(embedder, "name", type(embedder).__name__)
    return Checked(embedder, name, kinds.unknown(name))


def tell(
    embedder: Any, sentences: Sequence[str], doubts: Sequence[str] | None = None
) -> None:
    """Tell whoever reads the notebook or the terminal.

    `doubts` are those of an earlier `Checked.spot_check`; by default it is made now.
    """
    asked = checked(embedder)
    if doubts is None:
        doubts = asked.spot_check(sentences)
    for note in [*from_files(asked, sentences), *doubts]:
        progress.note(asked.name, note)
