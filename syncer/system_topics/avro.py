"""AVRO by a schema that is only known at run time: records of a system topic, read and written by the broker's text.

Every malformed byte, and every value that a schema has no place for, is an error with a reason. A property test holds
it equal to a general library.

Source: Apache Avro 1.11, binary encoding.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from syncer.errors import ValueInvalid, ValueRefused

Node: TypeAlias = Any
"""A parsed schema, or a decoded value: JSON."""

_PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_LONGEST_VARINT: Final = 10
_BOUNDS: Final = {"int": 31, "long": 63}


class AvroSchema:
    """A schema by its text.

    Raises:
        ValueInvalid: The text is no schema.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._named: dict[str, Node] = {}
        try:
            self._root = self._resolved(json.loads(text), "")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as exc:
            raise ValueInvalid(f"no AVRO schema: {type(exc).__name__}: {exc}") from exc

    def decode(self, data: bytes) -> Node:
        """Read one value.

        Raises:
            ValueInvalid: The bytes are no such value, or there are more of them.
        """
        source = _Bytes(data)
        value = self._read(self._root, source)
        if source.left:
            raise ValueInvalid(f"{source.left} bytes too many")
        return value

    def encode(self, value: Node) -> bytes:
        """Write one value; a field that a record lacks is written as null.

        Raises:
            ValueRefused: The schema has no place for it, or for a part of it.
        """
        out = bytearray()
        self._write(self._root, value, out, "")
        return bytes(out)

    def fields(self, *path: str) -> frozenset[str]:
        """Names of the fields of a record within the record; none where there is no such one.

        Args:
            *path: Fields that lead to it.
        """
        node = self._root
        for name in path:
            node = next((each["type"] for each in _fields_of(self._plain(node)) if each["name"] == name), None)
        return frozenset(each["name"] for each in _fields_of(self._plain(node)))

    def _plain(self, node: Node) -> Node:
        """What a nullable node is when it is not null; a name as what it names."""
        if isinstance(node, list):
            node = next((each for each in node if each != "null"), None)
        return self._named.get(node, node) if isinstance(node, str) else node

    def _resolved(self, node: Node, space: str) -> Node:
        """The schema with full names; what is declared is kept by them."""
        if isinstance(node, str):
            return node if node in _PRIMITIVES else self._known(node, space)
        if isinstance(node, list):
            return [self._resolved(each, space) for each in node]
        kind = node["type"]
        if kind in {"record", "enum", "fixed"}:
            space = node.get("namespace", space)
            name = _full(node["name"], space)
            if kind == "enum":
                self._named[name] = {"type": "enum", "name": name, "symbols": list(node["symbols"])}
                return name
            if kind == "fixed":
                raise ValueError("fixed is not supported")
            record: dict[str, Node] = {"type": "record", "name": name, "fields": []}
            self._named[name] = record
            for each in node["fields"]:
                record["fields"].append({"name": each["name"], "type": self._resolved(each["type"], space)})
            return name
        if kind == "array":
            return {"type": "array", "items": self._resolved(node["items"], space)}
        if kind == "map":
            return {"type": "map", "values": self._resolved(node["values"], space)}
        return self._resolved(kind, space)

    def _known(self, name: str, space: str) -> str:
        full = name if name in self._named else _full(name, space)
        if full not in self._named:
            raise ValueError(f"{name} is not declared")
        return full

    def _read(self, node: Node, source: _Bytes) -> Node:
        if isinstance(node, list):
            return self._read(node[source.index(len(node), "branch")], source)
        if isinstance(node, str) and node in _PRIMITIVES:
            return source.primitive(node)
        node = self._named[node] if isinstance(node, str) else node
        match node["type"]:
            case "record":
                return {each["name"]: self._read(each["type"], source) for each in node["fields"]}
            case "enum":
                return node["symbols"][source.index(len(node["symbols"]), "symbol")]
            case "array":
                return [self._read(node["items"], source) for _ in source.blocks()]
            case _:
                return {source.primitive("string"): self._read(node["values"], source) for _ in source.blocks()}

    def _write(self, node: Node, value: Node, out: bytearray, place: str) -> None:
        if isinstance(node, list):
            self._write_branch(node, value, out, place)
        elif isinstance(node, str) and node in _PRIMITIVES:
            _write_primitive(node, value, out, place)
        else:
            self._write_compound(self._named[node] if isinstance(node, str) else node, value, out, place)

    def _write_branch(self, branches: list[Node], value: Node, out: bytearray, place: str) -> None:
        refusal: ValueRefused | None = None
        for index, branch in enumerate(branches):
            if (branch == "null") is not (value is None):
                continue
            part = bytearray(_varint(index))
            try:
                self._write(branch, value, part, place)
            except ValueRefused as exc:
                refusal = refusal or exc
                continue
            out += part
            return
        raise refusal or _no_place(place, value)

    def _write_compound(self, node: Node, value: Node, out: bytearray, place: str) -> None:
        match node["type"]:
            case "record":
                _must(isinstance(value, Mapping), place, value)
                known = [each["name"] for each in node["fields"]]
                for name in value:
                    if name not in known:
                        raise ValueRefused(f"the brokers' schema has no field {place}{name}")
                for each in node["fields"]:
                    self._write(each["type"], value.get(each["name"]), out, f"{place}{each['name']}.")
            case "enum":
                _must(value in node["symbols"], place, value)
                out += _varint(node["symbols"].index(value))
            case "array":
                _must(isinstance(value, list), place, value)
                if value:
                    out += _varint(len(value))
                    for each in value:
                        self._write(node["items"], each, out, place)
                out.append(0)
            case _:
                _must(isinstance(value, Mapping), place, value)
                if value:
                    out += _varint(len(value))
                    for name, each in value.items():
                        _write_primitive("string", name, out, place)
                        self._write(node["values"], each, out, f"{place}{name}.")
                out.append(0)


class _Bytes:
    """Bytes that are read from their beginning."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        """How many were not read."""
        return len(self._data) - self._at

    def take(self, number: int) -> bytes:
        """The next ones."""
        if not 0 <= number <= self.left:
            raise ValueInvalid(f"{number} bytes are due, {self.left} are left")
        self._at += number
        return self._data[self._at - number : self._at]

    def varint(self) -> int:
        """A number in as many bytes as it needs."""
        number = 0
        for place in range(_LONGEST_VARINT):
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << (7 * place)
            if not byte & 0x80:
                return (number >> 1) ^ -(number & 1)
        raise ValueInvalid("a number has more than 10 bytes")

    def index(self, number: int, what: str) -> int:
        """The place of one of so many."""
        at = self.varint()
        if not 0 <= at < number:
            raise ValueInvalid(f"there is no {what} {at}")
        return at

    def blocks(self) -> range:
        """One for each member of an array or a map; all of them, whatever blocks they come in."""
        return _Members(self)  # type: ignore[return-value]  # iterated, nothing else

    def primitive(self, kind: str) -> Node:
        """A value of a primitive type."""
        match kind:
            case "null":
                return None
            case "boolean":
                byte = self.take(1)[0]
                if byte > 1:
                    raise ValueInvalid(f"{byte} is no truth value")
                return byte == 1
            case "int" | "long":
                number = self.varint()
                if not -(1 << _BOUNDS[kind]) <= number < 1 << _BOUNDS[kind]:
                    raise ValueInvalid(f"{number} is no {kind}")
                return number
            case "float":
                return struct.unpack("<f", self.take(4))[0]
            case "double":
                return struct.unpack("<d", self.take(8))[0]
            case "string":
                try:
                    return self.take(self.varint()).decode()
                except UnicodeDecodeError as exc:
                    raise ValueInvalid("a text is not UTF-8") from exc
            case _:
                return self.take(self.varint()).decode("latin-1")


class _Members:
    def __init__(self, source: _Bytes) -> None:
        self._source = source

    def __iter__(self) -> Any:  # noqa: ANN401 - a generator of nothing but turns
        while count := self._source.varint():
            if count < 0:
                self._source.varint()  # the block's size in bytes
            for _ in range(abs(count)):
                if not self._source.left:
                    raise ValueInvalid("members are due, and nothing is left")
                yield None


def _fields_of(node: Node) -> list[Node]:
    return node["fields"] if isinstance(node, dict) and node["type"] == "record" else []


def _full(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _varint(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append((number & 0x7F) | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _write_primitive(kind: str, value: Node, out: bytearray, place: str) -> None:
    match kind:
        case "null":
            _must(value is None, place, value)
        case "boolean":
            _must(isinstance(value, bool), place, value)
            out.append(int(value))
        case "int" | "long":
            _must(isinstance(value, int) and not isinstance(value, bool), place, value)
            _must(-(1 << _BOUNDS[kind]) <= value < 1 << _BOUNDS[kind], place, value)
            out += _varint(value)
        case "float" | "double":
            _must(isinstance(value, int | float) and not isinstance(value, bool), place, value)
            out += struct.pack("<f" if kind == "float" else "<d", value)
        case _:
            _must(isinstance(value, str), place, value)
            data = _encoded(value, "utf-8" if kind == "string" else "latin-1", place)
            out += _varint(len(data)) + data


def _encoded(value: str, encoding: str, place: str) -> bytes:
    try:
        return value.encode(encoding)
    except UnicodeEncodeError as exc:
        raise _no_place(place, value) from exc


def _must(holds: bool, place: str, value: Node) -> None:  # noqa: FBT001 - it reads as an assertion
    if not holds:
        raise _no_place(place, value)


def _no_place(place: str, value: Node) -> ValueRefused:
    return ValueRefused(f"the brokers' schema does not take {type(value).__name__} at {place.rstrip('.') or 'the top'}")
