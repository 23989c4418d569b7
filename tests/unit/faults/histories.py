"""Small histories of one path, by hand: outside writes, changes on the bus, conflict records, and what stores hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from syncer.model import Counter, EventType, MetadataChangeEvent, MetaPath, Millis, Region, ResourceKind, Seen, Stamp
from tests.faults.case import Kept
from tests.faults.record import Answer, Write, value_of

PATH: Final = MetaPath("/admin/policies/load-p")
CLUSTERS: Final = ("east", "west")


def write(
    region: str,
    token: str | None,
    over: str | None,
    at: int,
    answer: Answer = Answer.ACKNOWLEDGED,
) -> Write:
    return Write(
        region=region,
        writer=region[0],
        path=PATH,
        token=token,
        over=over,
        read_at_ms=at,
        sent_at_ms=at,
        answered_at_ms=at + 1,
        answer=answer,
    )


def told(
    region: str, token: str | None, at: int, seen: Seen | None = None, number: int | None = None
) -> MetadataChangeEvent:
    by = Counter(f"{region}~1")
    return MetadataChangeEvent(
        type=EventType.MODIFIED if token is not None else EventType.DELETED,
        resource=ResourceKind.TENANT,
        resource_name="load-p",
        path=PATH,
        value=value_of(PATH, token, CLUSTERS) if token is not None else None,
        stamp=Stamp(Millis(at), Region(region)),
        by=by,
        seen={**(seen or {}), by: Millis(at)},
        sender=region,
        sequence=number if number is not None else at,
    )


def lost(loser: MetadataChangeEvent, winner: MetadataChangeEvent, token: str | None) -> Kept:
    return Kept(
        region="west",
        path=PATH,
        loser=loser.stamp,
        winner=winner.stamp,
        reason="concurrent",
        token=token,
        was_delete=loser.value is None,
    )


def unread(region: str, at: int, winner: MetadataChangeEvent) -> Kept:
    return Kept(
        region=region,
        path=PATH,
        loser=Stamp(Millis(at), Region(region)),
        winner=winner.stamp,
        reason="value-unknown",
        token=None,
        was_delete=True,
    )


def stores(east: str | None, west: str | None) -> Mapping[str, Mapping[MetaPath, bytes]]:
    held = {"east": east, "west": west}
    return {name: {PATH: value_of(PATH, token, CLUSTERS)} if token is not None else {} for name, token in held.items()}
