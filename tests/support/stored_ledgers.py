"""A cluster's ledgers as a store holds them: values that are encoded as BookKeeper and Pulsar encode them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote_plus

from syncer.ledgers.auditing.gathering import PictureGathering, StoredEntry
from syncer.ledgers.auditing.picture import LedgersPicture
from syncer.ledgers.decoding.messages import MESSAGES
from syncer.ledgers.paths import ledger_path, lock_path, mark_path
from syncer.model import MetaPath
from syncer.wanted.contract import REFUSED
from syncer.wanted.ledgers import LedgerPart, ledger_paths

NOW_MS = 1_760_000_000_000
PULSAR: Mapping[str, bytes] = {"application": b"pulsar", "component": b"managed-ledger"}


@dataclass(slots=True)
class StoredLedgers:
    """Paths and values; bookies have names of one letter."""

    values: dict[str, bytes] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def bookies(self, names: str, *, read_only: str = "") -> StoredLedgers:
        """Have bookies that are up, each with its cookie."""
        for name in names:
            self.values[f"/ledgers/available/{name}"] = b""
        for name in read_only:
            self.values[f"/ledgers/available/readonly/{name}"] = b""
        for name in names + read_only:
            self.values[f"/ledgers/cookies/{name}"] = b"3\nhost:1\n/j\n1\t/a"
        return self

    def ledger(
        self,
        ledger_id: int,
        quorums: tuple[int, int, int],
        *segments: tuple[int, Sequence[str]],
        last: int | None = 99,
        length: int = 1000,
        custom: Mapping[str, bytes] = PULSAR,
    ) -> StoredLedgers:
        """Have a ledger; open where it has no last entry."""
        ensemble, write, ack = quorums
        message = MESSAGES["LedgerMetadataFormat"](
            quorumSize=write, ensembleSize=ensemble, ackQuorumSize=ack, length=length, state=1 if last is None else 3
        )
        if last is not None:
            message.lastEntryId = last
        for first, names in segments:
            message.segment.add(firstEntryId=first, ensembleMember=[each.encode() for each in names])
        for key, value in custom.items():
            message.customMetadata.add(key=key.encode(), value=value)
        data = message.SerializeToString()
        size = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
        self.values[f"/ledgers/{ledger_path(ledger_id)}"] = b"BookieMetadataFormatVersion\t3\n" + size + data
        return self

    def topic(
        self, topic: str, *ledger_ids: int, cursors: Mapping[str, int] | None = None, offloaded: Sequence[int] = ()
    ) -> StoredLedgers:
        """Have a topic with its ledgers and cursors; of offloaded ones BookKeeper's copy is gone by intent."""
        space, _, name = topic.partition("://")[2].rpartition("/")
        at = f"/managed-ledgers/{space}/persistent/{quote_plus(name)}"
        message = MESSAGES["ManagedLedgerInfo"]()
        for ledger_id in ledger_ids:
            info = message.ledgerInfo.add(ledgerId=ledger_id, timestamp=0)
            if ledger_id in offloaded:
                info.offloadContext.complete = info.offloadContext.bookkeeperDeleted = True
        self.values[at] = message.SerializeToString()
        for cursor, ledger_id in (cursors or {}).items():
            told = MESSAGES["ManagedCursorInfo"](cursorsLedgerId=ledger_id)
            self.values[f"{at}/{quote_plus(cursor)}"] = told.SerializeToString()
        return self

    def mark(self, ledger_id: int, bookies: str, *, locked_by: str = "") -> StoredLedgers:
        """Have a mark of under-replication, and a worker's lock."""
        lines = [f'replica: "{name}"\n' for name in bookies] + [f"ctime: {NOW_MS}\n"]
        self.values[f"/ledgers/{mark_path(ledger_id)}"] = "".join(lines).encode()
        if locked_by:
            self.values[f"/ledgers/{lock_path(ledger_id)}"] = f'bookieId: "{locked_by}"\n'.encode()
        return self

    def put(self, path: str, value: bytes) -> StoredLedgers:
        """Have any value at any path."""
        self.values[path] = value
        return self

    def picture(self, *parts: LedgerPart) -> LedgersPicture:
        """Gather the picture of it, as its readers would give it."""
        return self.gathering(*parts).picture

    def gathering(self, *parts: LedgerPart) -> PictureGathering:
        """Gather it."""
        gathering = PictureGathering("lab", NOW_MS)
        for part in parts or LedgerPart:
            gathering.begin(part, NOW_MS)
            gathering.take(part, self._entries(part))
            gathering.end(part, NOW_MS + 5)
        return gathering

    def _entries(self, part: LedgerPart) -> Iterator[StoredEntry]:
        wanted = ledger_paths(part)
        for path, value in self.values.items():
            above, _, name = path.rpartition("/")
            below = wanted.below(MetaPath(above))
            kind = None if below is None else below.kind if below.kind_of is None else below.kind_of(name)
            if kind is not None:
                yield StoredEntry(path, kind, value, NOW_MS)
        for path in self.refused:
            if any(path.startswith(root) for root in wanted.roots):
                yield StoredEntry(path, REFUSED, b"", None)
