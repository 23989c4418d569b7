"""Gathering: entries of a store, part by part, made a picture of a cluster's ledgers.

Source: ManagedLedgerFactoryImpl, TopicName, BookkeeperSchemaStorage, Pulsar 4.0.8, for names and places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import unquote_plus

from syncer.ledgers.auditing.picture import (
    LedgerReference,
    LedgersPicture,
    PartExtent,
    TopicOfLedgers,
)
from syncer.ledgers.decoding.entries import Decoded, ledger_entry
from syncer.ledgers.decoding.managed import managed_cursor, managed_ledger, schema_ledgers
from syncer.ledgers.decoding.undecodable import Undecodable
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.nodes import (
    AuditorCheck,
    AuditorVote,
    BookieCookie,
    BookieRegistration,
    InstanceId,
    RecoveryDelay,
    RecoveryDisabled,
    RecoveryLock,
    UnderReplicationMark,
)
from syncer.ledgers.owners import ReferenceRole, topic_of_path
from syncer.ledgers.paths import ROOT
from syncer.ledgers.placement.racks import rack_map
from syncer.wanted.contract import REFUSED
from syncer.wanted.ledgers import LedgerPart, LedgerPathKind


class StoredEntry(NamedTuple):
    """An entry of a store, with the kind that its reader gave its path."""

    path: str
    kind: str
    value: bytes
    created_ms: int | None


class PictureGathering:
    """Takes entries of parts and makes a picture of them.

    Args:
        cluster: Name of the cluster.
        taken_ms: When the reading began.
        root: Where BookKeeper's own paths begin.
    """

    def __init__(self, cluster: str, taken_ms: int, root: str = ROOT) -> None:
        self.picture = LedgersPicture(cluster=cluster, taken_ms=taken_ms, root=root)
        self._root = root
        self._takes: dict[str, Callable[[StoredEntry, PartExtent], None]] = {
            LedgerPathKind.MANAGED_LEDGER: self._take_topic,
            LedgerPathKind.CURSOR: self._take_cursor,
            LedgerPathKind.SCHEMA: self._take_schema,
            LedgerPathKind.RACKS: self._take_racks,
        }

    def begin(self, part: LedgerPart, now_ms: int) -> None:
        """Begin a part.

        Args:
            part: The part.
            now_ms: The time.
        """
        self.picture.extents[part] = PartExtent(began_ms=now_ms, ended_ms=now_ms)

    def take(self, part: LedgerPart, entries: Iterable[StoredEntry]) -> None:
        """Take entries of a part that has begun.

        Args:
            part: The part.
            entries: What was read.
        """
        extent = self.picture.extents[part]
        for entry in entries:
            if entry.kind == REFUSED:
                extent.refused.append(entry.path)
                continue
            extent.rows += 1
            if entry.kind == LedgerPathKind.UNFAMILIAR:
                extent.unfamiliar.append(entry.path)
                continue
            self._takes.get(entry.kind, self._take_node)(entry, extent)

    def end(self, part: LedgerPart, now_ms: int) -> None:
        """End a part.

        Args:
            part: The part.
            now_ms: The time.
        """
        self.picture.extents[part].ended_ms = now_ms

    def refer(self, other: LedgersPicture) -> None:
        """Add the references of another cluster whose ledgers the same bookies keep; what is unclear there is unclear.

        Args:
            other: Its picture, with its references.
        """
        for ledger_id, found in other.references.items():
            for each in found:
                self._refer(ledger_id, each._replace(cluster=other.cluster))
        own, its = self.picture.extents[LedgerPart.REFERENCES], other.extents[LedgerPart.REFERENCES]
        own.ended_ms = max(own.ended_ms, its.ended_ms)
        own.rows += its.rows
        own.refused += its.refused
        own.undecodable += its.undecodable
        own.unfamiliar += its.unfamiliar

    def _take_node(self, entry: StoredEntry, extent: PartExtent) -> None:
        """Take what BookKeeper itself keeps."""
        picture = self.picture
        decoded: Decoded | None = ledger_entry(entry.path, entry.value, entry.created_ms, self._root)
        match decoded:
            case LedgerMetadata():
                picture.ledgers[decoded.ledger_id] = decoded
            case Undecodable():
                extent.undecodable.append(decoded)
            case BookieRegistration():
                (picture.read_only if decoded.read_only else picture.writable).add(decoded.bookie)
            case BookieCookie():
                picture.cookies[decoded.bookie] = decoded
            case InstanceId():
                picture.instance_id = decoded.instance_id
            case UnderReplicationMark():
                picture.recovery.marks.append(decoded)
            case RecoveryLock():
                picture.recovery.locks[decoded.ledger_id] = decoded
            case AuditorVote():
                picture.recovery.votes.append(decoded)
            case AuditorCheck():
                picture.recovery.checks.append(decoded)
            case RecoveryDelay():
                picture.recovery.delay_s = decoded.delay_s
            case RecoveryDisabled():
                picture.recovery.disabled = True
            case _:
                pass  # a folder, or a layout: nothing follows from it

    def _take_topic(self, entry: StoredEntry, extent: PartExtent) -> None:
        topic, record = self._record(entry.path)
        decoded = managed_ledger(entry.path, entry.value)
        if isinstance(decoded, Undecodable):
            extent.undecodable.append(decoded)
            return
        record.managed = decoded
        for each in decoded.ledgers:
            self._refer(each.ledger_id, LedgerReference(topic, ReferenceRole.DATA, each))

    def _take_cursor(self, entry: StoredEntry, extent: PartExtent) -> None:
        above, _, name = entry.path.rpartition("/")
        topic, record = self._record(above)
        decoded = managed_cursor(entry.path, entry.value)
        if isinstance(decoded, Undecodable):
            extent.undecodable.append(decoded)
            return
        record.cursors[unquote_plus(name)] = decoded
        if decoded.ledger_id is not None:
            self._refer(decoded.ledger_id, LedgerReference(topic, ReferenceRole.CURSOR))
        if decoded.compacted_ledger_id is not None:
            self._refer(decoded.compacted_ledger_id, LedgerReference(topic, ReferenceRole.COMPACTED))
        for ledger_id in decoded.delayed_ledger_ids():
            self._refer(ledger_id, LedgerReference(topic, ReferenceRole.DELAYED_INDEX))

    def _take_schema(self, entry: StoredEntry, extent: PartExtent) -> None:
        topic = topic_of_path(entry.path)
        if not entry.value or topic is None:
            return
        decoded = schema_ledgers(entry.path, entry.value)
        if isinstance(decoded, Undecodable):
            extent.undecodable.append(decoded)
            return
        self.picture.schemas[topic] = decoded.ledger_ids
        for ledger_id in decoded.ledger_ids:
            self._refer(ledger_id, LedgerReference(topic, ReferenceRole.SCHEMA))

    def _take_racks(self, entry: StoredEntry, extent: PartExtent) -> None:
        del extent
        self.picture.racks = rack_map(entry.value)

    def _record(self, path: str) -> tuple[str, TopicOfLedgers]:
        topic = topic_of_path(path) or path
        return topic, self.picture.topics.setdefault(topic, TopicOfLedgers())

    def _refer(self, ledger_id: int, reference: LedgerReference) -> None:
        references = self.picture.references
        found = references.get(ledger_id, ())
        if not any(each.topic == reference.topic and each.role is reference.role for each in found):
            references[ledger_id] = (*found, reference)
