"""Findings: what an operator has to know of a cluster's ledgers, by code, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from syncer.ledgers.auditing.loading import NoLoading, not_recoverable_topics, opening_after, usual_quorums
from syncer.ledgers.auditing.picture import LedgersPicture
from syncer.ledgers.auditing.recovery import BACK, MarkState, RecoveryFault, RecoveryStanding, recovery_standing
from syncer.ledgers.auditing.spreading import LedgersSpread
from syncer.ledgers.auditing.standing import LedgersStanding
from syncer.ledgers.judging.ledger import ReplicaClass
from syncer.ledgers.placement.adherence import RackPolicy
from syncer.wanted.ledgers import LedgerPart

SHOWN: Final = 5
"""Names that a finding has at most; the count is of all."""


class LedgerFindingCode(StrEnum):
    """Codes of findings."""

    ENTRIES_LOST = "entries-lost"
    TOPICS_NOT_LOADABLE = "topics-not-loadable"
    TOPICS_SHORT_OF_BOOKIES = "topics-short-of-bookies"
    LEDGERS_NOT_RECOVERABLE = "ledgers-not-recoverable"
    NO_NEW_LEDGERS = "no-new-ledgers"
    BELOW_ACK_QUORUM = "below-ack-quorum"
    UNDER_REPLICATED = "under-replicated"
    SINGLE_COPIES_AWAY = "single-copies-away"
    BOOKIES_LOST = "bookies-lost"
    RECOVERY_DISABLED = "recovery-disabled"
    NO_AUDITOR = "no-auditor"
    TWO_AUDITORS = "two-auditors"
    RECOVERY_BLOCKED = "recovery-blocked"
    NOT_MARKED = "not-marked"
    MARKS_LEFT_OVER = "marks-left-over"
    NOT_SPREAD = "not-spread"
    RACKS_UNREADABLE = "racks-unreadable"
    BOOKIES_UNKNOWN = "bookies-unknown"
    NOT_READ = "not-read"
    NOT_UNDERSTOOD = "not-understood"


class LedgerFindingSeverity(StrEnum):
    """How bad a finding is."""

    CRITICAL = "critical"
    WARNING = "warning"
    NOTICE = "notice"


_CRITICAL: Final = frozenset(
    {
        LedgerFindingCode.ENTRIES_LOST,
        LedgerFindingCode.TOPICS_NOT_LOADABLE,
        LedgerFindingCode.TOPICS_SHORT_OF_BOOKIES,
        LedgerFindingCode.LEDGERS_NOT_RECOVERABLE,
        LedgerFindingCode.NO_NEW_LEDGERS,
        LedgerFindingCode.BELOW_ACK_QUORUM,
        LedgerFindingCode.SINGLE_COPIES_AWAY,
        LedgerFindingCode.RECOVERY_BLOCKED,
    }
)
_NOTICES: Final = frozenset(
    {LedgerFindingCode.MARKS_LEFT_OVER, LedgerFindingCode.NOT_MARKED, LedgerFindingCode.BOOKIES_UNKNOWN}
)
_REMEDIES: Final = {
    LedgerFindingCode.ENTRIES_LOST: "Bring these bookies back with their disks; do not delete their cookies.",
    LedgerFindingCode.TOPICS_NOT_LOADABLE: "Bring back enough of the last ensemble's bookies; "
    "'syncer ledgers explain TOPIC' names them.",
    LedgerFindingCode.TOPICS_SHORT_OF_BOOKIES: "Start another bookie: recovery writes the last entries once more, "
    "and needs one in the place of each that is away.",
    LedgerFindingCode.LEDGERS_NOT_RECOVERABLE: "Bring back enough of the last ensemble's bookies; "
    "'syncer ledgers explain LEDGER' names them.",
    LedgerFindingCode.NO_NEW_LEDGERS: "Start bookies: no topic can be loaded, nor written to once its ledger is full "
    "or loses a bookie (BKNotEnoughBookies).",
    LedgerFindingCode.BELOW_ACK_QUORUM: "Stop no other bookie; see that auto-recovery works: "
    "'syncer ledgers under-replicated'.",
    LedgerFindingCode.UNDER_REPLICATED: "See that auto-recovery works: 'syncer ledgers under-replicated'.",
    LedgerFindingCode.SINGLE_COPIES_AWAY: "Bring these bookies back: a write quorum of 1 has nothing to copy from, "
    "and auto-recovery tries for ever (BookKeeper issue 4872).",
    LedgerFindingCode.BOOKIES_LOST: "Bring them back, or decommission them: 'syncer ledgers decommission BOOKIE'.",
    LedgerFindingCode.RECOVERY_DISABLED: "'bookkeeper shell autorecovery -enable' once maintenance is over.",
    LedgerFindingCode.NO_AUDITOR: "Start auto-recovery: 'autoRecoveryDaemonEnabled=true' in the bookies, "
    "or processes of 'bookkeeper autorecovery'.",
    LedgerFindingCode.TWO_AUDITORS: "Give all bookies and auto-recovery processes the same metadata driver "
    "('metadataServiceUri').",
    LedgerFindingCode.RECOVERY_BLOCKED: "'syncer ledgers under-replicated' says why, ledger by ledger.",
    LedgerFindingCode.NOT_MARKED: "The auditor marks them after 'lostBookieRecoveryDelay', at its next look.",
    LedgerFindingCode.MARKS_LEFT_OVER: "A worker removes them when it looks at them; if they stay, none works.",
    LedgerFindingCode.NOT_SPREAD: "They stay so until they are trimmed, unless auto-recovery moves them: "
    "'auditorPeriodicPlacementPolicyCheckInterval' and 'repairedPlacementPolicyNotAdheringBookieEnable'.",
    LedgerFindingCode.RACKS_UNREADABLE: "Correct them: 'pulsar-admin bookies set-bookie-rack'.",
    LedgerFindingCode.BOOKIES_UNKNOWN: "Read the live store, or name those that are away: "
    "'syncer ledgers what-if BOOKIE'.",
    LedgerFindingCode.NOT_READ: "Give the credentials of this cluster's store the right to read these paths.",
    LedgerFindingCode.NOT_UNDERSTOOD: "Look at the paths with 'bookkeeper shell ledgermetadata' or 'pulsar-admin'; "
    "nothing is said of them here.",
}


_UNLOADABLE: Final = (
    (
        LedgerFindingCode.TOPICS_NOT_LOADABLE,
        NoLoading.LAST_LEDGER_NOT_RECOVERABLE,
        "topics cannot be loaded by another broker: nobody can recover their last ledger",
    ),
    (
        LedgerFindingCode.TOPICS_SHORT_OF_BOOKIES,
        NoLoading.LAST_LEDGER_SHORT_OF_BOOKIES,
        "topics may not be loaded by another broker: too few bookies are free for the recovery of their last ledger",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFinding:
    """A finding: how many of what, and the first names."""

    code: LedgerFindingCode
    severity: LedgerFindingSeverity
    count: int
    what: str
    names: tuple[str, ...]
    remedy: str


def findings(
    picture: LedgersPicture, found: LedgersStanding, spread: LedgersSpread | None = None
) -> list[LedgerFinding]:
    """Find what an operator has to know, the worst first.

    Args:
        picture: The picture.
        found: Its ledgers as they stand, with the bookies that are lost now.
        spread: How they are spread over racks or regions; ``None``: that is not known.
    """
    recovery = recovery_standing(picture, known=recovery_is_known(picture))
    every = [*_of_ledgers(picture, found), *_of_recovery(recovery), *_of_spread(picture, spread), *_of_reading(picture)]
    order = list(LedgerFindingCode)
    severities = list(LedgerFindingSeverity)
    return sorted(every, key=lambda each: (severities.index(each.severity), order.index(each.code)))


def recovery_is_known(picture: LedgersPicture) -> bool:
    """Tell whether what is not there of bookies and auto-recovery is not there.

    Args:
        picture: The picture.
    """
    parts = (LedgerPart.BOOKIES, LedgerPart.RECOVERY)
    read = all(part in picture.extents and picture.extents[part].whole for part in parts)
    return read and picture.bookies_known


def _of_ledgers(picture: LedgersPicture, found: LedgersStanding) -> Iterator[LedgerFinding]:
    whole = found.whole
    yield from _some(
        LedgerFindingCode.ENTRIES_LOST,
        whole.classes[ReplicaClass.NO_REPLICA],
        f"ledgers have entries of which no replica is up, {whole.entries_left[0]} entries in all",
        _ledgers(picture, found.by_class[ReplicaClass.NO_REPLICA]),
    )
    topics = not_recoverable_topics(picture, found.lost)
    for code, reason, what in _UNLOADABLE:
        names = [each.topic for each in topics if each.reason is reason]
        yield from _some(code, len(names), what, names)
    yield from _some(
        LedgerFindingCode.LEDGERS_NOT_RECOVERABLE,
        len(found.not_recoverable),
        "unclosed ledgers cannot be recovered",
        _ledgers(picture, found.not_recoverable),
    )
    quorums = usual_quorums(picture)
    if quorums is not None and recovery_is_known(picture):
        opening = opening_after(picture, quorums, frozenset(), RackPolicy())
        yield from _some(
            LedgerFindingCode.NO_NEW_LEDGERS,
            int(not opening.possible),
            f"brokers cannot open ledgers with {'/'.join(map(str, quorums))}, the quorums of most open ones: "
            f"{len(picture.writable)} bookies can be written to",
            (),
        )
    yield from _some(
        LedgerFindingCode.BELOW_ACK_QUORUM,
        whole.classes[ReplicaClass.BELOW_ACK_QUORUM],
        "ledgers have entries with fewer replicas than were acknowledged",
        _ledgers(picture, found.by_class[ReplicaClass.BELOW_ACK_QUORUM]),
    )
    yield from _some(
        LedgerFindingCode.UNDER_REPLICATED,
        whole.classes[ReplicaClass.BELOW_WRITE_QUORUM],
        "ledgers have entries that lack a replica, and enough of the others",
        _ledgers(picture, found.by_class[ReplicaClass.BELOW_WRITE_QUORUM]),
    )
    yield from _some(
        LedgerFindingCode.SINGLE_COPIES_AWAY,
        len(found.lost_single_copies),
        "ledgers were written once, on bookies of which one is lost",
        _ledgers(picture, found.lost_single_copies),
    )
    yield from _some(
        LedgerFindingCode.BOOKIES_LOST,
        len(found.lost),
        "bookies are named by ledgers and are not up",
        sorted(found.lost),
    )


def _of_recovery(recovery: RecoveryStanding) -> Iterator[LedgerFinding]:
    match recovery.fault:
        case RecoveryFault.DISABLED:
            yield from _some(LedgerFindingCode.RECOVERY_DISABLED, 1, "auto-recovery is switched off", ())
        case RecoveryFault.NO_AUDITOR:
            yield from _some(LedgerFindingCode.NO_AUDITOR, 1, "no auditor is elected: nothing marks lost ledgers", ())
        case RecoveryFault.TWO_AUDITORS:
            names = (f"{place}: {bookie}" for place, bookie in recovery.auditors.items())
            yield from _some(LedgerFindingCode.TWO_AUDITORS, 1, "two auditors of two drivers work at once", names)
        case RecoveryFault.UNKNOWN | None:
            pass
    blocked = [each for each in recovery.marked if each.state is MarkState.BLOCKED]
    yield from _some(
        LedgerFindingCode.RECOVERY_BLOCKED,
        len(blocked),
        "marked ledgers can never be mended as things stand",
        (f"{each.mark.ledger_id} ({each.blocked})" for each in blocked),
    )
    yield from _some(
        LedgerFindingCode.NOT_MARKED,
        len(recovery.unmarked),
        "ledgers name lost bookies and are not marked",
        (str(each.ledger_id) for each in recovery.unmarked),
    )
    left = [each for each in recovery.marked if each.state in BACK]
    yield from _some(
        LedgerFindingCode.MARKS_LEFT_OVER,
        len(left),
        "marks are of ledgers whose bookies are back, or that are gone",
        (str(each.mark.ledger_id) for each in left),
    )


def _of_spread(picture: LedgersPicture, spread: LedgersSpread | None) -> Iterator[LedgerFinding]:
    if spread is not None:
        where = "regions" if spread.rules.regions else "racks"
        yield from _some(
            LedgerFindingCode.NOT_SPREAD,
            len(spread.not_spread),
            f"ledgers have write quorums that are not spread over {where}",
            _ledgers(picture, spread.not_spread),
        )


def _of_reading(picture: LedgersPicture) -> Iterator[LedgerFinding]:
    flaws = picture.racks.flaws
    yield from _some(LedgerFindingCode.RACKS_UNREADABLE, len(flaws), "flaws are in the racks of bookies", flaws)
    yield from _some(
        LedgerFindingCode.BOOKIES_UNKNOWN,
        int(not picture.bookies_known),
        "these files do not tell which bookies are up: none is taken for lost",
        (),
    )
    refused = [path for _, extent in picture.incomplete() for path in extent.refused]
    yield from _some(LedgerFindingCode.NOT_READ, len(refused), "paths may not be read, nor what is below them", refused)
    unclear = [each.path for _, extent in picture.incomplete() for each in extent.undecodable]
    unclear += [path for _, extent in picture.incomplete() for path in extent.unfamiliar]
    yield from _some(LedgerFindingCode.NOT_UNDERSTOOD, len(unclear), "values were not understood", unclear)


def _some(code: LedgerFindingCode, count: int, what: str, names: Iterable[str]) -> Iterator[LedgerFinding]:
    if not count:
        return
    severity = LedgerFindingSeverity.WARNING
    if code in _CRITICAL:
        severity = LedgerFindingSeverity.CRITICAL
    elif code in _NOTICES:
        severity = LedgerFindingSeverity.NOTICE
    yield LedgerFinding(
        code=code, severity=severity, count=count, what=what, names=tuple(islice(names, SHOWN)), remedy=_REMEDIES[code]
    )


def _ledgers(picture: LedgersPicture, ledger_ids: Iterable[int]) -> Iterator[str]:
    """Ledgers with their topics, as people read them."""
    for ledger_id in ledger_ids:
        topic = picture.topic_of(ledger_id)
        yield str(ledger_id) if topic is None else f"{ledger_id} ({topic})"
