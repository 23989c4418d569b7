"""The text in which a sidecar database keeps values. Both directions, nothing else.

Version vectors and other small maps are compact JSON. An event is its path, a ``head`` (all that is short, as a JSON
list) and its value, byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import orjson

from syncer.conflict.causality.vectors import bounded
from syncer.model import Counter, EventType, MetadataChangeEvent, MetaPath, Millis, Region, ResourceKind, Stamp

_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")


def storable(text: str) -> str:
    """Text that any database takes; strangers and stores write what they like, and details quote it.

    PostgreSQL has no zero byte in a text, and half of a surrogate pair can be written nowhere.
    """
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def dumps(value: object) -> str:
    """Compact JSON; mappings of any type count as objects."""
    return orjson.dumps(value, default=dict).decode()


def dumps_texts(texts: Mapping[str, str]) -> str:
    """Compact JSON of names and texts from outside; what is no Unicode of them is replaced."""
    try:
        return dumps(texts)
    except TypeError:
        return dumps({storable(name): storable(text) for name, text in texts.items()})


def dumps_plain(value: object) -> str:
    """Compact JSON of plain data from outside; what is no Unicode of its texts is replaced.

    A member of an enumeration counts as its value, as a name too.
    """
    try:
        return orjson.dumps(value, default=dict, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        return orjson.dumps(_storable(value), default=dict, option=orjson.OPT_NON_STR_KEYS).decode()


def _storable(value: object) -> object:
    match value:
        case str():
            return storable(value)
        case Mapping():
            return {_storable(name): _storable(each) for name, each in value.items()}
        case list() | tuple():
            return [_storable(each) for each in value]
        case _:
            return value


def stamp_of(time: int | None, region: str | None) -> Stamp | None:
    """A stamp, or ``None`` where there is none."""
    return None if time is None or region is None else Stamp(Millis(time), Region(region))


def event_head(event: MetadataChangeEvent) -> str:
    """All of an event but its path, value, sender and sequence number, as a JSON list."""
    stamp, base = event.stamp, event.base
    partial = () if event.whole else (0,)  # only where it is so: earlier versions of the program know no such place
    return dumps(
        (
            event.type,
            event.resource,
            event.resource_name,
            stamp.updated_at_ms,
            stamp.region,
            event.by,
            event.seen,
            base.updated_at_ms if base is not None else None,
            base.region if base is not None else None,
            event.sender,
            event.sequence,
            *partial,
        )
    )


def event_of(
    path: str, head: str, value: bytes | None, sender: str | None = None, sequence: int = 0
) -> MetadataChangeEvent:
    """The event of its columns. With ``sender`` it is one of our own, numbered by ``sequence``."""
    kind, resource, name, time, region, by, seen, base_time, base_region, author, number, *partial = orjson.loads(head)
    return MetadataChangeEvent(
        type=EventType(kind),
        resource=ResourceKind(resource),
        resource_name=name,
        path=MetaPath(path),
        value=value,
        stamp=Stamp(time, region),
        by=Counter(by),
        seen=bounded(seen, Counter(by)),
        base=stamp_of(base_time, base_region),
        sender=author if sender is None else sender,
        sequence=number if sender is None else sequence,
        whole=not partial,
    )
