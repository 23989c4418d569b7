"""AVRO by a schema that is only known at run time: records of a system topic, read and written by the broker's text.

A general library reads and writes. It takes some malformed bytes for a value, and asks for no bound of time, memory or
depth: bytes are walked once before it reads them. A property test holds that walk to what the library writes.

Source: Apache Avro 1.11, binary encoding.
"""

from __future__ import annotations

import io
import json
import struct
from typing import Final

import fastavro
from fastavro.read import LOGICAL_READERS
from fastavro.schema import SchemaParseException
from fastavro.validation import ValidationError, validate
from fastavro.write import LOGICAL_WRITERS

from syncer.errors import ValueInvalid, ValueRefused
from syncer.system_topics.avro_walk import Node, ValueBudget, walk_of

_CHECKED: Final = {
    "bytes": {"type": "bytes", "logicalType": "latin-1"},
    "float": {"type": "float", "logicalType": "finite"},
}


class AvroSchema:
    """A schema by its text.

    Raises:
        ValueInvalid: The text is no schema.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._named: dict[str, Node] = {}
        try:
            bare = _bare(fastavro.parse_schema(json.loads(text, object_hook=_whole)))
            self._root: Node = fastavro.parse_schema(bare, self._named)
            self._walk = walk_of(self._root, self._named, {})
        except (SchemaParseException, ValueError, LookupError, TypeError, AttributeError, RecursionError) as exc:
            raise ValueInvalid(f"no AVRO schema: {type(exc).__name__}: {exc}") from exc

    def decode(self, data: bytes) -> Node:
        """Read one value.

        Raises:
            ValueInvalid: The bytes are no such value, or there are more of them.
        """
        try:
            end = self._walk(data, 0, ValueBudget(len(data)))
        except IndexError as exc:
            raise ValueInvalid("1 bytes are due, 0 are left") from exc
        if end < len(data):
            raise ValueInvalid(f"{len(data) - end} bytes too many")
        try:
            return fastavro.schemaless_reader(io.BytesIO(data), self._root, None)
        except UnicodeDecodeError as exc:
            raise ValueInvalid("a text is not UTF-8") from exc

    def encode(self, value: Node) -> bytes:
        """Write one value; a field that a record lacks is written as null.

        Raises:
            ValueRefused: The schema has no place for it, or for a part of it: the record and its field are named, or
                a field that the record has not.
        """
        out = io.BytesIO()
        try:
            validate(value, self._root)
            fastavro.schemaless_writer(out, self._root, value, strict_allow_default=True, disable_tuple_notation=True)
        except ValidationError as exc:
            part = exc.errors[-1]
            place = ".".join(part.field.rsplit(".", 2)[-2:]) or "the top"
            raise ValueRefused(f"the brokers' schema does not take {type(part.datum).__name__} at {place}") from exc
        except (ValueError, OverflowError, RecursionError) as exc:
            raise ValueRefused(f"the brokers' schema does not take it: {exc}") from exc
        return out.getvalue()

    def fields(self, *path: str) -> frozenset[str]:
        """Names of the fields of a record within the record; none where there is no such one.

        Args:
            *path: Fields that lead to it.
        """
        node = self._root
        for name in path:
            node = next((each["type"] for each in self._fields_of(node) if each["name"] == name), None)
        return frozenset(each["name"] for each in self._fields_of(node))

    def _fields_of(self, node: Node) -> list[Node]:
        """Those of a record, of one that may be null too; none of anything else."""
        if isinstance(node, list):
            node = next((each for each in node if each != "null"), None)
        node = self._named.get(node) if isinstance(node, str) else node
        return node["fields"] if node is not None and node["type"] == "record" else []


def _whole(node: Node) -> Node:
    """An object of a schema; the library reads a record that lost its fields as one that has none."""
    if node.get("type") == "record" and "fields" not in node:
        raise ValueError("a record says nothing of its fields")
    return node


def _bare(node: Node) -> Node:
    """A parsed schema's structure alone: JSON comes out whatever is said of its meaning; what is missing is null."""
    if isinstance(node, list):
        return [_bare(each) for each in node]
    if isinstance(node, str):
        return _CHECKED.get(node, node)
    match node["type"]:
        case "record":
            fields = [{"name": each["name"], "type": _bare(each["type"])} for each in node["fields"]]
            for each in fields:
                if "null" in (each["type"] if isinstance(each["type"], list) else [each["type"]]):
                    each["default"] = None
            return {"type": "record", "name": node["name"], "namespace": "", "fields": fields}
        case "enum":
            return {"type": "enum", "name": node["name"], "namespace": "", "symbols": node["symbols"]}
        case "array":
            return {"type": "array", "items": _bare(node["items"])}
        case "map":
            return {"type": "map", "values": _bare(node["values"])}
        case "fixed" | "error":
            raise ValueError(f"{node['type']} is not supported")
        case primitive:
            return _bare(primitive)


def _latin_1(value: Node, _schema: Node) -> Node:
    """Text as the bytes that it stands for; anything else is left to be refused."""
    try:
        return value.encode("latin-1") if isinstance(value, str) else value
    except UnicodeEncodeError:
        return value


def _finite(value: Node, _schema: Node) -> Node:
    """A number that four bytes can hold: the library makes infinity of a greater one."""
    if isinstance(value, int | float):
        struct.pack("<f", float(value))
    return value


LOGICAL_READERS["bytes-latin-1"] = lambda data, *_: data.decode("latin-1")
LOGICAL_WRITERS["bytes-latin-1"] = _latin_1
LOGICAL_WRITERS["float-finite"] = _finite
