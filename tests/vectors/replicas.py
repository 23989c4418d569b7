"""Play ``underreplication.json``: ledgers after the loss of bookies, and what BookKeeper's own checker found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from syncer.ledgers.decoding.entries import ledger_entry
from syncer.ledgers.decoding.ledger import ledger_metadata
from syncer.ledgers.judging.fragments import DamagedFragment, damaged_fragments
from syncer.ledgers.judging.ledger import ReplicaClass, judge, lost_ranges
from syncer.ledgers.judging.replicas import SegmentExtent, extents, replicas_left
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.nodes import UnderReplicationMark
from syncer.ledgers.paths import mark_path
from syncer.ledgers.placement.write_sets import entries_on
from tests.vectors.comparing import same

Row = Mapping[str, Any]
_CLASSES: Mapping[ReplicaClass, str] = {
    ReplicaClass.EMPTY: "EMPTY",
    ReplicaClass.NO_REPLICA: "NO_REPLICA",
    ReplicaClass.BELOW_ACK_QUORUM: "LESS_THAN_AQ",
    ReplicaClass.BELOW_WRITE_QUORUM: "LESS_THAN_WQ",
    ReplicaClass.WHOLE: "OK",
}


def differences(case: Row, meta: Row) -> Iterator[str]:
    """Yield what differs in a case."""
    ledger = ledger_metadata("/ledgers", case["ledgerId"], bytes.fromhex(case["hex"]), None)
    if not isinstance(ledger, LedgerMetadata):
        yield f"refused: {ledger.why}"
        return
    lost = frozenset(case["lost"])
    wanted = dict(case["expect"])
    yield from _mark(ledger.ledger_id, wanted.pop("urPath", None), wanted.pop("urText", None), wanted)
    yield from same("judgement", wanted, _found(ledger, lost, case["lac"], case["lastWritten"]))


def _found(ledger: LedgerMetadata, lost: AbstractSet[str], confirmed: int, written: int) -> dict[str, Any]:
    judgement = judge(ledger, lost, confirmed)
    return {
        "underreplicated": bool(judgement.named),
        "markedReplicas": sorted(judgement.named),
        "checkerFragments": [_fragment(each) for each in damaged_fragments(ledger, lost, confirmed, written)],
        "segments": [_segment(ledger, each, lost) for each in extents(ledger, confirmed)],
        "entries": judgement.entries,
        "entriesLost": judgement.lost_entries,
        "lostRanges": [list(each) for each in lost_ranges(ledger, lost, confirmed)],
        "entriesBelowAckQuorum": judgement.below_ack_quorum,
        "entriesBelowWriteQuorum": judgement.below_write_quorum,
        "leastReplicas": judgement.least_replicas,
        "class": _CLASSES[judgement.replica_class],
        "recoverable": judgement.recoverable,
    }


def _segment(ledger: LedgerMetadata, extent: SegmentExtent, lost: AbstractSet[str]) -> dict[str, Any]:
    (first, bookies), last = extent
    ensemble, write, _ = ledger.quorums
    return {
        "firstEntryId": first,
        "lastEntryId": last,
        "bookies": [
            {
                "index": index,
                "bookie": bookie,
                "lost": bookie in lost,
                "entries": entries_on(index, first, last, ensemble, write),
            }
            for index, bookie in enumerate(bookies)
        ],
        "entriesByReplicasLeft": replicas_left(extent, write, lost),
    }


def _fragment(found: DamagedFragment) -> dict[str, Any]:
    return {
        "firstEntryId": found.first_entry,
        "lastKnownEntryId": found.last_entry,
        "firstStoredEntryId": -1 if found.first_stored is None else found.first_stored,
        "lastStoredEntryId": -1 if found.last_stored is None else found.last_stored,
        "closed": found.closed,
        "bookieIndexes": [index for index, _ in found.bookies],
        "addresses": [bookie for _, bookie in found.bookies],
    }


def _mark(ledger_id: int, path: str | None, value: str | None, wanted: Row) -> Iterator[str]:
    """Compare the path of the mark that the auditor makes, and what it writes there."""
    if path is None or value is None:
        yield from same("marked", False, wanted["underreplicated"])
        return
    yield from same("path of the mark", path, f"/ledgers/{mark_path(ledger_id)}")
    mark = ledger_entry(path, value.encode(), None)
    bookies = list(mark.bookies) if isinstance(mark, UnderReplicationMark) else mark
    yield from same("mark", wanted["markedReplicas"], bookies)
