"""On which line of a TOML or YAML file a field stands. For messages: a wrong guess misleads nobody but costs a look."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Final

import yaml

Field = tuple[str | int, ...]

MAX_NODES: Final = 100_000
"""Keys and values that a YAML text may stand for, aliases resolved."""

_HEADER: Final = re.compile(r"^\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_KEY_PART: Final = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_ASSIGNMENT: Final = re.compile(rf"^\s*({_KEY_PART}(?:\s*\.\s*{_KEY_PART})*)\s*=(.*)$")
_STRINGS: Final = re.compile(r'''"""|\'\'\'|"(?:[^"\\]|\\.)*"|'[^']*'|#.*''')


def toml_places(text: str) -> dict[Field, int]:
    """Line of each table and key of a sound TOML text, counted from 1; inside an inline table, that of its key."""
    places: dict[Field, int] = {}
    counts: dict[Field, int] = {}
    table: Field = ()
    depth, closing = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        if closing:
            closing = "" if closing in line else closing
            continue
        if not depth:
            if header := _HEADER.match(line):
                table = _keys(header[2])
                if header[1] == "[[":
                    counts[table] = counts.get(table, -1) + 1
                    table = (*table, counts[table])
                places.setdefault(table, number)
                continue
            assignment = _ASSIGNMENT.match(line)
            if assignment is None:
                continue
            places.setdefault((*table, *_keys(assignment[1])), number)
            line = assignment[2]  # noqa: PLW2901
        bare, closing = _without_strings(line)
        depth += sum(bare.count(sign) for sign in "[{") - sum(bare.count(sign) for sign in "]}")
    return places


def _without_strings(line: str) -> tuple[str, str]:
    """The line without strings and comment, and the quotes that a later line has to close."""
    for found in _STRINGS.finditer(line):
        if found[0] in {'"""', "'''"}:
            rest = line[found.end() :]
            if found[0] not in rest:
                return _STRINGS.sub("", line[: found.start()]), found[0]
    return _STRINGS.sub("", line), ""


def _keys(dotted: str) -> Field:
    value: object = tomllib.loads(f"{dotted} = 0")
    keys: list[str | int] = []
    while isinstance(value, Mapping):
        (key, value) = next(iter(value.items()))
        keys.append(str(key))
    return tuple(keys)


def check_aliases(text: str) -> None:
    """Refuse a YAML text that means far more than it says: aliases of aliases, or one within itself.

    Raises:
        yaml.MarkedYAMLError: It does, or is not well formed.
    """
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is not None:
        _weight(root, {})


def _weight(node: yaml.Node, known: dict[int, int]) -> int:
    """How many nodes a node stands for; 0 in ``known`` while it is looked at."""
    if id(node) in known:
        if not known[id(node)]:
            raise yaml.composer.ComposerError(None, None, "an alias stands within what it names", node.start_mark)
        return known[id(node)]
    known[id(node)] = 0
    below = itertools.chain(*node.value) if isinstance(node, yaml.MappingNode) else node.value
    weight = 1 + (sum(_weight(each, known) for each in below) if isinstance(node, yaml.CollectionNode) else 0)
    if weight > MAX_NODES:
        raise yaml.composer.ComposerError(None, None, "its aliases stand for too much", node.start_mark)
    known[id(node)] = weight
    return weight


def yaml_places(text: str) -> dict[Field, int]:
    """Line of each key and list item of a sound YAML text, counted from 1."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    return dict(_nodes(root, ())) if root is not None else {}


def _nodes(node: yaml.Node, at: Field) -> Iterator[tuple[Field, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            field = (*at, str(key.value))
            yield field, key.start_mark.line + 1
            yield from _nodes(value, field)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield (*at, index), value.start_mark.line + 1
            yield from _nodes(value, (*at, index))
