"""A walk over AVRO's bytes that refuses what a library would take for another value, or never end with.

It is made of a schema once: each part of it is a function of the bytes, and of where its value begins.

Source: Apache Avro 1.11, binary encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from syncer.errors import ValueInvalid

Node: TypeAlias = Any
"""A parsed schema, or a decoded value: JSON."""

_LONGEST_VARINT: Final = 10
_INT: Final = (-(1 << 31), (1 << 31) - 1)
_LONG: Final = (-(1 << 63), (1 << 63) - 1)
_VALUES: Final = 1000
_VALUES_PER_BYTE: Final = 8
"""A value may take no byte, as a null does: so many more than there are bytes are no honest message."""
_DEEPEST: Final = 64
"""Values within one another; those of Pulsar 4.2 are 10."""


class ValueBudget:
    """How many records, and members of lists and maps, one value may still hold, however few bytes say so.

    Args:
        size: Bytes of the value.
    """

    __slots__ = ("depth", "values")

    def __init__(self, size: int) -> None:
        self.values = _VALUES + _VALUES_PER_BYTE * size
        self.depth = 0

    def take(self) -> None:
        """A record or a member comes next.

        Raises:
            ValueInvalid: There are too many.
        """
        self.values -= 1
        if self.values < 0:
            raise ValueInvalid("too many empty values")


Walk: TypeAlias = Callable[[bytes, int, ValueBudget], int]
"""Goes over one value, from its begin to its end. Raises ``ValueInvalid``, or ``IndexError`` where bytes lack."""


def walk_of(node: Node, named: dict[str, Node], made: dict[str, Walk]) -> Walk:
    """The walk over a schema's values.

    Args:
        node: The schema, or a part of it.
        named: Schemas by their full names.
        made: Walks over records, by their names.
    """
    if isinstance(node, str):
        node = named.get(node, node)
    match node["type"] if isinstance(node, dict) else node:
        case list():
            return _union(tuple(walk_of(each, named, made) for each in node))
        case "record":
            return _record(node, named, made)
        case "enum":
            return _symbol(len(node["symbols"]))
        case "array":
            return _members(walk_of(node["items"], named, made))
        case "map":
            return _members(walk_of(node["values"], named, made), keys=_text)
        case kind:
            return _PLAIN[kind]


def _record(node: Node, named: dict[str, Node], made: dict[str, Walk]) -> Walk:
    name = node["name"]
    if name in made:
        return made[name]
    steps: list[Walk] = []

    def walk(data: bytes, at: int, budget: ValueBudget) -> int:
        budget.take()
        budget.depth += 1
        if budget.depth > _DEEPEST:
            raise ValueInvalid("values are too deep within one another")
        for step in steps:
            at = step(data, at, budget)
        budget.depth -= 1
        return at

    made[name] = walk
    steps += [walk_of(each["type"], named, made) for each in node["fields"]]
    return walk


def _union(branches: tuple[Walk, ...]) -> Walk:
    def walk(data: bytes, at: int, budget: ValueBudget) -> int:
        branch, at = _number(data, at)
        if not 0 <= branch < len(branches):
            raise ValueInvalid(f"there is no branch {branch}")
        return branches[branch](data, at, budget)

    def nullable(data: bytes, at: int, budget: ValueBudget) -> int:
        return at + 1 if data[at] == 0 else walk(data, at, budget)  # of a policy nearly all are null

    return nullable if branches[:1] == (_null,) else walk


def _symbol(count: int) -> Walk:
    def walk(data: bytes, at: int, _budget: ValueBudget) -> int:
        symbol, at = _number(data, at)
        if not 0 <= symbol < count:
            raise ValueInvalid(f"there is no symbol {symbol}")
        return at

    return walk


def _members(member: Walk, keys: Walk | None = None) -> Walk:
    """A list, or with ``keys`` a map; all members, whatever blocks they come in."""

    def walk(data: bytes, at: int, budget: ValueBudget) -> int:
        count, at = _number(data, at)
        while count:
            if count < 0:
                _, at = _number(data, at)  # the block's size in bytes
            for _ in range(abs(count)):
                budget.take()
                at = member(data, at if keys is None else keys(data, at, budget), budget)
            count, at = _number(data, at)
        return at

    return walk


def _number(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for place in range(_LONGEST_VARINT):
        byte = data[at + place]
        number |= (byte & 0x7F) << (7 * place)
        if not byte & 0x80:
            number = (number >> 1) ^ -(number & 1)
            if not _LONG[0] <= number <= _LONG[1]:
                raise ValueInvalid(f"{number} is no long")
            return number, at + place + 1
    raise ValueInvalid("a number has more than 10 bytes")


def _long(data: bytes, at: int, _budget: ValueBudget) -> int:
    return _number(data, at)[1]


def _int(data: bytes, at: int, _budget: ValueBudget) -> int:
    number, at = _number(data, at)
    if not _INT[0] <= number <= _INT[1]:
        raise ValueInvalid(f"{number} is no int")
    return at


def _text(data: bytes, at: int, _budget: ValueBudget) -> int:
    size, at = _number(data, at)
    if not 0 <= size <= len(data) - at:
        raise ValueInvalid(f"{size} bytes are due, {len(data) - at} are left")
    return at + size


def _boolean(data: bytes, at: int, _budget: ValueBudget) -> int:
    if data[at] > 1:
        raise ValueInvalid(f"{data[at]} is no truth value")
    return at + 1


def _null(_data: bytes, at: int, _budget: ValueBudget) -> int:
    return at


def _wide(width: int) -> Walk:
    def walk(data: bytes, at: int, _budget: ValueBudget) -> int:
        if len(data) - at < width:
            raise ValueInvalid(f"{width} bytes are due, {len(data) - at} are left")
        return at + width

    return walk


_PLAIN: Final[Mapping[str, Walk]] = {
    "null": _null,
    "boolean": _boolean,
    "int": _int,
    "long": _long,
    "float": _wide(4),
    "double": _wide(8),
    "bytes": _text,
    "string": _text,
}
