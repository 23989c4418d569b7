"""Values of ledgers taken apart by hand, field by field, and put together again: without protobuf, and without ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

PREFIX: Final = b"BookieMetadataFormatVersion\t3\n"
WireField: TypeAlias = tuple[int, int | bytes]
"""A tag, and a number or bytes."""


def fields_of(value: bytes) -> list[WireField]:
    """The fields of a value of version 3: tag, and number or bytes."""
    found: list[WireField] = []
    _, at = read_varint(value, len(PREFIX))
    while at < len(value):
        tag = value[at]
        number, at = read_varint(value, at + 1)
        if tag & 7 == 2:
            found.append((tag, value[at : at + number]))
            at += number
        else:
            found.append((tag, number))
    return found


def value_of(fields: Sequence[WireField]) -> bytes:
    """A value of these fields."""
    data = b"".join(map(encoded, fields))
    return PREFIX + varint(len(data)) + data


def encoded(field: WireField) -> bytes:
    """A field as protobuf writes it."""
    tag, content = field
    if isinstance(content, int):
        return bytes([tag]) + varint(content)
    return bytes([tag]) + varint(len(content)) + content


def varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    found, left = bytearray(), number & (2**64 - 1)
    while left >= 0x80:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes(found) + bytes([left])


def read_varint(value: bytes, at: int) -> tuple[int, int]:
    """A number, and the place behind it."""
    number = shift = 0
    while value[at] >= 0x80:
        number |= (value[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | value[at] << shift, at + 1
