"""Records of the extensible manager's topics: the newest of each key counts, an empty one takes it away.

Source: TableViewLoadDataStoreImpl, ServiceUnitStateTableViewImpl, Pulsar 4.0.8.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from syncer.balancer.decoding.brokers import take_broker_load, take_top_bundles
from syncer.balancer.decoding.conflicts import UnitRecord, stands
from syncer.balancer.decoding.fields import FlawNotes, parsed
from syncer.balancer.decoding.ownership import take_unit, unit_record
from syncer.balancer.picture import FigureOrigin, LoadFinding, LoadFindingKind, LoadSource

if TYPE_CHECKING:
    from syncer.balancer.decoding.parts import PictureParts

BROKER_LOAD: Final = "non-persistent://pulsar/system/loadbalancer-broker-load-data"
TOP_BUNDLES: Final = "non-persistent://pulsar/system/loadbalancer-top-bundles-load-data"
CHANNEL: Final = "persistent://pulsar/system/loadbalancer-service-unit-state"


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A message of a topic; the value is None or empty where its key was taken away."""

    key: str
    value: bytes | None
    published_ms: int | None


@dataclass(slots=True)
class LoadRecords:
    """What was heard of the three topics, until a picture is asked for.

    The load topics keep nothing: a broker is heard of at its next report. ``torn`` is what was wrong with the last
    message of a bundle in the channel, whose state before it stands; ``troubles`` why a topic cannot be read now.
    """

    brokers: dict[str, TopicRecord] = field(default_factory=dict)
    top: dict[str, TopicRecord] = field(default_factory=dict)
    units: dict[str, tuple[UnitRecord, int | None]] = field(default_factory=dict)
    torn: dict[str, list[LoadFinding]] = field(default_factory=dict)
    troubles: dict[str, str] = field(default_factory=dict)
    channel_read: bool = False

    def put(self, topic: str, record: TopicRecord) -> None:
        """Take a message.

        Args:
            topic: Full name of its topic.
            record: The message.
        """
        if topic == CHANNEL:
            self._put_unit(record)
            return
        known = self.brokers if topic == BROKER_LOAD else self.top
        if record.value:
            known[record.key] = record
        else:
            known.pop(record.key, None)

    def _put_unit(self, record: TopicRecord) -> None:
        self.torn.pop(record.key, None)
        if not record.value:
            self.units.pop(record.key, None)
            return
        notes = FlawNotes()
        fields = parsed(f"{CHANNEL} {record.key}", record.value, notes)
        new = None if fields is None else unit_record(fields)
        known = self.units.get(record.key)
        if new is not None and not stands(known[0] if known is not None else None, new):
            self.units[record.key] = (new, record.published_ms)
        if notes.findings:
            self.torn[record.key] = notes.findings

    def take(self, parts: PictureParts) -> None:
        """Have all that was heard become part of a picture.

        Args:
            parts: Of the picture.
        """
        for topic, records, take in (
            (BROKER_LOAD, self.brokers, take_broker_load),
            (TOP_BUNDLES, self.top, take_top_bundles),
        ):
            for broker, record in records.items():
                where = f"{topic} {broker}"
                fields = parsed(where, record.value or b"", parts.notes)
                if fields is not None:
                    take(broker, fields, FigureOrigin(LoadSource.TOPIC, where, record.published_ms), parts)
        for bundle, (unit, published_ms) in self.units.items():
            take_unit(bundle, unit, FigureOrigin(LoadSource.TOPIC, f"{CHANNEL} {bundle}", published_ms), parts)
        for findings in self.torn.values():
            parts.notes.findings.extend(findings)
        for topic, trouble in self.troubles.items():
            parts.notes.note(
                LoadFindingKind.UNREADABLE,
                topic,
                f"it cannot be read: {trouble}; what it tells stays unknown",
                "See whether the role of the cluster's table may consume from it: it has to be a superuser's.",
            )
        if self.channel_read:
            parts.bundles.ownership_read = FigureOrigin(LoadSource.TOPIC, CHANNEL)
