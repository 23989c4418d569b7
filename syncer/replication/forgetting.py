"""How deletes are forgotten, and where that stands. Nothing here decides what may go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from syncer.conflict.tombstones import Epoch
from syncer.model import MetaPath, Millis, Region, Stamp

GRACE_MS: Final = Millis(7 * 86_400_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """How deletes are forgotten.

    Args:
        grace_ms: Age that a delete must have at least.
        pause_ms: Between two looks for tombstones that are old enough.
        patience_ms: An epoch that waits longer is closed anew, without what held it up.
        alarm_after_ms: A region that holds up an epoch for so long is shown.
        gathered: Tombstones of one epoch, all in memory.
        per_step: Tombstones dropped in one transaction.
    """

    grace_ms: Millis = GRACE_MS
    pause_ms: Millis = Millis(60_000)
    patience_ms: Millis = Millis(600_000)
    alarm_after_ms: Millis = Millis(3_600_000)
    gathered: int = 5_000
    per_step: int = 500

    @classmethod
    def after(cls, grace_ms: Millis) -> Forgetting:
        """How it is done with this grace: the shorter it is, the oftener is looked."""
        return cls(grace_ms=grace_ms, pause_ms=Millis(min(60_000, max(1_000, grace_ms // 100))))


@dataclass(slots=True)
class Tombstones:
    """Where forgetting stands.

    Args:
        limits: How it is done.
        floor: Greatest time of any tombstone that was dropped: a path that is unknown here starts above it.
        epoch: Under way; ``None`` between two.
        gathered: Its tombstones, with the stamp of each.
        holding: Regions that hold up the dropping, since when, and why.
    """

    limits: Forgetting = field(default_factory=Forgetting)
    floor: Millis = Millis(0)
    epoch: Epoch | None = None
    gathered: dict[MetaPath, Stamp] = field(default_factory=dict)
    holding: dict[Region, tuple[Millis, str]] = field(default_factory=dict)
    began_at_ms: Millis = Millis(0)
    looked_at_ms: Millis = Millis(0)
    after: tuple[Millis, MetaPath] | None = None

    def conditions(self, now: Millis) -> list[tuple[str, str]]:
        """What a person should look at: code and message, by region."""
        found = []
        for region, (since, reason) in sorted(self.holding.items()):
            if now - since >= self.limits.alarm_after_ms:
                minutes = (now - since) // 60_000
                message = (
                    f"{region} keeps deletes from being forgotten, for {minutes} minutes by now: it {reason}. If it "
                    f"never comes back: 'syncer regions forget {region}'"
                )
                found.append(("tombstones-kept", message))
        return found

    def report(self) -> dict[str, object]:
        """Where it stands, as JSON."""
        return {
            "phase": self.epoch.phase.value if self.epoch is not None else None,
            "gathered": len(self.gathered),
            "held_up_by": [
                {"region": region, "since_ms": since, "reason": reason}
                for region, (since, reason) in sorted(self.holding.items())
            ],
        }

    def over(self) -> None:
        """The epoch has ended, or is given up."""
        self.epoch = None
        self.gathered.clear()
