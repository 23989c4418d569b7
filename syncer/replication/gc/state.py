"""State of tombstone gc: its settings, and how far its epoch is. Nothing here decides what may go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from syncer.conflict.tombstones import Cause, Epoch, Wait
from syncer.model import MetaPath, Millis, Region, Stamp

GRACE_MS: Final = Millis(7 * 86_400_000)

HINTS: Final[Mapping[Cause, str]] = {
    Cause.BEHIND: "If it is off and never comes back: 'syncer regions forget {region}'",
    Cause.UNSEATED: "See there what waits: 'syncer holds list' and 'syncer status'",
    Cause.UNFOLDED: "Decide there what becomes of them: 'syncer quarantine list'",
    Cause.UNEQUAL: "See what differs, and what is held or in quarantine in both: 'syncer status'",
    Cause.UNHEARD: "Start its daemon, or take it out of peers.expected",
    Cause.OUTDATED: "Upgrade it",
    Cause.UNLIKE: "Make its configuration and version the same as here",
    Cause.NAMELESS: "Name the regions that count in peers.expected, or refuse it: 'syncer regions forget DATABASE'",
    Cause.DISPUTED: "Decide it alike in all regions: 'syncer regions forget' or 'syncer regions admit'",
}
"""What to do about a region that holds up the dropping; to forget it is the last resort."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TombstoneGc:
    """How deletes are forgotten.

    Args:
        grace_ms: Age that a delete must have at least.
        pause_ms: Between two looks for tombstones that are old enough.
        patience_ms: An epoch that waits longer is closed anew, without what held it up.
        alarm_after_ms: A region that holds up an epoch for so long, and a gap that lasts so long, is shown.
        gap_patience_ms: A gap that nothing fills for so long is taken as lost, and the deletes are asked for again.
        gap_longest_ms: Each time that this was in vain, twice as long is waited, but no longer than this.
        nameless_ms: A database that sends changes and does not tell its region is waited for no longer than this: a
            daemon tells it every few seconds.
        gathered: Tombstones of one epoch, all in memory.
        per_step: Tombstones dropped in one transaction.
    """

    grace_ms: Millis = GRACE_MS
    pause_ms: Millis = Millis(60_000)
    patience_ms: Millis = Millis(600_000)
    alarm_after_ms: Millis = Millis(3_600_000)
    gap_patience_ms: Millis = Millis(600_000)
    gap_longest_ms: Millis = Millis(4 * 3_600_000)
    nameless_ms: Millis = Millis(86_400_000)
    gathered: int = 5_000
    per_step: int = 500

    @classmethod
    def after(cls, grace_ms: Millis) -> TombstoneGc:
        """How it is done with this grace: the shorter it is, the oftener is looked."""
        return cls(
            grace_ms=grace_ms,
            pause_ms=Millis(min(60_000, max(1_000, grace_ms // 100))),
            gap_patience_ms=Millis(min(600_000, max(2_000, grace_ms // 10))),
            gap_longest_ms=Millis(min(4 * 3_600_000, max(10_000, grace_ms // 4))),
        )


@dataclass(slots=True)
class Tombstones:
    """Where forgetting stands.

    Args:
        limits: How it is done.
        epoch: Under way; ``None`` between two.
        gathered: Its tombstones, with the stamp of each.
        equals: How often each peer was found equal before the epoch was closed.
        nameless: Databases that send changes and never told their region, and since when that is known here.
        holding: Regions that hold up the dropping, since when, and why.
        turn: Of those whose paths are carried by the same members, at this place among the tombstones.
        scopes: Fingerprint of each other scope when the epoch was closed, by region.
    """

    limits: TombstoneGc = field(default_factory=TombstoneGc)
    epoch: Epoch | None = None
    gathered: dict[MetaPath, Stamp] = field(default_factory=dict)
    equals: dict[Region, int] = field(default_factory=dict)
    nameless: dict[str, Millis] = field(default_factory=dict)
    holding: dict[Region, tuple[Millis, Wait]] = field(default_factory=dict)
    began_at_ms: Millis = Millis(0)
    looked_at_ms: Millis = Millis(0)
    after: tuple[Millis, MetaPath] | None = None
    turn: int = 0
    scopes: dict[Region, str] = field(default_factory=dict)

    def conditions(self, now: Millis) -> list[tuple[str, str]]:
        """What a person should look at: code and message, by region."""
        found = []
        for region, (since, wait) in sorted(self.holding.items()):
            if now - since >= self.limits.alarm_after_ms:
                minutes = (now - since) // 60_000
                message = (
                    f"{region} keeps deletes from being forgotten, for {minutes} minutes by now: it {wait.text}. "
                    + (wait.cure or HINTS[wait.cause].format(region=region))
                )
                found.append(("tombstones-kept", message))
        return found

    def report(self) -> dict[str, object]:
        """Where it stands, as JSON."""
        return {
            "phase": self.epoch.phase.value if self.epoch is not None else None,
            "gathered": len(self.gathered),
            "held_up_by": [
                {"region": region, "since_ms": since, "reason": wait.text}
                for region, (since, wait) in sorted(self.holding.items())
            ],
        }

    def over(self) -> None:
        """The epoch has ended, or is given up."""
        self.epoch = None
        self.gathered.clear()


@dataclass(slots=True)
class SequenceGap:
    """Messages of a peer's database that did not come.

    Args:
        sender: The database.
        through: The last number before the gap.
        since_ms: When it was first seen.
        asked_at_ms: When the peer was last asked to tell its deletes again; at first, when the gap was seen.
        asked: How often it was asked.
    """

    sender: str
    through: int
    since_ms: Millis
    asked_at_ms: Millis
    asked: int = 0


@dataclass(slots=True)
class GapFill:
    """Where the telling again of deletes stands: what this region tells, and what is missing here.

    Args:
        wanted: Highest number of ours that somebody has named as the first one missing; 0: nobody asks.
        begun: The last number that was given out before it began; ``None``: it is not going on.
        unsettled: Deletes whose write is due are told first; this far, in path order.
        settled: Then all others; this far, by time and path. ``None``: not begun.
        offer: What was told last, for heartbeats.
        next_at_ms: Not begun before.
        gaps: By region.
    """

    wanted: int = 0
    begun: int | None = None
    unsettled: MetaPath | None = None
    settled: tuple[Millis, MetaPath] | None = None
    offer: tuple[int, int] | None = None
    next_at_ms: Millis = Millis(0)
    gaps: dict[Region, SequenceGap] = field(default_factory=dict)

    def conditions(self, now: Millis, alarm_after_ms: Millis) -> list[tuple[str, str]]:
        """What a person should look at: code and message, by region."""
        found = []
        for region, gap in sorted(self.gaps.items()):
            if now - gap.since_ms >= alarm_after_ms:
                message = (
                    f"messages of {region} after number {gap.through} never came, for {(now - gap.since_ms) // 60_000} "
                    f"minutes by now: no delete is forgotten before {region} has told its own again and the two agree"
                )
                found.append(("changes-missing", message))
        return found
