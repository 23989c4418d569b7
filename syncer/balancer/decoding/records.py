"""Records of the extensible manager's topics: the newest of each key counts, an empty one takes it away.

Source: TableViewLoadDataStoreImpl, ServiceUnitStateTableViewImpl, Pulsar 4.0.8.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from syncer.balancer.decoding.brokers import take_broker_load, take_top_bundles
from syncer.balancer.decoding.conflicts import UnitRecord, stands
from syncer.balancer.decoding.fields import parsed
from syncer.balancer.decoding.ownership import take_unit, unit_record
from syncer.balancer.picture import FigureOrigin, LoadSource

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

    The load topics keep nothing: a broker is heard of at its next report.
    """

    brokers: dict[str, TopicRecord] = field(default_factory=dict)
    top: dict[str, TopicRecord] = field(default_factory=dict)
    units: dict[str, tuple[UnitRecord, int | None]] = field(default_factory=dict)
    channel_read: bool = False

    def put(self, topic: str, record: TopicRecord, parts: PictureParts) -> None:
        """Take a message.

        Args:
            topic: Full name of its topic.
            record: The message.
            parts: Where its flaws are noted, if it is of the channel: there each message counts.
        """
        if topic == CHANNEL:
            self._put_unit(record, parts)
            return
        known = self.brokers if topic == BROKER_LOAD else self.top
        if record.value:
            known[record.key] = record
        else:
            known.pop(record.key, None)

    def _put_unit(self, record: TopicRecord, parts: PictureParts) -> None:
        if not record.value:
            self.units.pop(record.key, None)
            return
        fields = parsed(f"{CHANNEL} {record.key}", record.value, parts.notes)
        new = None if fields is None else unit_record(fields)
        known = self.units.get(record.key)
        if new is not None and not stands(known[0] if known is not None else None, new):
            self.units[record.key] = (new, record.published_ms)

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
        if self.channel_read:
            parts.bundles.ownership_read = FigureOrigin(LoadSource.TOPIC, CHANNEL)
