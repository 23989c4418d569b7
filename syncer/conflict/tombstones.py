"""Tombstone garbage collection: deletes are forgotten after two rounds of reports by all members, by no clock alone.

A tombstone D is what keeps an older value from rising again. It may go once no message older than D, or concurrent
with it, can still arrive, and no member can still make one. Tombstones that are dead and applied here are gathered into
an *epoch*; per epoch, not per path, two vectors (sender → sequence number) are kept:

    closed      V1 := the highest number of every sender that any member has given out or met
    seating     each member in turn: consumed >= V1, nothing set aside unfolded, no unapplied delete of the epoch's time
                or before; V2 := V2 joined with what the member, in that same report, has given out or met
    consuming   each member: consumed >= V2, nothing set aside unfolded
    over        what is still the same dead-and-applied register may go

Why nothing rises again. D came here under a number <= V1: a member that consumed V1 has folded D or something greater;
if what it knows there is dead, it has applied it, or would report an unapplied delete. So in its report of *seating*:

* it has applied D. Whatever it stamps on the path from then on follows D: it gets a later time and is a true successor.
  Whatever it stamped before bears a number <= V2, and is consumed here before D goes: D wins over it once more.
* or it knows something living, N, greater than D. N came to it under a number <= V2, so it is known here before D
  goes; then D is not what is known here any more, and is not dropped.

A path that was forgotten starts again with a time above every stamp that was ever forgotten (the *floor*): it wins over
copies of D that other regions still keep. Forgetting goes region by region; who still keeps D loses nothing by it, and
anti-entropy sums living paths only. A stamp's time does only restrict: which tombstones are old enough to be gathered,
and whether an unapplied delete could be one of them. Nothing goes sooner than the numbers allow, whatever clocks say.

A message that was refused here holds nothing up either. Where it was not understood its number is unknown, or was not
counted: then it is like one that never came. Where it was understood and could not be taken, its number counts as
consumed if it says that something lives (a value that is none, a fault of the program): the D of the argument is a
delete, and was folded; the N of the argument is known to its author for ever, and comparing brings it, or shows it as
a difference, whether D is remembered or not. A delete has no value that could be wrong; where it cannot be taken all
the same, its number is missing. So of what stands in quarantine only changes of the member itself are waited for that
the bus will never take (``unfolded``): nobody else can have them.

A message that never comes is made up for by :mod:`syncer.replication.gc.gap_fill`: its number counts as consumed from
then on, which is argued there.

A member that does not carry the path by its own word (:mod:`syncer.conflict.classes`) folds, stamps and tells nothing
of it. Whatever it said of it before it left it out bears a number up to the one that it tells beside those rules, and
its numbers are among those that are waited for: so it may be silent itself, and is waited for no longer.

What this does not cover: a message of a database that its region has since replaced. A changed sender begins the epoch
anew, and messages of a replaced database come before those of its successor on every bus that keeps a producer's order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from syncer.model import Millis, Region
from syncer.replacing import replace

COUNTED: Final = 1_000
"""Unseated deletes are counted no further: how many more there are decides nothing, and counting them takes time."""


NOBODY: Final[Mapping[Region, Report]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one member has told of itself, all at one moment.

    Args:
        sender: Its sidecar database.
        last_sequence: Highest number that it has given out.
        consumed: Sender → highest number consumed without gaps.
        reached: Sender → highest number consumed at all.
        unseated: Deletes that it knows and has not applied, and events that wait for their time; counted to 1,000.
        oldest_ms: Smallest stamp time of these; ``None`` when there are none.
        unfolded: Changes of its own that the bus never takes; older versions count what they have set aside, too.
    """

    sender: str
    last_sequence: int
    consumed: Mapping[str, int] = field(default_factory=dict)
    reached: Mapping[str, int] = field(default_factory=dict)
    unseated: int = 0
    oldest_ms: Millis | None = None
    unfolded: int = 0

    @property
    def met(self) -> Mapping[str, int]:
        """The highest number of every sender that it has given out or met."""
        return joined(self.consumed, self.reached, {self.sender: self.last_sequence})

    def lacks(self, vector: Mapping[str, int]) -> str | None:
        """A sender of whom it has not consumed all up to the vector; its own messages it knows."""
        for sender, number in vector.items():
            if sender != self.sender and self.consumed.get(sender, 0) < number:
                return sender
        return None


class Cause(StrEnum):
    """What keeps a member from letting deletes be forgotten."""

    BEHIND = "behind"
    UNSEATED = "unseated"
    UNFOLDED = "unfolded"
    UNEQUAL = "unequal"
    UNHEARD = "unheard"
    OUTDATED = "outdated"
    UNLIKE = "unlike"
    NAMELESS = "nameless"
    DISPUTED = "disputed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Why a member is waited for.

    Args:
        cause: In a word.
        text: Goes on after the member's name: ``has …``, ``was …``.
        cure: What ends it, where that depends on more than the cause and the member; empty: it does not.
    """

    cause: Cause
    text: str
    cure: str = ""


class EpochPhase(StrEnum):
    """How far an epoch is."""

    SEATING = "seating"
    CONSUMING = "consuming"
    OVER = "over"


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """Tombstones that go together.

    Args:
        senders: Every member, this region too, and its database when the epoch was closed.
        until_ms: Greatest stamp time of its tombstones.
        first: What a member must have consumed before its report counts.
        second: What every member must have consumed before anything goes; complete once all have applied.
        stored: Members whose report has counted.
        consumed: Members that have consumed all of ``second``.
        beside: Members that do not carry any of its paths, and their databases: nobody waits for them, but for what
            they may have said of these paths as long as they carried them.
    """

    senders: Mapping[Region, str]
    until_ms: Millis
    first: Mapping[str, int]
    second: Mapping[str, int] = field(default_factory=dict)
    stored: frozenset[Region] = frozenset()
    consumed: frozenset[Region] = frozenset()
    beside: Mapping[Region, str] = field(default_factory=dict)

    @property
    def databases(self) -> tuple[str, ...]:
        """Those of all members, whose numbers count."""
        return (*self.senders.values(), *self.beside.values())

    @property
    def phase(self) -> EpochPhase:
        """How far it is."""
        if len(self.stored) < len(self.senders):
            return EpochPhase.SEATING
        return EpochPhase.CONSUMING if len(self.consumed) < len(self.senders) else EpochPhase.OVER


def close(reports: Mapping[Region, Report], until_ms: Millis, beside: Mapping[Region, Report] = NOBODY) -> Epoch:
    """Close an epoch over tombstones that are dead and applied here.

    Args:
        reports: Of every member, this region's own as of the very transaction that has gathered the tombstones.
        until_ms: Greatest stamp time of these.
        beside: Of members that carry none of their paths.
    """
    epoch = Epoch(
        senders={region: report.sender for region, report in reports.items()},
        until_ms=until_ms,
        first={},
        beside={region: report.sender for region, report in beside.items()},
    )
    met = joined(*(report.met for report in (*reports.values(), *beside.values())))
    return replace(epoch, first=_among(epoch.databases, met))


def advance(epoch: Epoch, reports: Mapping[Region, Report], beside: Mapping[Region, Report] = NOBODY) -> Epoch | None:
    """Take the latest report of every member that carries the paths, and of those beside them.

    Reports may come late, twice and in any order: what counts of each is what was true when it was made.

    Returns:
        The epoch afterwards; ``None``: other members, or another database of one, so it has to be closed anew.
    """
    for told, before in ((reports, epoch.senders), (beside, epoch.beside)):
        if {region: report.sender for region, report in told.items()} != dict(before):
            return None
    if epoch.phase is EpochPhase.SEATING:
        now = {region: report for region, report in reports.items() if region not in epoch.stored}
        now = {region: report for region, report in now.items() if applying_waits(epoch, report) is None}
        second = joined(epoch.second, *(report.met for report in now.values()))
        stored = epoch.stored.union(now)
        return replace(epoch, stored=stored, second=_among(epoch.databases, second))
    done = {region for region, report in reports.items() if consuming_waits(epoch, report) is None}
    return replace(epoch, consumed=epoch.consumed | done)


def applying_waits(epoch: Epoch, report: Report) -> Wait | None:
    """Why a member's report does not count yet."""
    if (sender := report.lacks(epoch.first)) is not None:
        return _behind(report, sender, epoch.first)
    return unapplied(epoch, report) or unfolded(report)


def consuming_waits(epoch: Epoch, report: Report) -> Wait | None:
    """Why a member has not consumed all that may contradict the epoch."""
    if (sender := report.lacks(epoch.second)) is not None:
        return _behind(report, sender, epoch.second)
    return unfolded(report)


def unapplied(epoch: Epoch, report: Report) -> Wait | None:
    """Which deletes of a member could be, or outdo, one of the epoch's."""
    if report.oldest_ms is None or report.oldest_ms > epoch.until_ms:
        return None
    many = f"{COUNTED} or more" if report.unseated >= COUNTED else report.unseated
    text = f"has {many} deletes to seat or events to decide, the oldest stamped {report.oldest_ms}"
    return Wait(cause=Cause.UNSEATED, text=text)


def unfolded(report: Report) -> Wait | None:
    """Why it cannot be known what a member has folded."""
    if not report.unfolded:
        return None
    return Wait(
        cause=Cause.UNFOLDED, text=f"has {report.unfolded} messages in quarantine that it could not fold or send"
    )


def waiting(epoch: Epoch, reports: Mapping[Region, Report]) -> dict[Region, Wait]:
    """The members that the epoch waits for, and why."""
    found: dict[Region, Wait] = {}
    for region, report in reports.items():
        if epoch.phase is EpochPhase.SEATING:
            wait = applying_waits(epoch, report) if region not in epoch.stored else None
        else:
            wait = consuming_waits(epoch, report) if region not in epoch.consumed else None
        if wait is not None:
            found[region] = wait
    return found


def gatherable_until(old_enough_ms: Millis, reports: Iterable[Report]) -> Millis:
    """Up to which stamp time tombstones can be gathered so that no member's unapplied delete holds them up."""
    oldest = [report.oldest_ms for report in reports if report.oldest_ms is not None]
    return Millis(min([old_enough_ms, *(at - 1 for at in oldest)]))


def joined(*vectors: Mapping[str, int]) -> dict[str, int]:
    """Join vectors: per sender the greatest number."""
    found: dict[str, int] = {}
    for vector in vectors:
        for sender, number in vector.items():
            found[sender] = max(number, found.get(sender, 0))
    return found


def _among(senders: Iterable[str], vector: Mapping[str, int]) -> dict[str, int]:
    return {sender: vector.get(sender, 0) for sender in senders}


def _behind(report: Report, sender: str, vector: Mapping[str, int]) -> Wait:
    text = f"has consumed {report.consumed.get(sender, 0)} of the first {vector[sender]} changes of database {sender}"
    return Wait(cause=Cause.BEHIND, text=text)
