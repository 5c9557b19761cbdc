"""Transitive closure: which things belong together when some pairs of them do."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from lib.run.errors import InputError


def groups_from_pairs(pairs: Iterable[tuple[Hashable, Hashable]]) -> list[list[Hashable]]:
    """The groups that pairs connect, directly or through others (symmetric and transitive closure).

    "How Well Sentence Embeddings Capture Meaning", section 4.1: if A goes with B and B with C, the group is
    A, B, C.

    Parameters
    ----------
    pairs : pairs of hashable ids, in any order and direction, repetitions allowed; an id paired with itself
        belongs to a group even if no other pair names it

    Returns
    -------
    Every group, whatever its size; no id is in two. Groups stand in the order of their first members, members
    in the order in which the pairs first name them, so that the same pairs always give the same list.

    Raises
    ------
    InputError
        An entry that is not two hashable ids.
    """
    parent: dict[Hashable, Hashable] = {}
    for number, pair in enumerate(pairs):
        try:
            left, right = pair
            if left != left or right != right:  # NaN, which would belong to nothing, not even to itself
                raise ValueError("NaN")
            parent.setdefault(left, left)
            parent.setdefault(right, right)
        except (TypeError, ValueError) as error:
            raise InputError(f"pairs: entry {number} is {pair!r}; give two hashable ids") from error
        parent[_root(parent, right)] = _root(parent, left)
    groups: dict[Hashable, list[Hashable]] = {}
    for member in parent:
        groups.setdefault(_root(parent, member), []).append(member)
    return list(groups.values())


def _root(parent: dict[Hashable, Hashable], member: Hashable) -> Hashable:
    """The id that stands for a member's group; halves the way there, so that long chains stay cheap."""
    while parent[member] != member:
        parent[member] = member = parent[parent[member]]
    return member
