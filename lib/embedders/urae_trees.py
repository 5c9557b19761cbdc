"""Binary trees over the words of sentences, and many of them at once.

A tree over n words is an int64[n - 1, 2] of merges, like SciPy's linkages: the words are nodes 0 to n - 1, and merge t
joins two earlier nodes, a left and a right one, to node n + t. The last node is the root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from lib.corpora import text
from lib.run.errors import InputError

Nested = Any  # a leaf, or the tuple of a left and a right one
Parser = Callable[[str], Nested]
PIPELINES = ("en_core_web_lg", "en_core_web_md", "en_core_web_sm")  # spaCy's English ones with a parser, best first
LONGEST = 128  # words that are merged greedily at once, and of a sentence that is trained on

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


def joined(trees: Sequence[np.ndarray]) -> np.ndarray:
    """One tree over the words of several, which stand one after the other: their roots under a balanced tree."""
    counts = [len(merges) + 1 for merges in trees]
    parts, roots, first, inner = [], [], 0, sum(counts)
    for merges, n in zip(trees, counts, strict=True):
        parts.append(np.where(merges < n, first + merges, inner + merges - n))
        roots.append(inner + n - 2 if n > 1 else first)
        first, inner = first + n, inner + n - 1
    top = balanced(len(trees))
    places = np.concatenate([roots, inner + np.arange(len(top))]).astype(np.int64)
    return np.concatenate([*parts, places[top]])


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


def head_driven(heads: Sequence[int], words: Sequence[Any]) -> Nested:
    """A binary tree of a dependency tree: a head takes up its right dependents, nearest first, then its left ones.

    Parameters
    ----------
    heads : length n, the position of each word's head; a root is its own. Several roots join from left to right.
    words : length n, the leaves
    """
    dependents: list[list[int]] = [[] for _ in heads]
    order = [word for word, head in enumerate(heads) if word == head]
    roots = list(order)
    for word, head in enumerate(heads):
        if word != head:
            dependents[head].append(word)
    for word in order:  # it grows: heads come before their dependents
        order += dependents[word]
    built = list(words)
    for word in reversed(order):
        for right in (other for other in dependents[word] if other > word):
            built[word] = (built[word], built[right])
        for left in (other for other in reversed(dependents[word]) if other < word):
            built[word] = (built[left], built[word])
    return reduce(lambda left, right: (left, right), (built[root] for root in roots))


def installed_parser() -> str | None:
    """The name of an installed spaCy pipeline for English that has a parser, None if there is none."""
    return next((name for name in PIPELINES if find_spec(name)), None)


def parse(sentence: str) -> Nested:
    """A head-driven tree over the lower-cased tokens of a sentence by the installed parser; "" for no tokens."""
    words = text.word_tokens(sentence)
    if not words:
        return ""
    from spacy.tokens import Doc

    nlp = _pipeline()
    tokens = nlp(Doc(nlp.vocab, words=words))
    return head_driven([token.head.i for token in tokens], [word.lower() for word in words])


@lru_cache(maxsize=1)
def _pipeline() -> Any:
    import spacy

    name = installed_parser()
    if name is None:
        raise InputError(f"trees: no parser is installed; pip install one of {', '.join(PIPELINES)}, or give 'greedy'")
    return spacy.load(name, exclude=["ner", "lemmatizer", "attribute_ruler"])
