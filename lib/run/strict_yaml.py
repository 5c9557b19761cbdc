"""YAML without its traps: what reads otherwise than it looks, or grows when it is read, is refused.

Refused are keys that stand twice, aliases and merge keys (a few lines of which can stand for gigabytes), several
documents, nesting without end, keys that are no text, and numbers such as 010 and 1:30, which YAML takes for 8 and 90.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

DEEPEST = 20  # lists and tables in each other
_ANOTHER_NUMBER = re.compile(r"[-+]?0[0-9_]+$|.*:")


def load(text: str) -> Any:
    """What a YAML document says, None for an empty one; ValueError, with the line, for what is refused."""
    loader = None
    try:
        loader = _Loader(text)
        return loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(where + ", ".join(part for part in (error.context, error.problem) if part)) from error
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    finally:
        if loader:
            loader.dispose()


class _Loader(yaml.SafeLoader):
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            raise _refused(event, f"*{event.anchor} is an alias, which is not accepted; write out what it stands for")
        if self.depth == DEEPEST:
            raise _refused(event, f"lists or tables in each other, more than {DEEPEST} deep, are not accepted")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:
        seen = set()
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                raise _refused(key, "<< is a merge key, which is not accepted; write out what it stands for")
            if key.tag != "tag:yaml.org,2002:str":
                raise _refused(key, "a key is no text; write `name: value`")
            if key.value in seen:
                raise _refused(key, f"{key.value[:40]!r} stands here again; give each parameter once")
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        number = node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
        if number and _ANOTHER_NUMBER.match(node.value):
            raise _refused(node, f"YAML reads {node.value[:40]} as another number; write plain digits")
        try:
            return super().construct_object(node, deep)
        except (ValueError, OverflowError) as error:
            kind = node.tag.rpartition(":")[2]
            raise _refused(node, f"{str(node.value)[:40]!r} cannot be read as {kind} ({str(error)[:80]})") from error


def _refused(place: yaml.Event | yaml.Node, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=place.start_mark)
