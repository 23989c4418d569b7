"""Ledgers that nobody refers to, and references to ledgers that are not there, judged by two looks.

A broker makes a ledger before it refers to it, and takes the reference away before the ledger. So each look reads the
ledgers first and the references after; what has no reference then may have been made just now, or may be about to go.
Of one ledger both may be true, at one look each. So the first look rests before it asks for references: none of its
ledgers is new by then. What it does not find referred to was let go, and is gone after another rest, or is an orphan.
Nothing is proven where the references were not read whole, or where other clusters may refer to the same bookies'
ledgers.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from syncer.ledgers.auditing.picture import LedgerReference, LedgersPicture
from syncer.ledgers.auditing.standing import is_of_pulsar
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.owners import COMPACTED_COMPONENT, COMPONENT, owner_of
from syncer.wanted.ledgers import LedgerPart

READINGS: Final = ((LedgerPart.LEDGERS,), (LedgerPart.REFERENCES,), (LedgerPart.LEDGERS, LedgerPart.REFERENCES))
"""Parts in the order in which they are read: the first two readings are the first look, the last one is the second.

Between each two is a rest, as long as a broker may need between a ledger and its reference, at either end.
"""
COMPACTION_MS: Final = 3_600_000
"""A compaction that is at work when its topic is deleted keeps its ledger until it fails: seen for most of a minute."""


class Unproven(StrEnum):
    """Why a ledger that nobody refers to is not proven to be an orphan."""

    OTHER_CLUSTERS = "other-clusters"
    REFERENCES_INCOMPLETE = "references-incomplete"
    COMPACTED_WHILE_LOADED = "compacted-while-loaded"
    COMPACTION_MAY_WORK = "compaction-may-work"


class UnreferencedLedger(NamedTuple):
    """A ledger of Pulsar that both looks found without a reference.

    ``unproven`` is None for an orphan. ``topic`` is the one that its own metadata names, ``topic_exists`` whether it is
    there.
    """

    ledger: LedgerMetadata
    unproven: Unproven | None
    topic: str | None
    topic_exists: bool

    @property
    def component(self) -> str:
        """What Pulsar says it made the ledger for; empty where it does not say."""
        return owner_of(self.ledger.origin.custom).component or ""


class MissingLedger(NamedTuple):
    """A ledger that somebody refers to, and that both looks did not find."""

    ledger_id: int
    references: tuple[LedgerReference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceAudit:
    """What two looks found.

    Attributes:
        passing: Ledgers that had no reference at the first look only, or were gone at the second.
        foreign: Ledgers that Pulsar did not make.
    """

    unreferenced: tuple[UnreferencedLedger, ...]
    missing: tuple[MissingLedger, ...]
    foreign: tuple[LedgerMetadata, ...]
    passing: int

    @property
    def orphans(self) -> tuple[UnreferencedLedger, ...]:
        """Those that are proven."""
        return tuple(each for each in self.unreferenced if each.unproven is None)


def without_reference(picture: LedgersPicture) -> Iterator[LedgerMetadata]:
    """Yield ledgers of Pulsar that a single look found without a reference; it proves nothing.

    Args:
        picture: The look.
    """
    for ledger_id, ledger in picture.ledgers.items():
        if ledger_id not in picture.references and is_of_pulsar(ledger):
            yield ledger


def audit_references(first: LedgersPicture, second: LedgersPicture, *, whole: bool) -> ReferenceAudit:
    """Judge references by two looks.

    Args:
        first: The earlier look, with a rest between its ledgers and its references.
        second: The later one, a rest after the earlier one's references.
        whole: All clusters whose ledgers these bookies keep were looked at.
    """
    candidates = list(without_reference(first))
    still = [ledger for ledger in candidates if _is_still(ledger, second)]
    known = first.topics.keys() | second.topics.keys()
    unproven = _unproven(first, second, whole=whole)
    return ReferenceAudit(
        unreferenced=tuple(_unreferenced(each, known, unproven, first.taken_ms) for each in still),
        missing=tuple(_missing(first, second)),
        foreign=tuple(
            ledger
            for ledger_id, ledger in second.ledgers.items()
            if ledger_id not in second.references and not is_of_pulsar(ledger)
        ),
        passing=len(candidates) - len(still),
    )


def _is_still(ledger: LedgerMetadata, later: LedgersPicture) -> bool:
    """The later look found the same ledger, by who made it and when, and again no reference."""
    found = later.ledgers.get(ledger.ledger_id)
    return found is not None and found.origin == ledger.origin and ledger.ledger_id not in later.references


def _unproven(first: LedgersPicture, second: LedgersPicture, *, whole: bool) -> Unproven | None:
    for picture in (first, second):
        extent = picture.extents.get(LedgerPart.REFERENCES)
        if extent is None or not extent.whole:
            return Unproven.REFERENCES_INCOMPLETE
    return None if whole else Unproven.OTHER_CLUSTERS


def _unreferenced(
    ledger: LedgerMetadata, known: AbstractSet[str], unproven: Unproven | None, looked_ms: int
) -> UnreferencedLedger:
    origin = ledger.origin
    topic = owner_of(origin.custom).topic
    exists = topic is not None and topic in known
    if unproven is None and origin.custom.get(COMPONENT) == COMPACTED_COMPONENT:
        if exists:
            # a broker that has the topic loaded knows a newer ledger than the store has
            unproven = Unproven.COMPACTED_WHILE_LOADED
        elif origin.created_ms is None or looked_ms - origin.created_ms < COMPACTION_MS:
            unproven = Unproven.COMPACTION_MAY_WORK
    return UnreferencedLedger(ledger, unproven, topic, exists)


def _missing(first: LedgersPicture, second: LedgersPicture) -> Iterator[MissingLedger]:
    """References of both looks whose ledger neither has found, and that was not taken away by intent."""
    for ledger_id, references in first.references.items():
        if ledger_id in first.ledgers or ledger_id in second.ledgers:
            continue
        still = tuple(
            each
            for each in second.references.get(ledger_id, ())
            if any((each.topic, each.role) == (other.topic, other.role) for other in references)
        )
        here = tuple(each for each in still if not each.cluster and not _is_elsewhere(each))
        if here:
            yield MissingLedger(ledger_id, here)


def _is_elsewhere(reference: LedgerReference) -> bool:
    listed = reference.listed
    return listed is not None and listed.offload is not None and listed.offload.deleted
