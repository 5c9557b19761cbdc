"""Batches of sentences of about one length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np


def longest_first(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Rows of the sentences that have tokens, the longest first, as many in a batch as fit into so many `tokens`.

    Padded to the longest of the batch, they are no more than `tokens` together, but that a sentence longer than that
    is a batch of its own.
    """
    batch: list[int] = []
    for row in sorted(np.flatnonzero(lengths).tolist(), key=lengths.__getitem__, reverse=True):
        if batch and (len(batch) + 1) * lengths[batch[0]] > tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
