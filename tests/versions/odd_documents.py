"""Documents that no broker would write: sound ones of a type, changed at random in their values and their bytes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, Final

Type = str | Mapping[str, Any]
"""As ``FieldsOfClasses.java`` tells it."""

_NUMBERS: Final = (
    0, 1, -1, 3, 99, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**30,
    1.5, 2.0, -0.5, 1e5, 3e9, -3e9, 1e19, 1e30, 2147483647.5, -2147483648.0, -2147483648.5, 2.0**63, -(2.0**63),
)  # fmt: skip
_TEXTS: Final = (
    "", "  ", "null", " null ", "NULL", "x", "3", " 3 ", "+3", "-3", "03", "3.0", "1e3", "1d", "0x1p3", ".5", "1.",
    "-", "+", "٣", "2147483647", "2147483648", "99999999999", "9223372036854775808", "NaN", "Infinity", "-INF",
    "true", "True", "TRUE", "tRUE", "false", " false ", "yes", "produce", "Prefix", "min_available",
)  # fmt: skip
_OTHERS: Final[tuple[Any, ...]] = (
    None, True, False, [], [None], ["a"], [1], [True], [[]], [{}], [1.5], {}, {"a": None}, {"a": 1}, {"a": "b"},
    {"a": {}}, {"a": []}, {"a": {"b": 1}},
)  # fmt: skip
_NO_OBJECTS: Final = (
    b"", b"{", b"x", b"'", b"{'a':1}", b"{a:1}", b'{"a":1,}', b"//c\n{}", b"/**/{}", b'{"a":NaN}', b'{"a" 1}', b"{}}",
)  # fmt: skip
_SOUND: Final[Mapping[str, tuple[Any, ...]]] = {
    "text": ("a", "b c", "", "0x0"),
    "boolean": (True, False),
    "int": (0, 1, -1, 7, 2**31 - 1),
    "long": (0, 5, 2**40, -1),
    "double": (0, 0.5, 1e10),
    "boxed double": (0, 0.5, 1e10),
    "constant": ("produce", "no such constant", 0, 99),
}


def drawn(dice: Random, due: Type, count: int) -> Iterator[bytes]:
    """Draw stored values.

    Args:
        dice: The source of chance.
        due: The type of the documents.
        count: Of the values.
    """
    for _ in range(count):
        yield _written(dice, _changed(dice, due, _sound(dice, due)))


def _sound(dice: Random, due: Type) -> Any:
    if isinstance(due, str):
        return dice.choice(_SOUND[due])
    if "object" in due:
        names = dice.sample(sorted(due["object"]), min(len(due["object"]), dice.randint(0, 4)))
        return {name: _sound(dice, due["object"][name]) for name in names}
    if "map" in due:
        return {dice.choice(("some-key", "other", "")): _sound(dice, due["map"]) for _ in range(dice.randint(0, 2))}
    return [_sound(dice, due["list"]) for _ in range(dice.randint(0, 3))]


def _odd(dice: Random) -> Any:
    return copy.deepcopy(dice.choice(dice.choice((_NUMBERS, _TEXTS, _OTHERS))))


def _places(node: object, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    below = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for name, value in below:
        yield from _places(value, (*at, name))


def _changed(dice: Random, due: Type, document: dict[str, Any]) -> dict[str, Any]:
    """Replace some values, and add some fields."""
    names = sorted(due["object"]) if isinstance(due, Mapping) and "object" in due else ["some name"]
    for _ in range(dice.choice((0, 1, 1, 1, 2, 3))):
        *above, last = dice.choice(list(_places(document))) or (dice.choice((*names, "unknown")),)
        node: Any = document
        for name in above:
            node = node[name]
        node[last] = _odd(dice)
    return document


def _written(dice: Random, document: dict[str, Any]) -> bytes:
    """Write a document as JSON, and spoil it now and then."""
    separators = dice.choice(((",", ":"), (", ", ": ")))
    text = json.dumps(document, ensure_ascii=dice.random() < 0.5, separators=separators)
    data = text.encode()
    match dice.randrange(60):
        case 0:
            return b"\xef\xbb\xbf" + data
        case 1:
            return data + dice.choice((b" x", b"\n", b"}", b"{}", b"\xff\xfe", b"\x00"))
        case 2:
            return data[: dice.randint(1, len(data))]
        case 3:
            return text.encode(dice.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be")))
        case 4:
            name = dice.choice(sorted(document) or ["a"])
            return b"{" + f"{json.dumps(name)}:{json.dumps(_odd(dice))}".encode() + b"," + data[1:]
        case 5:
            return b" \n\t" + data
        case 6:
            at = dice.randrange(len(data))
            return data[:at] + bytes([dice.choice(b'{}[],:"x0 \x01\\')]) + data[at + 1 :]
        case 7:
            at = dice.randrange(len(data))
            return data[:at] + data[at + 1 :]
        case 8:
            return dice.choice(_NO_OBJECTS)
    return data
