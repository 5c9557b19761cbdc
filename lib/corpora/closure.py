"""Transitive closure: which things belong together when some pairs of them do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scipy.cluster.hierarchy import DisjointSet

from lib.base.errors import InputError


def groups_from_pairs(
    pairs: Iterable[tuple[Any, Any]],
) -> list[list[Any]]:
    """The groups that pairs connect, directly or through others.

    This is the symmetric and transitive closure.

    "How Well Sentence Embeddings Capture Meaning", section 4.1: if A goes with B and B
    with C, the group is A, B, C.

    Parameters
    ----------
    pairs : iterable of two hashable ids each
        In any order and direction, repetitions allowed. An id paired with itself
        belongs to a group even if no other pair names it.

    Returns
    -------
    list of list
        Every group, whatever its size; no id is in two. Groups stand in the order of
        their first members, members in the order in which the pairs first name them, so
        the same pairs always give the same list.

    Raises
    ------
    InputError
        An entry that is not two hashable ids.

    Examples
    --------
    >>> from lib.localization import groups_from_pairs
    >>> groups_from_pairs([("a", "b"), ("c", "d"), ("b", "e")])
    [['a', 'b', 'e'], ['c', 'd']]
    """
    sets = DisjointSet()
    for pair in pairs:
        try:
            left, right = pair
            sets.add(left)
            sets.add(right)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"pairs: {pair!r} is not a pair; give two hashable ids"
            ) from error
        sets.merge(left, right)
    groups: dict[Any, list[Any]] = {}
    for member in sets:
        groups.setdefault(sets[member], []).append(member)
    return list(groups.values())
