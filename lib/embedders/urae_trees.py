"""Binary trees over the words of sentences, and many of them at once.

A tree over n words is an int64[n - 1, 2] of merges, like SciPy's linkages: the words are nodes 0 to n - 1, and merge t
joins two earlier nodes, a left and a right one, to node n + t. The last node is the root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np

from lib.run.errors import InputError

Nested = Any  # a leaf, or the tuple of a left and a right one
Parser = Callable[[str], Nested]
LONGEST = 128  # words of a sentence that has a greedy tree, or is trained on

_MERGE = object()


# -- one tree -----------------------------------------------------------------------------------


def flattened(tree: Nested) -> tuple[list[Any], np.ndarray]:
    """The leaves of nested tuples from left to right, and their merges. InputError if a tuple is not a pair."""
    leaves: list[Any] = []
    merges: list[tuple[int, int]] = []
    done: list[int] = []  # roots of finished parts: leaf i is i, merge t is -1 - t
    todo = [tree]
    while todo:
        part = todo.pop()
        if part is _MERGE:
            right, left = done.pop(), done.pop()
            merges.append((left, right))
            done.append(-len(merges))
        elif isinstance(part, tuple):
            if len(part) != 2:
                raise InputError(f"trees: a node has {len(part)} parts; give pairs, as in (('the', 'cat'), 'sleeps')")
            todo += [_MERGE, part[1], part[0]]
        else:
            done.append(len(leaves))
            leaves.append(part)
    nodes = np.array(merges, np.int64).reshape(-1, 2)
    return leaves, np.where(nodes < 0, len(leaves) - 1 - nodes, nodes)


@lru_cache(maxsize=256)
def balanced(n: int) -> np.ndarray:
    """The tree that halves n words, and each half again; of an odd number, the left half has one more."""

    def halves(first: int, last: int) -> Nested:
        if last - first == 1:
            return first
        middle = (first + last + 1) // 2
        return halves(first, middle), halves(middle, last)

    return flattened(halves(0, n))[1]


def without(merges: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """The tree that is left of one where only words in bool[n] `keep` stay; a node of one part becomes that part."""
    kept: list[tuple[int, int]] = []
    words = int(keep.sum())
    nodes: list[int | None] = [
        int(place) if stays else None for place, stays in zip(np.cumsum(keep) - 1, keep, strict=True)
    ]
    for left, right in merges.tolist():
        parts = [nodes[child] for child in (left, right) if nodes[child] is not None]
        if len(parts) == 2:
            kept.append((parts[0], parts[1]))
            parts = [words + len(kept) - 1]
        nodes.append(parts[0] if parts else None)
    return np.array(kept, np.int64).reshape(-1, 2)


# -- many trees ---------------------------------------------------------------------------------


class Forest(NamedTuple):
    """The trees of a batch of sentences; inner nodes of one height stand side by side.

    Attributes
    ----------
    words : int, number of words, which are the first nodes: one sentence after the other
    children : int64[m, 2], the children of the inner nodes; row j is node ``words + j``
    levels : int64[h + 1], rows ``levels[k]`` to ``levels[k + 1]`` of `children` have height k + 1
    roots : int64[n], the root of each sentence
    """

    words: int
    children: np.ndarray
    levels: np.ndarray
    roots: np.ndarray


def forest(trees: Sequence[np.ndarray]) -> Forest:
    """The trees of sentences of one word or more."""
    counts = np.array([len(merges) + 1 for merges in trees], np.int64)
    words, first = int(counts.sum()), np.cumsum(counts) - counts
    inner = words + first - np.arange(len(counts))
    children = np.concatenate(
        [
            np.where(merges < n, merges + start, merges + (begin - n))
            for merges, n, start, begin in zip(trees, counts, first, inner, strict=True)
        ]
    )
    heights = _heights(words, children)
    order = np.argsort(heights, kind="stable")
    place = np.concatenate([np.arange(words), np.empty(len(order), np.int64)])
    place[words + order] = words + np.arange(len(order))
    roots = place[np.where(counts > 1, inner + counts - 2, first)]
    levels = np.searchsorted(heights[order], np.arange(1, heights.max(initial=0) + 2))
    return Forest(words, place[children[order]], levels, roots)


def _heights(words: int, children: np.ndarray) -> np.ndarray:
    """int64[m]: how many merges lie between a node and the word farthest below it, its own included."""
    heights = [0] * words
    for left, right in children.tolist():
        heights.append(1 + max(heights[left], heights[right]))
    return np.array(heights[words:], np.int64)


# -- trees of a parser --------------------------------------------------------------------------


def head_driven(sentence: Iterable[Any]) -> Nested:
    """A binary tree of spaCy's parsed tokens: a head takes up its right dependents, nearest first, then its left ones.

    Several roots join from left to right. The leaves are words in lower case. With a pipeline ``nlp`` of spaCy that has
    a parser, ``lambda sentence: head_driven(nlp(sentence))`` is what `urae.URAE` takes as its trees.
    """
    roots = [_folded(token) for token in sentence if token.head == token]
    return reduce(lambda left, right: (left, right), roots)


def _folded(head: Any) -> Nested:
    tree = head.text.lower()
    for right in head.rights:
        tree = (tree, _folded(right))
    for left in reversed(list(head.lefts)):
        tree = (_folded(left), tree)
    return tree
