"""Changes between two audits: groups, reasons, bookies and findings, the worst first, and how sure each change is.

Something is gone only where the later audit has read all that the earlier one had read, and new only where the earlier
one has read all that the later one has; otherwise it may merely not have been read. Which bookies are up decides what
is lost: where that was not read alike, no finding is certainly new or gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from syncer.ledgers.auditing.audited import (
    AuditedBookie,
    AuditedFinding,
    AuditedKeeping,
    AuditedLedgers,
    AuditedTally,
    groups_of_namespaces,
)
from syncer.ledgers.auditing.findings import LedgerFindingCode, LedgerFindingSeverity
from syncer.ledgers.auditing.standing import NO_TOPIC, KeptFor
from syncer.ledgers.nodes import BookieState
from syncer.wanted.ledgers import LedgerPart

Value = TypeVar("Value")
Key = TypeVar("Key")


class PresenceTurn(StrEnum):
    """How a group, a reason or a bookie has changed."""

    APPEARED = "appeared"
    FIRST_SEEN = "first seen"
    CHANGED = "changed"
    PERHAPS = "perhaps changed"
    NOT_SEEN = "not seen"
    GONE = "gone"


class FindingTurn(StrEnum):
    """How a finding has changed; ``OTHERS`` are as many as before, and not the same."""

    NEW = "new"
    GROWN = "grown"
    OTHERS = "others"
    FIRST_SEEN = "first seen"
    MORE_SEEN = "more seen"
    SAME = "same"
    FEWER_SEEN = "fewer seen"
    NOT_SEEN = "not seen"
    SHRUNK = "shrunk"
    GONE = "gone"


WORSE: Final = frozenset(
    {FindingTurn.NEW, FindingTurn.GROWN, FindingTurn.OTHERS, FindingTurn.FIRST_SEEN, FindingTurn.MORE_SEEN}
)
"""Turns of findings that an operator has not seen before."""

_DATA: Final = (LedgerPart.LEDGERS, LedgerPart.REFERENCES)
_JUDGED: Final = (LedgerPart.BOOKIES, LedgerPart.RECOVERY)
_OF_READING: Final = frozenset(
    {LedgerFindingCode.NOT_READ, LedgerFindingCode.NOT_UNDERSTOOD, LedgerFindingCode.BOOKIES_UNKNOWN}
)
"""These say what was not read; so they hold whatever was not."""
_WITHOUT_REFERENCE: Final = frozenset({KeptFor.UNREFERENCED, KeptFor.FOREIGN})
"""Of a ledger whose reference was not read it looks as if it had none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """A group that differs; an empty tally where it is not there."""

    name: str
    turn: PresenceTurn
    before: AuditedTally
    after: AuditedTally


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepingChange:
    """A reason for which other bytes are kept than before."""

    reason: str
    turn: PresenceTurn
    before: AuditedKeeping
    after: AuditedKeeping


@dataclass(frozen=True, slots=True, kw_only=True)
class BookieChange:
    """A bookie that came, went, or has another state or rack; ``None`` where it is not there."""

    bookie: str
    turn: PresenceTurn
    before: AuditedBookie | None
    after: AuditedBookie | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingChange:
    """A finding of either audit.

    Args:
        code: Its code.
        turn: How it has changed.
        before: As it was; ``None``: it was not found.
        after: As it is; ``None``: it is not found.
        came: Names that were not there before, of those that are told.
        went: Names that are not there any more, of those that are told.
    """

    code: str
    turn: FindingTurn
    before: AuditedFinding | None
    after: AuditedFinding | None
    came: tuple[str, ...] = ()
    went: tuple[str, ...] = ()

    @property
    def severity(self) -> str:
        """How bad it is, or was."""
        found = self.after or self.before
        return found.severity if found is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerChanges:
    """Changes between two audits; lists have the worst first.

    Args:
        before: The earlier one.
        after: The later one.
        alike: Both have read the same, so that all differences are changes of the cluster.
        groups: Groups that differ.
        kept: Reasons that differ, by the bytes on disks.
        bookies: Bookies that differ.
        findings: All findings of both.
    """

    before: AuditedLedgers
    after: AuditedLedgers
    alike: bool
    groups: tuple[GroupChange, ...]
    kept: tuple[KeepingChange, ...]
    bookies: tuple[BookieChange, ...]
    findings: tuple[FindingChange, ...]

    @property
    def worse(self) -> bool:
        """There is a finding that was not there before, or is of more or of others."""
        return any(each.turn in WORSE for each in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Certainty:
    """What is sure of a difference: that what is there only now came, that what was there only before went."""

    came: bool
    went: bool

    @classmethod
    def of(cls, before: AuditedLedgers, after: AuditedLedgers, *parts: LedgerPart) -> _Certainty:
        return cls(came=before.read_as_far_as(after, parts), went=after.read_as_far_as(before, parts))

    @property
    def both(self) -> bool:
        return self.came and self.went

    def where(self, condition: bool) -> _Certainty:  # noqa: FBT001 - one condition
        """The same under a condition without which nothing is sure."""
        return _Certainty(came=self.came and condition, went=self.went and condition)


def changes(before: AuditedLedgers, after: AuditedLedgers) -> LedgerChanges:
    """Compare two audits of one cluster. Where only one of them is by topic, namespaces are compared.

    Args:
        before: The earlier one.
        after: The later one.
    """
    named = before.by_topic and after.by_topic
    groups = (before.groups, after.groups) if named else (groups_of_namespaces(before), groups_of_namespaces(after))
    return LedgerChanges(
        before=before,
        after=after,
        alike=_Certainty.of(before, after, *LedgerPart).both,
        groups=_groups(before, after, *groups),
        kept=_kept(before, after),
        bookies=_bookies(before, after),
        findings=_findings(before, after),
    )


def differences(before: Mapping[Key, int], after: Mapping[Key, int]) -> dict[Key, int]:
    """Count what is more now than before, and less by a minus; what is equal is left out.

    Args:
        before: Counts of before.
        after: Counts of now.
    """
    every = {key: after.get(key, 0) - before.get(key, 0) for key in {**before, **after}}
    return {key: difference for key, difference in every.items() if difference}


def _groups(
    before: AuditedLedgers,
    after: AuditedLedgers,
    were: Mapping[str, AuditedTally],
    are: Mapping[str, AuditedTally],
) -> tuple[GroupChange, ...]:
    sure = _Certainty.of(before, after, *_DATA)
    same = sure.both and _Certainty.of(before, after, LedgerPart.BOOKIES).both
    found = [
        GroupChange(
            name=name,
            turn=_turn(was, now, sure.where(name != NO_TOPIC or sure.both), same=same),
            before=was or AuditedTally(),
            after=now or AuditedTally(),
        )
        for name, was, now in _differing(were, are)
    ]
    return tuple(sorted(found, key=_badness_of_group))


def _badness_of_group(change: GroupChange) -> tuple[int, int, int, bool, int, str]:
    before, after = change.before, change.after
    return (
        before.entries_lost - after.entries_lost,
        before.not_recoverable - after.not_recoverable,
        before.entries_lacking - after.entries_lacking,
        change.turn is not PresenceTurn.GONE,
        -abs(after.bytes - before.bytes),
        change.name,
    )


def _kept(before: AuditedLedgers, after: AuditedLedgers) -> tuple[KeepingChange, ...]:
    sure = _Certainty.of(before, after, *_DATA)
    found = [
        KeepingChange(
            reason=reason,
            turn=_turn(was, now, sure.where(reason not in _WITHOUT_REFERENCE or sure.both), same=sure.both),
            before=was or AuditedKeeping(),
            after=now or AuditedKeeping(),
        )
        for reason, was, now in _differing(before.kept, after.kept)
    ]
    return tuple(
        sorted(found, key=lambda each: (-abs(each.after.stored_bytes - each.before.stored_bytes), each.reason))
    )


def _bookies(before: AuditedLedgers, after: AuditedLedgers) -> tuple[BookieChange, ...]:
    sure = _Certainty.of(before, after, LedgerPart.LEDGERS, LedgerPart.BOOKIES)
    same = _Certainty.of(before, after, LedgerPart.BOOKIES).both
    found = [
        BookieChange(bookie=bookie, turn=_turn(was, now, sure, same=same), before=was, after=now)
        for bookie, was, now in _differing(before.bookies, after.bookies)
    ]
    order = (PresenceTurn.GONE, PresenceTurn.NOT_SEEN, PresenceTurn.CHANGED, PresenceTurn.PERHAPS)
    places = {turn: place for place, turn in enumerate(order)}
    return tuple(
        sorted(found, key=lambda each: (not _went_away(each), places.get(each.turn, len(places)), each.bookie))
    )


def _went_away(change: BookieChange) -> bool:
    """Tell whether a bookie is away that was not."""
    was = change.before.state if change.before is not None else ""
    return change.after is not None and change.after.state == BookieState.AWAY != was


def _findings(before: AuditedLedgers, after: AuditedLedgers) -> tuple[FindingChange, ...]:
    all_parts = _Certainty.of(before, after, *LedgerPart)
    judged = all_parts.where(_Certainty.of(before, after, *_JUDGED).both)
    found = [
        _finding(
            code, before.findings.get(code), after.findings.get(code), all_parts if code in _OF_READING else judged
        )
        for code in {**before.findings, **after.findings}
    ]
    severities, codes = [*LedgerFindingSeverity], [*LedgerFindingCode]

    def badness(change: FindingChange) -> tuple[int, int, int, str]:
        worse = 0 if change.turn in WORSE else 1 + (change.turn is not FindingTurn.SAME)
        severity = next((place for place, each in enumerate(severities) if each == change.severity), len(severities))
        place = next((place for place, each in enumerate(codes) if each == change.code), len(codes))
        return worse, severity, place, change.code

    return tuple(sorted(found, key=badness))


def _finding(code: str, was: AuditedFinding | None, now: AuditedFinding | None, sure: _Certainty) -> FindingChange:
    if was is None or now is None:
        came, went = (FindingTurn.NEW, FindingTurn.FIRST_SEEN), (FindingTurn.GONE, FindingTurn.NOT_SEEN)
        turn = came[not sure.came] if was is None else went[not sure.went]
        return FindingChange(code=code, turn=turn, before=was, after=now)
    came_names, went_names = (_beyond(now, was), _beyond(was, now)) if sure.both else ((), ())
    if now.count > was.count:
        turn = FindingTurn.GROWN if sure.came else FindingTurn.MORE_SEEN
    elif now.count < was.count:
        turn = FindingTurn.SHRUNK if sure.went else FindingTurn.FEWER_SEEN
    else:
        turn = FindingTurn.OTHERS if came_names or went_names else FindingTurn.SAME
    return FindingChange(code=code, turn=turn, before=was, after=now, came=came_names, went=went_names)


def _beyond(finding: AuditedFinding, other: AuditedFinding) -> tuple[str, ...]:
    """Names of a finding that another one, which names all of its own, has not."""
    return tuple(each for each in finding.names if each not in other.names) if other.all_named else ()


def _differing(before: Mapping[str, Value], after: Mapping[str, Value]) -> list[tuple[str, Value | None, Value | None]]:
    pairs = ((name, before.get(name), after.get(name)) for name in {**before, **after})
    return [(name, was, now) for name, was, now in pairs if was != now]


def _turn(was: object | None, now: object | None, sure: _Certainty, *, same: bool) -> PresenceTurn:
    if was is None:
        return PresenceTurn.APPEARED if sure.came else PresenceTurn.FIRST_SEEN
    if now is None:
        return PresenceTurn.GONE if sure.went else PresenceTurn.NOT_SEEN
    return PresenceTurn.CHANGED if same else PresenceTurn.PERHAPS
