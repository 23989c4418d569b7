"""The codec of messages: changes, and what daemons send to each other, to and from payload and properties.

The payload is always Pulsar's own record (:mod:`syncer.bus.wire.native`), so a region that runs Pulsar's synchronizer
reads changes of ours as if a broker had sent them. What the record has no field for travels as properties with the
prefix ``syncer.``; a message without them was sent by a broker.

    property          in        meaning
    syncer.v          all       version of this table, "1"
    syncer.kind       all       change, heartbeat, control, tree, listing-asked, listing-told
    syncer.region     all       region id (the record's sourceCluster may be the cluster's name instead)
    syncer.sender     all       id of the sender's database
    syncer.seq        change    running number of the sender
    syncer.type       change    Created, Modified, Deleted (the record never says Created)
    syncer.resource   change    kind of resource
    syncer.name       change    name of the resource
    syncer.by         change    counter of the author
    syncer.seen       change    version vector, JSON {counter: time}
    syncer.base       change    time@region, absent when there was none; for people
    syncer.whole      change    "1": the author fills in the fields that its own brokers do not know
    syncer.target     tree      region that it is for
    syncer.label      tree      what the sender's digest tree sums, and how
    syncer.step       tree      how far down the tree
    syncer.round      tree      number of the comparison
    syncer.signature  all       by :mod:`syncer.bus.trust.signing`, where the group has a key
    syncer.proof      all       by :mod:`syncer.bus.trust.region_keys`, where the region has a key of its own

All but changes carry their fields as JSON in the record's value, at a path below ``/pulsar-syncer``; a step of a
comparison carries its body there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError

from syncer.bus.contract import Outgoing
from syncer.bus.limits import MAX_MESSAGE_BYTES
from syncer.bus.wire.fields import (
    EARLIEST_TIME_MS,
    NAME_CHARACTERS,
    check_numbers,
    checked_number,
    checked_path,
    checked_region,
    checked_time,
    counted,
    is_name,
    text_of,
)
from syncer.bus.wire.heartbeats import check_heartbeat
from syncer.bus.wire.messages import (
    Control,
    ControlAction,
    Heartbeat,
    Ignored,
    Message,
    Said,
    StatePage,
    StateRequest,
    TreeMessage,
)
from syncer.bus.wire.native import NativeEvent, NativeType, decode_native, encode_native
from syncer.conflict.causality.vectors import bounded
from syncer.errors import InvariantBroken, PayloadInvalid, ProtocolUnknown
from syncer.model import (
    FIRST_REAL_TIME_MS,
    Counter,
    EventType,
    MetadataChangeEvent,
    MetaPath,
    Region,
    Seen,
    Stamp,
)
from syncer.paths import OWN_PREFIX, classify, is_under

CODEC_VERSION: Final = "1"
_VERSION_CHARACTERS: Final = 20
PREFIX: Final = "syncer."
"""Of the name of each property of ours."""
_KIND: Final = "syncer.kind"
_SENDER: Final = "syncer.sender"
TALK: Final = frozenset({"heartbeat", "tree", "listing-asked", "listing-told"})
"""Kinds of messages that are said again and again, so that each of them may be lost."""
_VERSION: Final = "syncer.v"
_WHOLE: Final = "syncer.whole"
_EVENT_TYPES: Final = {str(each): each for each in EventType}
_NATIVE_TYPES: Final = {
    EventType.CREATED: NativeType.MODIFIED,
    EventType.MODIFIED: NativeType.MODIFIED,
    EventType.DELETED: NativeType.DELETED,
}
_OF_CLUSTERS: Final = ("clusters", "names", "renaming", "excluded", "offloaded")
_TOLD_WHERE_PRESENT: Final = ("brokers", "able", "ready", "rules", "roots", *_OF_CLUSTERS)
_ACTIONS: Final = frozenset(map(str, ControlAction))
_HEARTBEAT: Final = TypeAdapter(Heartbeat)
_CONTROL: Final = TypeAdapter(Control)
_LISTING_ASKED: Final = TypeAdapter(StateRequest)
_LISTING_TOLD: Final = TypeAdapter(StatePage)
_Checked = TypeVar("_Checked", Heartbeat, Control, StateRequest, StatePage)


def encode(
    message: Said,
    *,
    native_names: Mapping[Region, str] | None = None,
) -> Outgoing:
    """Put a message into the form of the topic.

    Args:
        message: What to say.
        native_names: Region id → name of the cluster that a native region knows it by, where that differs.

    Raises:
        PayloadInvalid: A text of it is not Unicode, or a number does not fit its field.
        InvariantBroken: A change has no value although it should, or the other way round.
    """
    if isinstance(message, MetadataChangeEvent):
        return _encode_change(message, native_names)
    if isinstance(message, Heartbeat):
        untold = {name for name in _TOLD_WHERE_PRESENT if not getattr(message, name)}  # as versions before wrote it
        kind, said = "heartbeat", _HEARTBEAT.dump_json(message, exclude=untold)
    elif isinstance(message, TreeMessage):
        kind, said = "tree", message.body
    elif isinstance(message, StateRequest):
        kind, said = "listing-asked", _LISTING_ASKED.dump_json(message)
    elif isinstance(message, StatePage):
        kind, said = "listing-told", _LISTING_TOLD.dump_json(message)
    else:
        kind, said = "control", _CONTROL.dump_json(message)
    record = NativeEvent(
        f"{OWN_PREFIX}/{message.region}/{kind}",
        said,
        _source(message.region, native_names),
        NativeType.MODIFIED,
        message.sent_at_ms,
    )
    properties = {
        _VERSION: CODEC_VERSION,
        _KIND: kind,
        "syncer.region": message.region,
        _SENDER: message.sender,
    }
    if isinstance(message, TreeMessage):
        properties |= {
            "syncer.target": message.target,
            "syncer.label": message.label,
            "syncer.step": message.step,
            "syncer.round": str(message.round),
        }
    return Outgoing(encode_native(record), properties)


def is_ours(properties: Mapping[str, str]) -> bool:
    """Whether a message says to be one of ours; one without these properties was sent by a broker."""
    return _VERSION in properties or _KIND in properties


def kind_of(properties: Mapping[str, str]) -> str:
    """What a message says to be, told without decoding it; empty when it does not."""
    return properties.get(_KIND, "")


def region_of(properties: Mapping[str, str]) -> str:
    """Where a message says to come from, told without decoding it; empty when it does not."""
    return properties.get("syncer.region", "")


def is_change_of(sender: str, properties: Mapping[str, str]) -> bool:
    """Whether a message is a change that this sender has published; told without decoding it."""
    return properties.get(_SENDER) == sender and properties.get(_KIND) == "change"


def sequence_of(properties: Mapping[str, str]) -> int:
    """The running number of a change, told without decoding it; 0 when it has none."""
    return counted(properties.get("syncer.seq", "")) or 0


def decode(payload: bytes, properties: Mapping[str, str], *, max_bytes: int = MAX_MESSAGE_BYTES) -> Message:
    """Understand a message of the topic, whoever sent it.

    Raises:
        PayloadInvalid: It cannot be understood; the message says which field and why.
    """
    if len(payload) > max_bytes:
        raise PayloadInvalid(f"oversize: the payload has {len(payload)} bytes, the limit is {max_bytes}")
    ours = is_ours(properties)
    if ours and (version := text_of(properties, _VERSION)) != CODEC_VERSION:
        raise ProtocolUnknown(
            f"unknown codec version {version[:NAME_CHARACTERS]!r}; this program knows {CODEC_VERSION!r}",
            version=version[:_VERSION_CHARACTERS],
        )
    record = decode_native(payload)
    path = checked_path(record.path)
    if not ours:
        return _from_native(record, path)
    kind = text_of(properties, _KIND)
    if kind == "change":
        return _from_change(record, path, properties)
    if kind == "heartbeat":
        return _said(_HEARTBEAT, kind, record, path, properties)
    if kind == "control":
        if _asks_for_the_unknown(record):
            return Ignored("unknown-action", path)
        return _said(_CONTROL, kind, record, path, properties)
    if kind == "tree":
        return _from_tree(record, path, properties)
    if kind == "listing-asked":
        return _said(_LISTING_ASKED, kind, record, path, properties)
    if kind == "listing-told":
        return _said(_LISTING_TOLD, kind, record, path, properties)
    raise PayloadInvalid(f"unknown kind of message {kind!r}")


def _source(region: Region, native_names: Mapping[Region, str] | None) -> str:
    return native_names.get(region, region) if native_names else region


def _encode_change(event: MetadataChangeEvent, native_names: Mapping[Region, str] | None) -> Outgoing:
    if (event.value is None) is not (event.type is EventType.DELETED):
        raise InvariantBroken(
            f"a {event.type} event of {event.path} {'without' if event.value is None else 'with'} a value"
        )
    region = event.stamp.region
    properties = {
        _VERSION: CODEC_VERSION,
        _KIND: "change",
        "syncer.region": region,
        _SENDER: event.sender,
        "syncer.seq": str(event.sequence),
        "syncer.type": event.type.value,
        "syncer.resource": event.resource.value,
        "syncer.name": event.resource_name,
        "syncer.by": event.by,
        "syncer.seen": orjson.dumps(event.seen).decode(),
    }
    if event.whole:
        properties[_WHOLE] = "1"
    if event.base is not None:
        properties["syncer.base"] = str(event.base)
    record = NativeEvent(
        event.path, event.value, _source(region, native_names), _NATIVE_TYPES[event.type], event.stamp.updated_at_ms
    )
    return Outgoing(encode_native(record), properties)


def _check_value(record: NativeEvent, *, deleted: bool) -> None:
    if deleted and record.value is not None:
        raise PayloadInvalid(f"a delete of {record.path} with a value of {len(record.value)} bytes")
    if not deleted and record.value is None:
        raise PayloadInvalid(f"a change of {record.path} without a value")


def _from_native(record: NativeEvent, path: MetaPath) -> MetadataChangeEvent | Ignored:
    """Take a broker's event for what it says; it has no version vector, and its expected version means nothing here."""
    if record.source_cluster is None:
        raise PayloadInvalid(f"a native event of {path} without sourceCluster")
    if is_under(path, OWN_PREFIX):
        return Ignored("echo-of-own-path", path)
    resource = classify(path)
    if resource is None:
        return Ignored("no-resource", path)
    if record.type is None:
        raise PayloadInvalid(f"a native event of {path} without a type")
    if record.options:
        return Ignored("ephemeral-or-sequential", path)
    if record.type is NativeType.CHILDREN_CHANGED:
        return Ignored("children-changed", path)
    deleted = record.type is NativeType.DELETED
    _check_value(record, deleted=deleted)
    region = checked_region(record.source_cluster, "sourceCluster")
    time_ms = checked_time(record.timestamp_ms, f"lastUpdatedTimestamp of {path}", earliest=FIRST_REAL_TIME_MS)
    by = Counter(f"{region}~native")
    return MetadataChangeEvent(
        type=EventType.DELETED if deleted else EventType.MODIFIED,
        resource=resource.kind,
        resource_name=resource.name,
        path=path,
        value=record.value,
        stamp=Stamp(time_ms, region),
        by=by,
        seen={by: time_ms},
        whole=False,
    )


def _from_change(record: NativeEvent, path: MetaPath, properties: Mapping[str, str]) -> MetadataChangeEvent:
    kind = _EVENT_TYPES.get(text_of(properties, "syncer.type"))
    if kind is None:
        raise PayloadInvalid(f"malformed property syncer.type: {properties['syncer.type']!r}")
    if record.type is not _NATIVE_TYPES[kind]:
        said = "none" if record.type is None else record.type.name
        raise PayloadInvalid(f"the properties say {kind} of {path}, the payload says {said}")
    _check_value(record, deleted=kind is EventType.DELETED)
    resource = classify(path)
    if resource is None:
        raise PayloadInvalid(
            f"a change of {path}, which is no resource known here",
            hint="A region replicates a kind that this version does not know: upgrade this one, then retry.",
        )
    kind_said, name_said = text_of(properties, "syncer.resource"), text_of(properties, "syncer.name")
    if (resource.kind, resource.name) != (kind_said, name_said):
        said = f"{kind_said} {name_said!r}"
        raise PayloadInvalid(f"the properties say {said}, the path {path} is {resource.kind} {resource.name!r}")
    region = checked_region(text_of(properties, "syncer.region"), "syncer.region")
    time_ms = checked_time(record.timestamp_ms, f"the stamp of {path}")
    by = text_of(properties, "syncer.by")
    if by.rpartition("~")[0] != region or not is_name(by):
        raise PayloadInvalid(
            f"malformed property syncer.by: {by[:NAME_CHARACTERS]!r} is no counter of region {region!r}"
        )
    seen = _seen(text_of(properties, "syncer.seen"), Counter(by))
    if seen.get(Counter(by), 0) < time_ms:
        raise PayloadInvalid(f"malformed property syncer.seen: the change {by} at {time_ms} is not in it")
    if not (sender := _sender(properties)):
        raise PayloadInvalid("malformed property syncer.sender: it is empty")
    return MetadataChangeEvent(
        type=kind,
        resource=resource.kind,
        resource_name=resource.name,
        path=path,
        value=record.value,
        stamp=Stamp(time_ms, region),
        by=Counter(by),
        seen=seen,
        base=_base(properties.get("syncer.base")),
        sender=sender,
        sequence=checked_number(text_of(properties, "syncer.seq"), "syncer.seq"),
        whole=properties.get(_WHOLE) == "1",
    )


def _seen(text: str, by: Counter) -> Seen:
    """A version vector, cut to the room that it may take: what its author has written must travel all the same."""
    try:
        seen = orjson.loads(text)
    except orjson.JSONDecodeError as exc:
        raise PayloadInvalid(f"malformed property syncer.seen: {exc}") from exc
    if type(seen) is not dict:
        raise PayloadInvalid("malformed property syncer.seen: no JSON object")
    for counter, time_ms in seen.items():
        if type(time_ms) is not int or not is_name(counter):
            raise PayloadInvalid(
                f"malformed property syncer.seen: {counter[:NAME_CHARACTERS]!r} is no counter, or has no time"
            )
        checked_time(time_ms, f"the time of {counter!r} in syncer.seen")
    return bounded(seen, by)


def _base(text: str | None) -> Stamp | None:
    if text is None:
        return None
    time_text, at, region = text.partition("@")
    if not at:
        raise PayloadInvalid(f"malformed property syncer.base: {text!r}")
    time_ms = checked_time(checked_number(time_text, "syncer.base"), "the time in syncer.base", earliest=0)
    return Stamp(time_ms, checked_region(region, "syncer.base"))


def _from_tree(record: NativeEvent, path: MetaPath, properties: Mapping[str, str]) -> TreeMessage:
    region = _checked_source("tree", record, path, properties)
    if record.value is None:
        raise PayloadInvalid(f"a tree of region {region!r} without a value")
    return TreeMessage(
        region=region,
        sender=_sender(properties),
        sent_at_ms=checked_time(
            record.timestamp_ms, f"the time of the tree of region {region!r}", earliest=EARLIEST_TIME_MS
        ),
        target=text_of(properties, "syncer.target"),
        label=text_of(properties, "syncer.label"),
        step=text_of(properties, "syncer.step"),
        round=checked_number(text_of(properties, "syncer.round"), "syncer.round"),
        body=record.value,
    )


def _sender(properties: Mapping[str, str]) -> str:
    sender = text_of(properties, _SENDER)
    if sender and not is_name(sender):
        raise PayloadInvalid(
            f"malformed property syncer.sender: {sender[:100]!r}, of {len(sender)} characters, names no database"
        )
    return sender


def _checked_source(kind: str, record: NativeEvent, path: MetaPath, properties: Mapping[str, str]) -> Region:
    region = checked_region(text_of(properties, "syncer.region"), "syncer.region")
    if path != f"{OWN_PREFIX}/{region}/{kind}":
        raise PayloadInvalid(f"the properties say {kind} of region {region!r}, the payload's path is {path!r}")
    if record.type is not NativeType.MODIFIED:
        raise PayloadInvalid(f"a {kind} whose payload does not say Modified")
    return region


def _asks_for_the_unknown(record: NativeEvent) -> bool:
    """Whether a control message asks for what only a newer version knows."""
    try:
        asked = orjson.loads(record.value or b"")
    except orjson.JSONDecodeError:
        return False
    action = asked.get("action") if isinstance(asked, dict) else None
    return isinstance(action, str) and action not in _ACTIONS


def _said(
    adapter: TypeAdapter[_Checked], kind: str, record: NativeEvent, path: MetaPath, properties: Mapping[str, str]
) -> _Checked:
    region = _checked_source(kind, record, path, properties)
    if record.value is None:
        raise PayloadInvalid(f"a {kind} of region {region!r} without a value")
    try:
        said = adapter.validate_json(record.value, strict=True)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "value"
        raise PayloadInvalid(f"malformed {kind} of region {region!r}: {where}: {first['msg']}") from exc
    if said.region != region or said.sender != _sender(properties):
        raise PayloadInvalid(f"the {kind} of region {region!r} names another region or sender in its payload")
    if said.sent_at_ms != record.timestamp_ms:
        raise PayloadInvalid(f"the {kind} of region {region!r} has two times: {said.sent_at_ms}, {record.timestamp_ms}")
    checked_time(said.sent_at_ms, f"the time of the {kind} of region {region!r}", earliest=EARLIEST_TIME_MS)
    if isinstance(said, Heartbeat):
        check_heartbeat(said)
    elif isinstance(said, Control):
        _check_control(said)
    elif isinstance(said, StateRequest):
        check_numbers(kind, region, {"told": said.told})
    elif isinstance(said, StatePage):
        check_numbers(kind, region, {"total": said.total})
    return said


def _check_control(control: Control) -> None:
    region = control.region
    check_numbers("control", region, {"number": control.number})
    if control.action is ControlAction.FORGET and control.paths:
        checked_region(control.paths[0], "a forgotten region")
        if not all(map(is_name, control.paths[1:])):
            raise PayloadInvalid(f"a control of region {region!r} to forget a database that is none")
    if control.action is ControlAction.PROVE and not (len(control.paths) == 1 and is_name(control.paths[0])):
        raise PayloadInvalid(f"a control of region {region!r} that asks for the change of no database")
    for time, author in control.stamps:
        check_numbers("control", region, {"stamps": time})
        checked_region(author, "stamps")
    if control.stamps and len(control.stamps) != len(control.paths):
        raise PayloadInvalid(
            f"a control of region {region!r} has {len(control.stamps)} stamps of {len(control.paths)} paths"
        )
