"""Rendering of one ledger, drawn segment by segment, and of one topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from syncer.cli.render import output
from syncer.cli.render.ledgers.answer import SHOWN, rests_on, sized
from syncer.cli.render.output import say
from syncer.documents.ledgers.explained import (
    ExplainedLedgerDocument,
    ExplainedSegmentDocument,
    ExplainedTopicDocument,
)
from syncer.documents.words import moment
from syncer.ledgers.auditing.loading import NoLoading
from syncer.ledgers.judging.ledger import ReplicaClass

_HINTS: Final = {
    NoLoading.LAST_LEDGER_NOT_RECOVERABLE: "'syncer ledgers explain {}' says which bookies are needed.",
    NoLoading.LAST_LEDGER_SHORT_OF_BOOKIES: "Start another bookie: its recovery writes the last entries once more.",
    NoLoading.LAST_LEDGER_MISSING: "Look again: it may have been made meanwhile. Else 'syncer ledgers orphans' tells.",
    NoLoading.LAST_LEDGER_UNDECODABLE: "'bookkeeper shell ledgermetadata -ledgerid {}' shows what is there.",
    NoLoading.LAST_LEDGER_NOT_READ: "Give the credentials of this cluster's store the right to read its path.",
    NoLoading.NO_NEW_LEDGER: "Start bookies: fewer can be written to than its ledgers need.",
}
_DRAWN: Final = 12
"""Residues of entries that are drawn of a segment."""


def is_harmed(found: ExplainedLedgerDocument | ExplainedTopicDocument) -> bool:
    """Tell whether entries are lost, or something cannot be recovered or loaded.

    Args:
        found: The document.
    """
    if isinstance(found, ExplainedLedgerDocument):
        return bool(found.lost_ranges) or found.recoverable is False
    return not found.loadable or any(each.lost_entries or each.recoverable is False for each in found.ledgers)


def draw_explained(found: ExplainedLedgerDocument | ExplainedTopicDocument) -> None:
    """Print a ledger or a topic.

    Args:
        found: The document.
    """
    if isinstance(found, ExplainedLedgerDocument):
        _ledger(found)
    else:
        _topic(found)


def _ledger(found: ExplainedLedgerDocument) -> None:
    references = ", ".join(
        f"{each.topic} ({each.role.value}{f', cluster {each.cluster}' if each.cluster else ''})"
        for each in found.references
    )
    output.facts(
        (
            ("ledger", found.ledger_id),
            ("path", found.path),
            ("state", found.state.value),
            ("quorums", f"{found.ensemble}/{found.write_quorum}/{found.ack_quorum}"),
            ("last entry", found.last_entry),
            ("bytes", None if found.bytes is None else sized(found.bytes)),
            ("created", moment(found.created_ms)),
            ("made by", "Pulsar's driver" if found.made_by_pulsar_driver else "BookKeeper's own driver"),
            ("replicas", _replicas(found.replica_class, found.recoverable)),
            ("recoverable", "closed" if found.recoverable is None else found.recoverable),
            ("referred to by", references or None),
            ("marked", _marked(found)),
        )
    )
    for segment in found.segments:
        _segment(segment, found.write_quorum)
    if found.lost_ranges:
        ranges = ", ".join(f"{first} to {last}" for first, last in found.lost_ranges[:SHOWN])
        more = " and more" if found.more_lost_ranges or len(found.lost_ranges) > SHOWN else ""
        say(f"entries of which no replica is up: {ranges}{more}")
    rests_on(found.read)


def _marked(found: ExplainedLedgerDocument) -> str | None:
    if found.marked_for is None:
        return None
    who = ", ".join(found.marked_for) or "its placement"
    by = "" if found.copied_by is None else f", {found.copied_by} copies it"
    return f"since {moment(found.marked_ms)} for {who}{by}"


def _segment(segment: ExplainedSegmentDocument, write: int) -> None:
    """Draw which entries lie on which bookies: a column for each entry modulo the ensemble's size."""
    end = "not certain" if segment.last_entry is None else str(segment.last_entry)
    spread = {None: "", True: "; spread as configured", False: "; NOT spread as configured"}[segment.spread]
    say(f"entries {segment.first_entry} to {end}; replicas left: {_left(segment.by_replicas_left)}{spread}")
    residues = range(min(len(segment.write_sets), _DRAWN))
    size = len(segment.bookies)
    headings = ["bookie", "rack", "up", "entries", *(f"{residue} mod {size}" for residue in residues)]
    rows = [
        [each.bookie, each.rack, each.up, each.entries]
        + [("x" if each.up else "lost") if index in segment.write_sets[residue] else "" for residue in residues]
        for index, each in enumerate(segment.bookies)
    ]
    output.table(headings, rows)
    if len(segment.write_sets) > _DRAWN:
        say(f"entry e lies on the {write} bookies from number e mod {size} on")


def _replicas(found: ReplicaClass | None, recoverable: bool | None) -> str:
    """Say how the worst entry stands; of an unclosed ledger it may be that no entry is certain."""
    if found is None:
        return "not there"
    return "none certain" if found is ReplicaClass.EMPTY and recoverable is not None else found.value


def _left(counts: Sequence[int]) -> str:
    return ", ".join(f"{entries} with {left}" for left, entries in enumerate(counts) if entries) or "none certain"


def _topic(found: ExplainedTopicDocument) -> None:
    rows = (
        (
            each.ledger_id,
            each.role.value + ("" if each.cursor is None else f" {each.cursor}"),
            each.entries,
            None if each.bytes is None else sized(each.bytes),
            each.offloaded,
            _replicas(each.replica_class, each.recoverable),
            "closed" if each.recoverable is None and each.replica_class is not None else each.recoverable,
            each.lost_entries,
        )
        for each in found.ledgers
    )
    output.table(
        ("ledger", "for", "entries", "bytes", "offloaded", "replicas", "recoverable", "lost"),
        rows,
        empty="no ledger yet",
    )
    if found.reason is None:
        say(f"{found.topic}: its ledgers keep no broker from loading it")
    else:
        which = "" if found.blocking_ledger is None else f", ledger {found.blocking_ledger}"
        say(f"{found.topic}: cannot be loaded: {found.reason.value}{which}")
        say(f"hint: {_HINTS[found.reason].format(found.blocking_ledger)}")
    rests_on(found.read)
