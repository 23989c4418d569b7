"""Loading: topics that brokers cannot load, and ledgers that brokers cannot open.

A broker that loads a topic recovers its last ledger, unless that is closed, and then opens a new one. Earlier ones are
opened when somebody reads them.

Source: ManagedLedgerImpl.initialize, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Final, NamedTuple

from syncer.ledgers.auditing.picture import LedgersPicture, TopicOfLedgers
from syncer.ledgers.judging.recovery import RecoveryOutlook, recovery_outlook
from syncer.ledgers.losses.opening import OpeningVerdict, may_open
from syncer.ledgers.metadata import Quorums
from syncer.ledgers.paths import ledger_path
from syncer.ledgers.placement.adherence import RackPolicy
from syncer.paths import is_under
from syncer.wanted.ledgers import LedgerPart


class NoLoading(StrEnum):
    """Why a topic cannot be loaded."""

    LAST_LEDGER_NOT_RECOVERABLE = "last-ledger-not-recoverable"
    LAST_LEDGER_SHORT_OF_BOOKIES = "last-ledger-short-of-bookies"
    LAST_LEDGER_MISSING = "last-ledger-missing"
    LAST_LEDGER_UNDECODABLE = "last-ledger-undecodable"
    LAST_LEDGER_NOT_READ = "last-ledger-not-read"
    NO_NEW_LEDGER = "no-new-ledger"


_RECOVERY: Final = frozenset({NoLoading.LAST_LEDGER_NOT_RECOVERABLE, NoLoading.LAST_LEDGER_SHORT_OF_BOOKIES})


class UnloadableTopic(NamedTuple):
    """A topic that cannot be loaded, and the ledger that keeps it from it."""

    topic: str
    reason: NoLoading
    ledger_id: int | None


def why_not_loadable(
    picture: LedgersPicture, record: TopicOfLedgers, lost: AbstractSet[str]
) -> tuple[NoLoading, int] | None:
    """Tell why a topic's own ledgers keep it from being loaded; None where they do not.

    Args:
        picture: The picture.
        record: The topic.
        lost: Bookies that are lost.
    """
    ledger_id = record.last_ledger_id
    if ledger_id is None:
        return None
    ledger = picture.ledgers.get(ledger_id)
    if ledger is not None:
        match recovery_outlook(ledger, lost, picture.writable):
            case RecoveryOutlook.TOO_FEW_ANSWERS:
                return NoLoading.LAST_LEDGER_NOT_RECOVERABLE, ledger_id
            case RecoveryOutlook.SHORT_OF_BOOKIES:
                return NoLoading.LAST_LEDGER_SHORT_OF_BOOKIES, ledger_id
            case _:
                return None
    extent = picture.extents[LedgerPart.LEDGERS]
    at = f"{picture.root}/{ledger_path(ledger_id)}"
    if any(each.path == at for each in extent.undecodable):
        return NoLoading.LAST_LEDGER_UNDECODABLE, ledger_id
    if any(is_under(at, path) for path in extent.refused):
        return NoLoading.LAST_LEDGER_NOT_READ, ledger_id
    return NoLoading.LAST_LEDGER_MISSING, ledger_id


def cannot_go_on(picture: LedgersPicture, record: TopicOfLedgers) -> tuple[NoLoading, int | None] | None:
    """Tell whether a topic cannot be loaded since there are too few bookies for its next ledger.

    Its quorums are taken to be those of its last ledger, and racks not to be enforced.

    Args:
        picture: The picture; where its bookies were not read whole, nothing is said.
        record: The topic.
    """
    extent = picture.extents.get(LedgerPart.BOOKIES)
    last = record.last_ledger_id
    ledger = None if last is None else picture.ledgers.get(last)
    quorums = usual_quorums(picture) if ledger is None else ledger.quorums
    if quorums is None or extent is None or not extent.whole or not picture.bookies_known:
        return None
    possible = opening_after(picture, quorums, frozenset(), RackPolicy()).possible
    return None if possible else (NoLoading.NO_NEW_LEDGER, None)


def not_recoverable_topics(picture: LedgersPicture, lost: AbstractSet[str]) -> list[UnloadableTopic]:
    """Find topics whose last ledger nobody can recover, or for whose recovery bookies may be missing.

    A ledger that is not there is left out: it may have been made after the ledgers were read.

    Args:
        picture: The picture.
        lost: Bookies that are lost.
    """
    found = []
    for topic, record in picture.topics.items():
        why = why_not_loadable(picture, record, lost)
        if why is not None and why[0] in _RECOVERY:
            found.append(UnloadableTopic(topic, *why))
    return sorted(found)


def usual_quorums(picture: LedgersPicture) -> Quorums | None:
    """Guess the brokers' quorums: those of most ledgers that are open; None where there is no ledger.

    Args:
        picture: The picture.
    """
    counts = Counter(ledger.quorums for ledger in picture.ledgers.values() if not ledger.is_closed)
    if not counts:
        counts = Counter(ledger.quorums for ledger in picture.ledgers.values())
    return max(counts, key=lambda each: (counts[each], each)) if counts else None


def opening_after(
    picture: LedgersPicture, quorums: Quorums, lost: AbstractSet[str], policy: RackPolicy
) -> OpeningVerdict:
    """Tell whether brokers can open new ledgers once bookies are lost.

    Args:
        picture: The picture.
        quorums: The brokers'.
        lost: Bookies that are lost.
        policy: The brokers'.
    """
    return may_open(quorums, picture.writable - set(lost), picture.racks, policy)
